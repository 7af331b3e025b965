// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import Netlink
public import PathModel

/// Learns what rtnetlink does not say of virtual links: which ones are L2TP sessions, and by which ports a team sends.
///
/// Confined to the loop's thread. sysfs and generic netlink answer within the call. A team's options need `CAP_NET_ADMIN`.
public final class VirtualLinkProvider {
    /// The indexes of tunnels that have no kind.
    public private(set) var tunnels: Set<Int> = []
    /// How teams send, by interface index; those that may not be read are missing.
    public private(set) var teams: [Int: TeamFacts] = [:]
    /// Something changed; called on the loop's thread.
    public var onChange: () -> Void = {}

    private let loop: EventLoop?
    private let links: () -> [Int: Link]
    private let directory: String
    /// What sysfs said of links without a kind: it does not change.
    private var known: [Int: (name: String, isTunnel: Bool)] = [:]
    /// Active ports of teams that have no carrier, and since when.
    private var suspects: [Int: (port: Int, since: Duration)] = [:]
    private var timer: EventLoop.Timer?
    private var soon: EventLoop.Timer?

    /// How long a daemon of a team needs at most to change to another port.
    static let reaction = Duration.seconds(1)

    /// Prepares to read about the links that `links` returns, whose devices sysfs has in `directory`.
    ///
    /// Without a loop everything is read once, and a port of a team that has no carrier counts at once.
    public init(
        loop: EventLoop? = nil,
        directory: String = "/sys/class/net",
        links: @escaping () -> [Int: Link]
    ) {
        self.loop = loop
        self.directory = directory
        self.links = links
    }

    /// Reads about all links; calls ``onChange`` if something changed.
    public func refresh() {
        let links = links()
        let before = (tunnels, teams)
        known = known.filter { links[$0.key]?.name == $0.value.name }
        for link in links.values where link.kind == nil && link.parentDevice == nil && link.hardwareType == 1 {
            guard known[link.index] == nil else { continue }
            known[link.index] = (link.name, Self.isTunnel(link, in: directory))
        }
        tunnels = Set(known.filter(\.value.isTunnel).keys)
        teams = [:]
        for link in links.values where link.kind == "team" {
            guard let device = try? TeamDevice.read(index: link.index) else { continue }
            teams[link.index] = facts(of: device, index: link.index, among: links)
        }
        suspects = suspects.filter { teams[$0.key] != nil }
        if before != (tunnels, teams) { onChange() }
    }

    /// Links changed: teams are read again shortly if one of them lost the port that it sends by.
    public func noteLinks() {
        guard !teams.isEmpty, soon == nil, let loop else { return }
        let links = links()
        let isLost = teams.contains { index, team in
            guard let port = team.activePort, suspects[index]?.port != port else { return false }
            return links[port]?.isUsable == false
        }
        guard isLost else { return }
        soon = loop.schedule(after: .milliseconds(50)) { [weak self] in
            self?.soon = nil
            self?.refresh()
        }
    }

    /// Ends reading again.
    public func stop() {
        if let soon { loop?.cancel(soon) }
        soon = nil
        if let timer { loop?.cancel(timer) }
        timer = nil
    }

    private func facts(of device: TeamDevice, index: Int, among links: [Int: Link]) -> TeamFacts {
        var facts = TeamFacts(hasMode: device.mode != nil, activePort: device.activePort)
        guard let port = device.activePort, links[port]?.isUsable == false else {
            suspects[index] = nil
            return facts
        }
        guard let loop else {
            facts.isStuck = true
            return facts
        }
        let now = loop.clock.boot
        if suspects[index]?.port != port { suspects[index] = (port, now) }
        facts.isStuck = now - (suspects[index]?.since ?? now) >= Self.reaction
        if !facts.isStuck, timer == nil {
            timer = loop.schedule(after: Self.reaction) { [weak self] in
                self?.timer = nil
                self?.refresh()
            }
        }
        return facts
    }

    /// Whether sysfs calls the device an L2TP session; one of another network namespace has another index.
    public static func isTunnel(_ link: Link, in directory: String = "/sys/class/net") -> Bool {
        let lines = ProcFile.text("\(directory)/\(link.name)/uevent")?.split(separator: "\n") ?? []
        return lines.contains("DEVTYPE=l2tpeth") && lines.contains("IFINDEX=\(link.index)")
    }
}
