// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import Metrics
import OrderedJSON
import TestSupport
import Testing

@testable import StatusServer

/// Every document with its route and the entity tag the fake daemon gives it.
private let documents: [(target: String, document: StatusDocument, tag: String)] = [
    ("/api/v1/status", .status, "7f3a.1"), ("/api/v1/paths", .paths, "p1"),
    ("/api/v1/paths/default", .path(monitor: "default"), "d1"), ("/api/v1/interfaces", .interfaces, "i1"),
    ("/api/v1/interfaces/eth0", .interface(name: "eth0"), "e1"), ("/api/v1/gateways", .gateways, "g1"),
    ("/api/v1/dns", .dns, "n1"), ("/api/v1/services", .services(type: nil, name: nil, interface: nil), "s1"),
    (
        "/api/v1/services?type=_ipp._tcp&interface=eth0", .services(type: "_ipp._tcp", name: nil, interface: "eth0"),
        "s2"
    ),
    ("/api/v1/services/types", .serviceTypes, "t1"), ("/api/v1/probes", .probes, "b1"),
    ("/api/v1/probes/web", .probe(name: "web"), "b2"), ("/api/v1/diagnosis", .diagnosis, "v1"),
    ("/api/v1/services/_ipp._tcp/B%C3%BCro%2F1", .service(type: "_ipp._tcp", name: "Büro/1"), "s3"),
    ("/api/v1/services/history?name=x*", .serviceHistory(type: nil, name: "x*", interface: nil), "s4"),
    (
        "/api/v1/sd/prometheus?type=_a._tcp", .scrapeTargets(type: "_a._tcp", name: nil, interface: nil, family: nil),
        "s5"
    ),
    ("/api/v1/config", .configuration, "c1"), ("/api/v1/schema/event.json", .eventSchema, "j1"),
]

private func waiting(_ target: String, _ time: String) -> String {
    "\(target)\(target.contains("?") ? "&" : "?")wait=\(time)"
}

@Suite(.inNamespace) struct DocumentRouteTests {
    @Test(arguments: documents.indices)
    func `a document is sent with its tag, and not to who has it`(index: Int) throws {
        let (target, _, tag) = documents[index]
        let fixture = APIFixture()
        let fresh = try fixture.get(target)
        #expect(fresh.status == 200 && fresh.text.hasSuffix("\n"))
        #expect(fresh.field("ETag") == "\"\(tag)\"" && fresh.field("Cache-Control") == "no-cache")
        #expect(fresh.field("Content-Type") == "application/json")
        for condition in ["\"\(tag)\"", "W/\"\(tag)\"", "\"x\", \"\(tag)\"", "*"] {
            for method in ["GET", "HEAD"] {
                let same = try fixture.get(target, method: method, ["If-None-Match": condition])
                #expect(same.status == 304 && same.text.isEmpty && same.field("Content-Type") == nil)
                #expect(same.field("ETag") == "\"\(tag)\"" && same.field("Cache-Control") == "no-cache")
            }
        }
        for condition in ["\"x\"", tag, "\"\(tag)x\"", "", "\"\(tag)"] {
            #expect(try fixture.get(target, ["If-None-Match": condition]).status == 200, "\(condition)")
        }
    }

    @Test(arguments: documents.indices)
    func `a document can be waited for, and only its own change is an answer`(index: Int) throws {
        let (target, document, tag) = documents[index]
        let fixture = APIFixture()
        let waiter = try fixture.ask(waiting(target, "30s"), ["If-None-Match": "\"\(tag)\""])
        #expect(waiter.answers.isEmpty && fixture.api.polls.count == 1 && fixture.metrics.clients(.longpoll) == 1)
        for other in documents where other.document != document {
            fixture.provider.documents[other.document] = Snapshot([1], tag: "other")
        }
        fixture.api.polls.changed()
        #expect(waiter.answers.isEmpty)
        fixture.provider.documents[document] = Snapshot(Array("{}\n".utf8), tag: "new")
        fixture.api.polls.changed()
        fixture.api.polls.changed()
        let answer = try waiter.answer
        #expect(answer.status == 200 && answer.text == "{}\n" && answer.field("ETag") == "\"new\"")
        #expect(fixture.api.polls.count == 0 && fixture.metrics.clients(.longpoll) == 0)
        #expect(waiter.onCancelled == nil)
        fixture.api.polls.close()
        #expect(waiter.answers.count == 1)
    }

