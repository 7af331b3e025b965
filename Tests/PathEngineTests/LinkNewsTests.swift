// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// Changes of links and addresses for those who speak on them, whether or not a path leads over them.
@Suite(.inNamespace) struct LinkNewsTests {
    private let namespace = Namespace.current
    private let peer: Namespace
    private let subject: Subject

    init() throws {
        peer = try Namespace()
        try namespace.cable("v0", 1, to: peer)
        try namespace.ip("address add 192.0.2.1/24 dev v0")
        subject = try Subject(.usual)
    }

    private var views: [MulticastLinkView] { subject.engine.core.classifier.multicastLinks() }

    @Test func `a link that no path uses is reported when it goes and when it comes, before a path is judged`()
        async throws
    {
        let subject = try Subject(EngineSettings(quiet: .seconds(60), cap: .seconds(60), auditInterval: .zero))
        var isThere: [Bool] = []
        subject.onLinks = { [unowned subject] in
            isThere.append(subject.engine.core.classifier.multicastLinks().contains { $0.link.name == "v0" })
        }
        try peer.set("v1", isUp: false)
        await subject.loop.eventually("the loss") { isThere.last == false }
        try peer.set("v1", isUp: true)
        await subject.loop.eventually("the return") { isThere.last == true }
        #expect(subject.updates.count == 1)
    }

    @Test func `so are its addresses`() async throws {
        var texts: [[String]] = []
        subject.onLinks = { texts.append(views.first?.addresses.map(\.text) ?? []) }
        try namespace.ip("address add 192.0.2.7/24 dev v0")
        await subject.loop.eventually("the address") { texts.last?.contains("192.0.2.7/24") == true }
        try namespace.ip("address del 192.0.2.7/24 dev v0")
        await subject.loop.eventually("its end") { texts.last?.contains("192.0.2.7/24") == false }
    }

    @Test func `a carrier that was lost and found before anybody looked leaves a trace`() async throws {
        let before = try #require(views.first).link
        var news: [MulticastLinkView] = []
        subject.onLinks = { news += views }
        // The loop waits meanwhile.
        try peer.ipBatch(["link set v1 down", "link set v1 up"])
        try namespace.waitUntilRunning("v0")
        await subject.loop.eventually("another count") {
            news.contains { $0.link.carrierChanges >= before.carrierChanges + 2 }
        }
        #expect(news.last?.link.isUsable == true)
    }

    @Test func `what an audit finds is told too`() async throws {
        let deaf = try Subject(
            EngineSettings(auditInterval: .milliseconds(100)),
            without: [.link, .ipv4Address, .ipv6Address]
        )
        var texts: [[String]] = []
        let engine = deaf.engine
        deaf.onLinks = { [unowned engine] in
            texts.append(engine.core.classifier.multicastLinks().first?.addresses.map(\.text) ?? [])
        }
        try namespace.ip("address add 192.0.2.7/24 dev v0")
        await deaf.loop.eventually("the address") { texts.last?.contains("192.0.2.7/24") == true }
    }
}
