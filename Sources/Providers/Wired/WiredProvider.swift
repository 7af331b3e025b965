// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import LinuxIO
internal import Netlink
public import PathModel

/// Learns speed and duplex of wired interfaces from the kernel's ethtool family (rule S39); needs no privilege.
///
/// Confined to the loop's thread. It queries at ``refresh()`` and when a speed was set, never by itself.
/// The kernel answers within sendmsg(2), so nothing is waited for. A kernel without the family shows as absent.
public final class WiredProvider {
    /// What is known, by interface index; interfaces without an answer are missing.
    public private(set) var interfaces: [Int: WiredFacts] = [:]
    public private(set) var health = ProviderHealth()
    /// Something changed; called on the loop's thread.
    public var onChange: () -> Void = {}

    private let loop: EventLoop
    private let links: () -> WiredLinks
    private let familyName: String
    private var family: UInt16?
    private var events: GenericEndpoint?
    private lazy var debouncer = Debouncer(loop: loop, quiet: .milliseconds(50)) { [weak self] in self?.refresh() }

    /// Prepares to query the interfaces that `links` names, each time anew.
    public convenience init(loop: EventLoop, links: @escaping () -> WiredLinks) {
        self.init(loop: loop, links: links, familyName: "ethtool")
    }

    init(loop: EventLoop, links: @escaping () -> WiredLinks, familyName: String) {
        self.loop = loop
        self.links = links
        self.familyName = familyName
    }

    /// Resolves the family, queries, and follows what is set by hand.
    public func start() {
        guard family == nil else { return }
        do throws(ProviderError) {
            // The family is part of the kernel or not: it does not come later.
            family = try GenericSocket().family(familyName)
            guard family != nil else { return }
            health.succeed()
            events = try GenericEndpoint(
                loop: loop,
                onLoss: { [weak self] _ in self?.debouncer.trigger() },
                onMessage: { [weak self] message in self?.handle(message) }
            )
            // Without the group a speed that is set by hand is learnt with the next question.
            _ = events?.socket.join("monitor", of: familyName)
            refresh()
        } catch {
            fail(error)
        }
    }

    /// Ends following; the facts stay.
    public func stop() {
        debouncer.cancel()
        events?.close()
        events = nil
        family = nil
    }

    /// Queries every usable interface; one that is not usable now keeps its last facts, until it is removed.
    public func refresh() {
        guard let family else { return }
        debouncer.cancel()
        let links = links()
        var facts = interfaces.filter { links.idle.contains($0.key) }
        do throws(ProviderError) {
            // A socket of this round's own has no answers of an earlier one.
            if !links.usable.isEmpty {
                var socket = try GenericSocket()
                for index in links.usable {
                    guard let number = UInt32(exactly: index) else { continue }
                    facts[index] = try query(number, family, over: &socket)
                }
            }
            health.succeed()
        } catch {
            return fail(error)
        }
        guard facts != interfaces else { return }
        interfaces = facts
        onChange()
    }

    /// Queries one interface.
    /// - Returns: `nil` when it does not answer.
    private func query(
        _ index: UInt32,
        _ family: UInt16,
        over socket: inout GenericSocket
    ) throws(ProviderError) -> WiredFacts? {
        let message = try socket.reply(to: WiredMessage.question(about: index, family: family))
        if let code = message.code { note(refusal: Errno(code)) }
        return WiredMessage.facts(message, about: index)
    }

    /// Many drivers do not support it (`EOPNOTSUPP`), and an interface may be gone by now; anything else is noted.
    private func note(refusal: Errno) {
        guard ![Errno(EOPNOTSUPP), Errno(ENODEV)].contains(refusal) else { return }
        health.lastError = .system(call: familyName, code: refusal)
    }

    private func fail(_ error: ProviderError) {
        health.fail(error, at: loop.clock.boot)
        onChange()
    }

    private func handle(_ message: GenericMessage) {
        if message.type == family && message.command == WiredMessage.notice { debouncer.trigger() }
    }
}