    @Test(arguments: [
        ("GET", "30s", nil, 200), ("GET", "30s", "\"x\"", 200), ("GET", "0s", "\"7f3a.1\"", 304),
        ("GET", "0", "\"7f3a.1\"", 304), ("HEAD", "30s", "\"7f3a.1\"", 304), ("GET", "30s", "", 200),
    ])
    func `nobody waits without need`(method: String, time: String, condition: String?, status: Int) throws {
        let fixture = APIFixture()
        let fields = condition.map { ["If-None-Match": $0] } ?? [:]
        #expect(try fixture.get(waiting("/api/v1/status", time), method: method, fields).status == status)
        #expect(fixture.api.polls.count == 0)
    }

    @Test(arguments: [
        ("1ms", true), ("60s", true), ("1m", true), ("60000ms", true), ("61s", false), ("60001ms", false),
        ("2m", false),
        ("-1s", false), ("1.5s", false), ("soon", false), ("", false), ("30", false),
    ])
    func `the longest wait is a minute`(time: String, isRight: Bool) throws {
        let fixture = APIFixture()
        let waiter = try fixture.ask(waiting("/api/v1/dns", time), ["If-None-Match": "\"n1\""])
        #expect(waiter.answers.isEmpty == isRight)
        guard !isRight else { return fixture.api.polls.close() }
        let answer = try waiter.answer
        #expect(answer.status == 400 && answer.text.contains("/problems/bad-parameter"))
        #expect(answer.text.contains("expected a duration such as 30s, at most 1m."))
    }

    @Test func `as many may wait as there is room for, and places are given back`() throws {
        let fixture = APIFixture { $0.longPolls = 2 }
        let fields = ["If-None-Match": "*"]
        let first = try fixture.ask("/api/v1/dns?wait=30s", fields)
        let second = try fixture.ask("/api/v1/paths?wait=30s", fields)
        let refused = try fixture.get("/api/v1/dns?wait=30s", fields)
        #expect(refused.status == 429 && refused.field("Retry-After") == "10")
        #expect(refused.text.contains("/problems/too-many-streams"))
        // Who does not wait needs no place.
        #expect(try fixture.get("/api/v1/dns", fields).status == 304)
        first.onCancelled?()
        #expect(fixture.api.polls.count == 1)
        let third = try fixture.ask("/api/v1/dns?wait=30s", fields)
        fixture.api.polls.close()
        #expect(first.answers.isEmpty)
        for waiter in [second, third] { #expect(try waiter.answer.status == 304) }
    }

    @Test(arguments: [
        ("/api/v1/paths/default", "d1", "/api/v1/paths/{monitor}"),
        ("/api/v1/interfaces/eth0", "e1", "/api/v1/interfaces/{name}"),
    ])
    func `who waits for something that goes is told`(target: String, tag: String, route: String) throws {
        let fixture = APIFixture()
        let waiter = try fixture.ask(target + "?wait=30s", ["If-None-Match": "\"\(tag)\""])
        fixture.provider.documents = [:]
        fixture.api.polls.changed()
        #expect(try waiter.answer.status == 404)
        #expect(waiter.answers[0].route == route)
    }

    @Test(arguments: [
        ("/api/v1/status?wiat=1s", "Unknown parameter 'wiat'; did you mean 'wait'?"),
        ("/api/v1/services?tpye=_ipp._tcp", "Unknown parameter 'tpye'; did you mean 'type'?"),
        ("/api/v1/services?interfaces=eth0", "Unknown parameter 'interfaces'; did you mean 'interface'?"),
        ("/api/v1/paths/default?since=1h", "Unknown parameter 'since'; expected wait."),
        ("/api/v1/paths/default/satisfied?wait=1s", "Unknown parameter 'wait'; this route takes none."),
        ("/-/healthy?x=1", "Unknown parameter 'x'; this route takes none."),
        ("/-/ready?wait=1s", "Unknown parameter 'wait'; this route takes none."),
        ("/metrics?name=x", "Unknown parameter 'name'; this route takes none."),
        ("/api/v1/history?mointor=x", "Unknown parameter 'mointor'; did you mean 'monitor'?"),
        ("/api/v1/history?since=1h&since=2h", "Parameter 'since' is given twice."),
        ("/api/v1/dns?wait=1s&wait=1s", "Parameter 'wait' is given twice."),
        ("/api/v1/dns?", ""),
    ])
    func `each route names the parameters it takes`(target: String, detail: String) throws {
        let answer = try APIFixture().get(target)
        #expect(answer.status == (detail.isEmpty ? 200 : 400))
        guard !detail.isEmpty else { return }
        #expect(answer.field("Content-Type") == "application/problem+json")
        let problem = try JSONValue(parsing: answer.text)
        #expect(problem["detail"]?.string == detail && problem["type"]?.string == "/problems/bad-parameter")
        #expect(problem["status"]?.int == 400 && problem["title"]?.string == "Bad parameter")
    }
}

@Suite(.inNamespace) struct ActionRouteTests {
    @Test(
        arguments: [
            (.unix(process: 1, user: 0, group: 0), true), (.unix(process: 1, user: geteuid(), group: 7), true),
            (.unix(process: 1, user: 65_534, group: 65_534), false),
            (.unix(process: 1, user: 65_534, group: getegid()), true),
            (.unix(process: 0, user: .max, group: .max), false),
            (.tcp, false),
        ] as [(HTTPPeer, Bool)]
    )
    func `only root, the daemon's own user and its group may reload, and only through the unix socket`(
        peer: HTTPPeer,
        isAllowed: Bool
    ) throws {
        let fixture = APIFixture()
        let answer = try fixture.ask("/-/reload", method: "POST", peer: peer).answer
        #expect(answer.status == (isAllowed ? 200 : 403))
        #expect(fixture.provider.reloads == (isAllowed ? 1 : 0))
        #expect(answer.text.contains("/problems/unauthorized") != isAllowed)
        #expect(answer.field("Cache-Control") == (isAllowed ? "no-store" : nil))
        let wrong = try fixture.ask("/-/reload?now=1", method: "POST", peer: peer).answer
        // Who may not reload learns nothing about the parameters.
        #expect(wrong.status == (isAllowed ? 400 : 403))
        #expect(fixture.provider.reloads == (isAllowed ? 1 : 0))
    }

