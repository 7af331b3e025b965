// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import EventHub
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import Documents
@testable import Probes

/// Probes at work, made without sending anything.
enum ProbeSample {
    static let timeout = ProbeResult(
        .failure(.timeout, detail: "no answer in time"),
        duration: .seconds(1),
        address: ScopedAddress(.v4(0xC000_0201)),
        sent: 64
    )
    static let portal = ProbeResult(
        .failure(.captivePortal, detail: "answered with status 302"),
        page: PageAnswer(status: 302, location: "http://login.example.test/")
    )
    static let answer = ProbeResult(.success, duration: .milliseconds(4), sent: 64, received: 64)

    /// A probe after some results, a minute each.
    static func state(
        _ name: String,
        _ method: ProbeMethod,
        _ target: String,
        interface: String? = nil,
        after results: [ProbeResult]
    ) -> ProbeState {
        let definition = ProbeDefinition(
            name: name,
            method: method,
            target: ProbeTarget(target, method: method) ?? .gateway,
            route: ProbeRoute(interface: interface),
            interval: .seconds(60),
            timeout: .seconds(1)
        )
        let schedule = ProbeSchedule(
            interval: .seconds(60),
            threshold: 3,
            at: .seconds(1000),
            chance: 0
        )
        var state = ProbeState(definition: definition, schedule: schedule)
        for (index, result) in results.enumerated() {
            let now = Duration.seconds(1000 + 60 * index)
            state.schedule.start(at: now)
            _ = state.schedule.finish(result, at: now, chance: 0)
            state.record(result, started: now, at: now)
        }
        return state
    }

    static let gateway = state(
        "gateway",
        .icmp,
        "gateway",
        interface: "eth0",
        after: [timeout, timeout, timeout]
    )
    static let captive = state(
        "captive",
        .http,
        "http://probe.example.test/generate_204",
        after: [portal]
    )
}

extension Example {
    static let probes = [
        Example(
            body: ProbeFailed(ProbeSample.gateway, ProbeSample.timeout),
            summary: "warning probe.failed Probe gateway failed 3 times: timeout",
            data: #""probe":{"name":"gateway","method":"icmp","target":"192.0.2.1","interface":{"name":"eth0"},"#
                + #""http_status":null,"location":null,"#
                + #""consecutive_failures":3,"reason":"timeout","message":"no answer in time","#
                + #""timeout_seconds":1}}"#
        ),
        Example(
            body: ProbeFailed(ProbeSample.captive, ProbeSample.portal),
            summary: "warning probe.failed Probe captive failed: captive_portal",
            data:
                #""probe":{"name":"captive","method":"http","target":"http://probe.example.test/generate_204","#
                + #""interface":null,"http_status":302,"location":"http://login.example.test/","#
                + #""consecutive_failures":1,"reason":"captive_portal","message":"answered with status 302","#
                + #""timeout_seconds":1}}"#
        ),
        Example(
            body: ProbeRecovered(ProbeSample.gateway, ProbeSample.answer, after: .seconds(181)),
            summary: "info probe.recovered Probe gateway succeeds again",
            data: #""probe":{"name":"gateway","method":"icmp","target":"gateway","interface":{"name":"eth0"},"#
                + #""http_status":null,"location":null,"#
                + #""duration_seconds":0.004,"failed_seconds":181}}"#
        ),
        Example(
            body: CaptivePortal(ProbeSample.captive, ProbeSample.portal, isDetected: true),
            summary: "warning captive_portal.detected HTTP probe captive was redirected",
            data:
                #""probe":{"name":"captive","url":"http://probe.example.test/generate_204","interface":null,"#
                + #""http_status":302,"location":"http://login.example.test/"}}"#
        ),
        Example(
            body: CaptivePortal(
                ProbeSample.captive,
                ProbeResult(.success, page: .init(status: 204)),
                isDetected: false
            ),
            summary: "info captive_portal.cleared HTTP probe captive is no longer intercepted by a captive portal",
            data:
                #""probe":{"name":"captive","url":"http://probe.example.test/generate_204","interface":null,"#
                + #""http_status":204,"location":null}}"#
        ),
    ]
}

@Suite struct ProbeDocumentTests {
    private static func json(_ state: ProbeState) throws -> JSONValue {
        let document = ProbeDocument(state, clock: ManualClock())
        return try shown(document, ProbeDocument.form)
    }

