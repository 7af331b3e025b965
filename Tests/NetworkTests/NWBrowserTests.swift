// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Dispatch
import Glibc
import LinuxIO
import MulticastDNS
@testable import Network
import TestSupport
import Testing

/// Services in the namespace of the test, told by browsers in another one at the end of a cable.
@Suite(.inNamespace) struct NWBrowserTests {
    private let namespace = Namespace.current
    private let queue = DispatchQueue(label: "test")
    private let peer: Namespace
    private let hub: MulticastHub

    /// What a browser told.
    private struct Call: Sendable {
        let results: Set<NWBrowser.Result>
        let changes: Set<NWBrowser.Result.Change>
    }

    init() throws {
        peer = try Namespace()
        hub = MulticastHub(loop: namespace.loop, paths: PathHub(loop: namespace.loop))
        try cable(1)
        hub.retain()
    }

    /// Lays a cable with addresses on both ends.
    private func cable(_ number: Int) throws {
        try namespace.connect("a\(number)", to: peer, as: "b\(number)")
        try namespace.ip("addr add 10.77.\(number).1/24 dev a\(number)")
        try peer.ip("addr add 10.77.\(number).2/24 dev b\(number)")
    }

    @discardableResult
    private func advertise(
        _ name: String,
        text: [String: String] = [:],
        subtype: String? = nil
    ) throws
        -> AdvertisementID
    {
        var service = ServiceRegistration(name: Array(name.utf8), type: "_demo._tcp", port: 1)
        service.text = NWTXTRecord(text).textEntries
        if let subtype { service.subtypes = [Array(subtype.utf8)] }
        return try hub.engine.advertise(service)
    }

    /// Starts a browser in the other namespace.
    private func start(_ browser: NWBrowser) {
        peer.loop.perform { [queue] in browser.start(queue: queue) }
    }

    private func browse(_ browser: NWBrowser) -> (calls: Record<Call>, states: Record<NWBrowser.State>) {
        let (calls, states) = (Record<Call>(), Record<NWBrowser.State>())
        browser.browseResultsChangedHandler = { calls.append(Call(results: $0, changes: $1)) }
        browser.stateUpdateHandler = { states.append($0) }
        start(browser)
        return (calls, states)
    }

    private func names(_ results: Set<NWBrowser.Result>?) -> Set<String> {
        Set((results ?? []).map { $0.endpoint.debugDescription })
    }

    private func eventually(_ what: String, _ condition: () -> Bool) async {
        await namespace.loop.eventually(what, condition)
    }

    @Test func `it waits while another program has the port for itself`() async throws {
        let bind = "import socket, time; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(('::', 5353))"
        let inside = ["nsenter", "--net=\(peer.path)", "python3", "-c", bind + "; time.sleep(600)"]
        let holder = try RunningCommand(inside)
        // Who tried to bind it could have the port just when the holder wants it.
        await namespace.loop.eventually("the port") {
            (try? peer.run(["ss", "-Hlun", "sport = :5353"]))?.isEmpty == false
        }
        let browser = NWBrowser(for: .bonjour(type: "_demo._tcp", domain: nil), using: .tcp)
        let (calls, states) = browse(browser)
        await namespace.loop.eventually("waiting", found: states.values) {
            states.values.last == .waiting(.posix(.EADDRINUSE))
        }
        holder.signal(SIGKILL)
        try advertise("Lamp")
        // Tried again every ten seconds.
        await eventually("ready") { states.values.last == .ready }
        await eventually("the service") { names(calls.values.last?.results) == ["Lamp._demo._tcp.local."] }
        browser.cancel()
        await eventually("the end") { states.values.last == .cancelled }
        #expect(states.values == [.ready, .waiting(.posix(.EADDRINUSE)), .ready, .cancelled])
    }

    @Test func `finds what is there and what comes, and loses what goes`() async throws {
        let lamp = try advertise("Lamp")
        let browser = NWBrowser(for: .bonjour(type: "_demo._tcp", domain: nil), using: .tcp)
        #expect(browser.state == .setup && browser.browseResults.isEmpty && browser.queue == nil)
        let (calls, states) = browse(browser)
        await eventually("the lamp") { names(calls.values.last?.results) == ["Lamp._demo._tcp.local."] }
        #expect(states.values == [.ready] && browser.state == .ready && browser.queue === queue)
        let found = try #require(calls.values.last?.results.first)
        #expect(found.interfaces.map(\.name) == ["b1"] && found.interfaces.first?.type == .wiredEthernet)
        #expect(found.metadata == .none)
        #expect(calls.values.first?.changes == [.added(found)])
        try advertise("Fan")
        await eventually("the fan") { calls.values.last?.results.count == 2 }
        #expect(browser.browseResults.count == 2)
        hub.engine.withdraw(lamp)
        await eventually("the goodbye") { names(calls.values.last?.results) == ["Fan._demo._tcp.local."] }
        #expect(calls.values.last?.changes == [.removed(found)])
    }

    @Test func `tells what services say about themselves, and what they say anew`() async throws {
        let id = try advertise("Lamp", text: ["path": "/1"])
        let browser = NWBrowser(for: .bonjourWithTXTRecord(type: "_demo._tcp.", domain: "local"), using: NWParameters())
        let (calls, _) = browse(browser)
        await eventually("the text") {
            calls.values.last?.results.first?.metadata == .bonjour(NWTXTRecord(["path": "/1"]))
        }
        #expect(calls.values.count == 1, "it is told when its text is known")
        try hub.engine.update(text: NWTXTRecord(["path": "/2"]).textEntries, of: id)
        await eventually("the new text") {
            calls.values.last?.results.first?.metadata == .bonjour(NWTXTRecord(["path": "/2"]))
        }
        guard case .changed(_, _, let flags)? = calls.values.last?.changes.first else {
            Issue.record("no change was told")
            return
        }
        #expect(flags == .metadataChanged)
    }