    @Test func `a probe is started by root through the unix socket`() throws {
        let fixture = APIFixture()
        let peer = HTTPPeer.unix(process: 1, user: 0, group: 0)
        let started = try fixture.ask("/api/v1/probes/web", method: "POST", peer: peer).answer
        #expect(
            started.status == 202 && started.field("Location") == "/api/v1/probes/web"
                && started.text.isEmpty
        )
        let busy = try fixture.ask("/api/v1/probes/busy", method: "POST", peer: peer).answer
        #expect(busy.status == 429 && busy.field("Retry-After") == "2")
        #expect(busy.text.contains("/problems/too-soon"))
        let unknown = try fixture.ask("/api/v1/probes/nope", method: "POST", peer: peer).answer
        #expect(unknown.status == 404 && unknown.text.contains("/problems/unknown-probe"))
        #expect(
            try fixture.ask("/api/v1/probes/web?x=1", method: "POST", peer: peer).answer.status == 400
        )
        for other in [HTTPPeer.tcp, .unix(process: 1, user: geteuid() + 1, group: getegid() + 1)] {
            let refused = try fixture.ask("/api/v1/probes/web", method: "POST", peer: other).answer
            #expect(refused.status == 403 && refused.text.contains("Only root"))
        }
    }

    @Test func `an examination is started like a probe`() throws {
        let fixture = APIFixture()
        let peer = HTTPPeer.unix(process: 1, user: 0, group: 0)
        let started = try fixture.ask("/api/v1/diagnosis", method: "POST", peer: peer).answer
        #expect(started.status == 202 && started.field("Location") == "/api/v1/diagnosis" && started.text.isEmpty)
        fixture.provider.diagnosisStart = .tooSoon(.milliseconds(300))
        let busy = try fixture.ask("/api/v1/diagnosis", method: "POST", peer: peer).answer
        #expect(busy.status == 429 && busy.field("Retry-After") == "1")
        #expect(busy.text.contains("/problems/too-soon"))
        #expect(try fixture.ask("/api/v1/diagnosis?wait=1s", method: "POST", peer: peer).answer.status == 400)
        for other in [HTTPPeer.tcp, .unix(process: 1, user: geteuid() + 1, group: getegid() + 1)] {
            let refused = try fixture.ask("/api/v1/diagnosis", method: "POST", peer: other).answer
            #expect(refused.status == 403 && refused.text.contains("Only root"))
        }
        fixture.provider.failure = Breakdown()
        #expect(try fixture.ask("/api/v1/diagnosis", method: "POST", peer: peer).answer.status == 500)
    }

    @Test func `each failure inside has a name of its own, which the journal gets`() throws {
        let fixture = APIFixture()
        fixture.provider.failure = Breakdown()
        let answers = try ["/api/v1/status", "/api/v1/dns", "/api/v1/config"].map { try fixture.get($0) }
        #expect(answers.map(\.status) == [500, 500, 500])
        let names = try answers.map { try JSONValue(parsing: $0.text)["instance"]?.string ?? "" }
        #expect(names == fixture.provider.failures && Set(names).count == 3)
        #expect(names.allSatisfy { $0.hasPrefix("urn:nwpath:") })
        // The text of the error stays inside.
        #expect(answers.allSatisfy { !$0.text.contains("Breakdown") })
        #expect(try fixture.get("/-/healthy").status == 200)
    }

    @Test(arguments: ["/-/healthy", "/-/ready"])
    func `a daemon that cannot work says why`(target: String) throws {
        let fixture = APIFixture()
        fixture.provider.health = .notReady(reason: "health \"x\"")
        fixture.provider.readiness = .notReady(reason: "readiness \"x\"")
        let answer = try fixture.get(target)
        #expect(answer.status == 503 && answer.field("Retry-After") == "1")
        let problem = try JSONValue(parsing: answer.text)
        #expect(problem["type"]?.string == "/problems/not-ready")
        #expect(problem["detail"]?.string == (target == "/-/healthy" ? "health \"x\"" : "readiness \"x\""))
    }

    @Test(arguments: [
        ("since=1970-01-01T00:00:10Z&until=1970-01-01T00:01:10Z", 60, "(headline)"),
        ("since=1970-01-01T00:00:10Z&until=1970-01-01T00:00:10Z", 0, "(headline)"),
        ("since=1h&until=1h", 0, "(headline)"),
        ("since=36525d", 3_155_760_000, "(headline)"), ("since=90s&monitor=wired", 90, "wired"),
        ("since=2026-01-01T01:00:00%2B01:00&until=2026-01-01T00:00:30Z", 30, "(headline)"),
    ])
    func `history can be asked from any moment to any later one`(query: String, seconds: Int, monitor: String) throws {
        let answer = try APIFixture().get("/api/v1/history?\(query)")
        #expect(answer.status == 200 && answer.field("Cache-Control") == "no-store")
        #expect(answer.text == "{\"seconds\":\(seconds),\"monitor\":\"\(monitor)\"}\n")
    }

    @Test(arguments: [
        "since=36526d", "since=", "since=1h&until=2h", "until=2999-01-01T00:00:00Z", "since=2026-02-30T00:00:00Z",
        "until=-1h", "since=now", "since=1h&until=1970-01-01T00:00:00Z",
    ])
    func `history of no possible time is refused with what is possible`(query: String) throws {
        let answer = try APIFixture().get("/api/v1/history?\(query)")
        #expect(answer.status == 400)
        let detail = try JSONValue(parsing: answer.text)["detail"]?.string ?? ""
        #expect(detail.hasPrefix("Parameter '") && detail.contains("; expected a "))
    }

    @Test(
        arguments: [
            ("since=1970-01-01T00:00:10Z&until=1970-01-01T00:01:10Z", .headline), ("monitor=default", .headline),
            ("state=headline", .headline), ("state=path", .path(monitor: nil)),
            ("state=path&monitor=default", .path(monitor: "default")), ("monitor=wired", .path(monitor: "wired")),
        ] as [(String, HistoryRequest.Subject)]
    )
    func `a history is that of the headline unless the path or another monitor is named`(
        query: String,
        subject: HistoryRequest.Subject
    ) throws {
        let fixture = APIFixture()
        #expect(try fixture.get("/api/v1/history?\(query)").status == 200)
        #expect(fixture.provider.histories.map(\.subject) == [subject])
        #expect(fixture.provider.histories.map(\.step) == [nil])
    }

    @Test(
        arguments: [(.good, 200), (.untested, 200), (.worse, 503), (.bad, 503)] as [(BadgeState.Level, Int)]
    )
    func `online is as a status code what the level of the headline is`(level: BadgeState.Level, status: Int) throws {
        let fixture = APIFixture()
        fixture.provider.headline = BadgeState("some word", level)
        let answer = try fixture.get("/api/v1/online")
        #expect(answer.status == status && answer.text == "\(status == 200)\n")
        #expect(answer.field("Cache-Control") == "no-store")
        #expect(answer.field("Retry-After") == (status == 200 ? nil : "5"))
    }

    @Test func `the first step of a history begins at a multiple of its length`() throws {
        let fixture = APIFixture()
        let time = "since=1970-01-01T00:11:40Z&until=1970-01-01T00:31:00Z"
        #expect(try fixture.get("/api/v1/history?\(time)&step=10m&state=headline&monitor=default").status == 200)
        #expect(
            fixture.provider.histories == [
                HistoryRequest(
                    .headline,
                    since: WallTime(nanoseconds: 600_000_000_000),
                    until: WallTime(nanoseconds: 1_860_000_000_000),
                    step: .seconds(600)
                )
            ]
        )
    }

    @Test(arguments: [
        ("state=down", "Parameter 'state' is 'down'; expected path or headline."),
        ("state=", "Parameter 'state' is ''; expected path or headline."),
        (
            "state=headline&monitor=wired",
            "Parameter 'monitor' is 'wired'; expected default, the only one with a headline, beside state=headline."
        ),
        ("step=", "Parameter 'step' is ''; expected a duration of whole seconds such as 10m."),
        ("step=1500ms", "Parameter 'step' is '1500ms'; expected a duration of whole seconds such as 10m."),
        ("since=7d&step=1s", "Parameter 'step' is '1s'; expected at least "),
    ])
    func `a state or a step that cannot be is refused`(query: String, detail: String) throws {
        let fixture = APIFixture()
        let answer = try fixture.get("/api/v1/history?\(query)")
        #expect(answer.status == 400)
        let found = try JSONValue(parsing: answer.text)["detail"]?.string ?? ""
        #expect(found.hasPrefix(detail), "\(found)")
        #expect(fixture.provider.histories.isEmpty)
    }

    @Test(arguments: Set(Route.all.map(\.path)).sorted())
    func `no route answers a method it does not have`(path: String) throws {
        let fixture = APIFixture()
        let methods = Route.all.filter { $0.path == path }.flatMap(\.methods)
        let names = ["{monitor}": "default", "{name}": "eth0", "{type}": "_ipp._tcp"]
        let target = path.split(separator: "/").map { names[String($0)] ?? String($0) }
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get"] {
            let responder = try fixture.ask(
                "/" + target.joined(separator: "/"),
                method: method,
                peer: .unix(process: 1, user: 0, group: 0)
            )
            let answer = try responder.answer
            #expect(responder.answers[0].route == path)
            guard !methods.contains(method) else {
                #expect(answer.status != 405 && (answer.status == 204) == (method == "OPTIONS"))
                continue
            }
            #expect(answer.status == 405 && answer.field("Allow") == methods.joined(separator: ", "))
            #expect(answer.text.contains("\"title\":\"Method not allowed\""))
        }
        #expect(fixture.provider.reloads == (path == "/-/reload" ? 1 : 0))
    }
}