    @Test func `a probe that has not run knows only its settings`() throws {
        let state = ProbeSample.state("web", .tcp, "example.test:443", after: [])
        let text = try OrderedJSONEncoder().string(ProbeDocument(state, clock: ManualClock()))
        #expect(
            text
                == #"{"name":"web","method":"tcp","target":"example.test:443","interface":null,"family":null,"#
                + #""interval_seconds":60,"timeout_seconds":1,"threshold":3,"state":"pending","failing":false,"#
                + #""captive_portal":false,"running":false,"attempts":0,"failures":0,"consecutive_failures":0,"#
                + #""failing_since":null,"last":null,"loss_percent":null,"min_seconds":null,"avg_seconds":null,"p95_seconds":null,"#
                + #""max_seconds":null,"recent_seconds":[]}"#
        )
    }

    @Test func `failures and figures are shown`() throws {
        let results = [ProbeSample.answer, ProbeSample.timeout, ProbeSample.answer]
        let json = try Self.json(
            ProbeSample.state("g", .icmp, "192.0.2.1", interface: "eth0", after: results)
        )
        #expect(json["state"]?.string == "ok" && json["failing"]?.bool == false)
        #expect(json["attempts"]?.int == 3 && json["failures"]?.int == 1)
        #expect(json["loss_percent"]?.double == 33.33)
        #expect(json["p95_seconds"]?.double == 0.004 && json["max_seconds"]?.double == 0.004)
        #expect(json["recent_seconds"]?.array == [.double(0.004), .null, .double(0.004)])
        #expect(json["interface"]?["name"]?.string == "eth0")
        #expect(json["last"]?["success"]?.bool == true && json["last"]?["sent_bytes"]?.int == 64)
    }

    @Test func `the last result says why`() throws {
        let failing = try Self.json(ProbeSample.gateway)
        #expect(failing["state"]?.string == "failed" && failing["failing"]?.bool == true)
        #expect(failing["consecutive_failures"]?.int == 3)
        #expect(
            failing["last"]?["reason"]?.string == "timeout"
                && failing["last"]?["address"]?.string == "192.0.2.1"
        )
        let captive = try Self.json(ProbeSample.captive)
        #expect(captive["captive_portal"]?.bool == true)
        #expect(captive["last"]?["http_status"]?.int == 302)
        #expect(captive["last"]?["location"]?.string == "http://login.example.test/")
        let unknown = ProbeResult(.notAssessed(advice: "do this"))
        let json = try Self.json(ProbeSample.state("g", .icmp, "192.0.2.1", after: [unknown]))
        #expect(json["state"]?.string == "not_assessed" && json["attempts"]?.int == 0)
        #expect(json["last"]?["success"] == .null && json["last"]?["reason"]?.string == "not_assessed")
        #expect(json["last"]?["message"]?.string == "do this")
    }

    @Test func `a run that goes on is told`() throws {
        var state = ProbeSample.state("g", .icmp, "192.0.2.1", after: [ProbeSample.answer])
        #expect(try Self.json(state)["running"]?.bool == false)
        state.schedule.start(at: .seconds(2000))
        #expect(try Self.json(state)["running"]?.bool == true)
    }

    @Test func `a result tells everything that is known of it`() throws {
        var result = ProbeSample.answer
        result.resolution = .microseconds(1500)
        result.hopLimit = 57
        result.received = 90
        result.addresses = [.v4(0xC000_0250), .v6(1)]
        result.address = ScopedAddress(.v6(0xFE80 << 112 | 1), scope: "eth0")
        let document = ProbeResultDocument(result, time: WallTime(nanoseconds: 0))
        _ = try shown(document, ProbeResultDocument.form)
        let text = try OrderedJSONEncoder().string(document)
        #expect(
            text
                == #"{"time":"1970-01-01T00:00:00.000000000Z","success":true,"reason":null,"message":null,"#
                + #""duration_seconds":0.004,"resolve_seconds":0.0015,"address":"fe80::1%eth0","sent_bytes":64,"#
                + #""received_bytes":90,"hop_limit":57,"http_status":null,"location":null,"#
                + #""addresses":["192.0.2.80","::1"]}"#
        )
    }

    @Test func `a portal that does not redirect is told as such, and one failure has no number`() {
        let forged = ProbeResult(.failure(.captivePortal, detail: "x"), page: PageAnswer(status: 200))
        let state = ProbeSample.state("c", .http, "http://a.test/", interface: "wlan0", after: [forged])
        let detected = CaptivePortal(state, forged, isDetected: true)
        #expect(detected.message == "HTTP probe c was answered by a captive portal")
        #expect(detected.severity == .warning && detected.name == .captivePortalDetected)
        let failed = ProbeFailed(state, forged)
        #expect(failed.message == "Probe c failed: captive_portal")
        #expect(ProbeRecovered(state, ProbeSample.answer, after: .zero).message == "Probe c succeeds again")
    }

    @Test(arguments: ProbeReason.allCases)
    func `every reason is shown by its word`(reason: ProbeReason) throws {
        let result = ProbeResult(.failure(reason, detail: "why"))
        let json = try Self.json(ProbeSample.state("p", .tcp, "a.test:1", after: [result]))
        #expect(json["last"]?["reason"]?.string == reason.rawValue && json["last"]?["message"]?.string == "why")
        #expect(json["state"]?.string == "failed" && json["failing"]?.bool == false)
    }
}