    @Test func `merges interfaces into one result`() async throws {
        try cable(2)
        try advertise("Lamp")
        let browser = NWBrowser(for: .bonjour(type: "_demo._tcp", domain: nil), using: .udp)
        let (calls, _) = browse(browser)
        await eventually("both interfaces") {
            calls.values.last?.results.first.map { Set($0.interfaces.map(\.name)) } == ["b1", "b2"]
        }
        #expect(calls.values.allSatisfy { $0.results.count <= 1 })
        try peer.set("b1", isUp: false)
        await eventually("one interface less") {
            calls.values.last?.results.first?.interfaces.map(\.name) == ["b2"]
        }
        guard case .changed(_, _, let flags)? = calls.values.last?.changes.first else {
            Issue.record("no change was told")
            return
        }
        #expect(flags == .interfaceRemoved)
    }

    @Test func `looks on the interfaces that parameters allow`() async throws {
        try cable(2)
        try advertise("Lamp")
        let index = Record<Int>()
        peer.loop.perform { if let interface = NWInterface(named: "b2") { index.append(interface.index) } }
        await eventually("the index") { index.values.count == 1 }
        let second = NWInterface(name: "b2", index: try #require(index.values.first), type: .wiredEthernet)
        let parameters = NWParameters()
        parameters.requiredInterface = second
        let only = NWBrowser(for: .bonjour(type: "_demo._tcp", domain: nil), using: parameters)
        let others = NWParameters()
        others.prohibitedInterfaces = [second]
        let rest = NWBrowser(for: .bonjour(type: "_demo._tcp", domain: nil), using: others)
        let (one, two) = (browse(only).calls, browse(rest).calls)
        await eventually("results") { !one.values.isEmpty && !two.values.isEmpty }
        #expect(one.values.last?.results.first?.interfaces.map(\.name) == ["b2"])
        #expect(two.values.last?.results.first?.interfaces.map(\.name) == ["b1"])
    }

    @Test func `finds services by their subtype`() async throws {
        try advertise("Lamp", subtype: "_light")
        try advertise("Fan")
        let browser = NWBrowser(for: .bonjour(type: "_demo._tcp,_light", domain: nil), using: .tcp)
        let (calls, _) = browse(browser)
        await eventually("the lamp") { names(calls.values.last?.results) == ["Lamp._demo._tcp.local."] }
    }

    @Test func `fails where there is nothing to be asked, once it is started`() async {
        let table: [(NWBrowser.Descriptor, DNSServiceErrorType)] = [
            (.bonjour(type: "nonsense", domain: nil), kDNSServiceErr_BadParam),
            (.bonjour(type: "_demo._tcp", domain: "example.com"), kDNSServiceErr_Unsupported),
            (.applicationService(name: "x"), kDNSServiceErr_Unsupported),
        ]
        for (descriptor, code) in table {
            let browser = NWBrowser(for: descriptor, using: .tcp)
            #expect(browser.state == .setup)
            let (_, states) = browse(browser)
            await eventually("the failure") { states.values == [.failed(.dns(code))] }
            browser.cancel()
            await eventually("the end") { states.values.last == .cancelled }
        }
    }

    @Test func `tells nothing after it was cancelled, and can be dropped`() async throws {
        try advertise("Lamp")
        weak var gone: NWBrowser?
        let calls: Record<Call>
        let states: Record<NWBrowser.State>
        do {
            let browser = NWBrowser(for: .bonjour(type: "_demo._tcp", domain: nil), using: .tcp)
            gone = browser
            (calls, states) = browse(browser)
            await eventually("the lamp") { calls.values.count == 1 }
            queue.sync { browser.cancel() }
            browser.cancel()
            start(browser)
        }
        try advertise("Fan")
        let witness = NWBrowser(for: .bonjour(type: "_demo._tcp", domain: nil), using: .tcp)
        let seen = browse(witness).calls
        await eventually("the fan") { seen.values.last?.results.count == 2 }
        #expect(calls.values.count == 1)
        #expect(states.values == [.ready, .cancelled])
        await eventually("the browser's end") { gone == nil }
    }

    @Test func `ends with its last reference`() async throws {
        weak var gone: NWBrowser?
        let calls: Record<Call>
        do {
            let browser = NWBrowser(for: .bonjour(type: "_demo._tcp", domain: nil), using: .tcp)
            gone = browser
            (calls, _) = browse(browser)
            try advertise("Lamp")
            await eventually("the lamp") { calls.values.count == 1 }
            #expect(browser.debugDescription.contains("_demo._tcp") && browser.debugDescription.contains("ready"))
        }
        await eventually("the browser's end") { gone == nil }
    }

    @Test func `a browser that is cancelled before the start never looks`() {
        let browser = NWBrowser(for: .bonjour(type: "_demo._tcp", domain: nil), using: .tcp)
        browser.cancel()
        #expect(browser.state == .cancelled)
        browser.start(queue: queue)
        #expect(browser.state == .cancelled && browser.queue == nil)
    }
}