@Suite struct ProblemTitleTests {
    @Test(arguments: [
        (400, "Bad request"), (404, "Not found"), (405, "Method not allowed"), (408, "Request timeout"),
        (413, "Content too large"), (414, "URI too long"), (431, "Request header fields too large"),
        (500, "Internal error"), (503, "Service unavailable"), (505, "HTTP version not supported"), (599, "Error 599"),
    ])
    func `a plain problem is titled by its status`(status: Int, title: String) throws {
        let document = try JSONValue(parsing: Problem(status: status, detail: "\u{1B}\"\\\n").rendered)
        #expect(document["title"]?.string == title && document["status"]?.int == status)
        #expect(document["type"]?.string == "about:blank" && document["detail"]?.string == "\u{1B}\"\\\n")
        #expect(document["instance"] == nil)
        #expect(document.object?.keys == ["type", "title", "status", "detail"])
    }
}

@Suite struct HostPolicyTests {
    @Test(arguments: [
        "localhost", "LocalHost:1", "localhost.:65535", "127.0.0.1", "10.1.2.3:99999", "[::1]", "[2001:db8::1]:80",
        "nas.example", "NAS.Example.", "nas.example:0",
    ])
    func `serves local names, addresses and what the operator named`(host: String) {
        #expect(HostPolicy(names: ["NAS.example"]).allows(host))
    }

    @Test(
        arguments: [
            "", ".", ":", ":80", "local", "localhost.example", "xlocalhost", "nas.example.evil", "evil.nas.example",
            "localhost:123456", "localhost:-1", "localhost:8 0", "[::1]x", "[127.0.0.1]", "[localhost]", "::1", "[]",
            "127.0.0.1.", "1.2.3", "0x7f.1", "localhost,evil", "localhost/", "a@localhost", "[::1", "[fe80::1%eth0]",
        ].filter { $0 != "127.0.0.1." }
    )
    func `serves no other`(host: String) {
        #expect(!HostPolicy(names: ["NAS.example"]).allows(host))
    }
}
