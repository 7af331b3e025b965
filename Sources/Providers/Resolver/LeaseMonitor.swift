// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import LinuxIO

/// Follows the lease files of systemd-networkd and dhclient (rule S37).
///
/// Confined to the loop's thread.
public final class LeaseMonitor {
    /// The interfaces whose current lease says `ANDROID_METERED`, by index.
    public private(set) var metered: Set<Int> = []
    /// The health of monitoring; absent while there is no lease file.
    public private(set) var health = ProviderHealth()
    /// Something changed; called on the loop's thread.
    public var onChange: () -> Void = {}

    private let networkd: String
    private let dhclient: String
    private let names: InterfaceNames
    private let files: FileMonitor
    private let loop: EventLoop
    private lazy var debouncer = Debouncer(loop: loop, quiet: .milliseconds(100)) { [weak self] in self?.refresh() }

    /// Prepares to monitor the two directories, which need not exist.
    public init(
        loop: EventLoop,
        networkd: String = "/run/systemd/netif/leases",
        dhclient: String = "/var/lib/dhcp",
        names: InterfaceNames = .kernel
    ) {
        self.loop = loop
        self.networkd = networkd
        self.dhclient = dhclient
        self.names = names
        files = FileMonitor(loop: loop)
        files.onEvent = { [weak self] in self?.debouncer.trigger() }
    }

    public func start() {
        files.start()
        _ = load()
    }

    public func stop() {
        debouncer.cancel()
        files.stop()
    }

    public func refresh() {
        if load() { onChange() }
    }

    private func load() -> Bool {
        let before = (metered, health)
        files.follow(files: [], directories: [networkd, dhclient])
        metered = []
        var count = 0
        for name in Self.entries(of: networkd) {
            guard let index = Int(name), let text = Self.read("\(networkd)/\(name)") else { continue }
            count += 1
            if LeaseFile.isNetworkdLeaseMetered(text) { metered.insert(index) }
        }
        for name in Self.entries(of: dhclient) where name.hasPrefix("dhclient") && name.hasSuffix("leases") {
            guard let text = Self.read("\(dhclient)/\(name)") else { continue }
            count += 1
            metered.formUnion(LeaseFile.meteredInterfaces(inDhclientLeases: text).compactMap(names.index))
        }
        health = ProviderHealth(state: count > 0 ? .active : .absent, lastError: files.lastError)
        return before != (metered, health)
    }

    private static func read(_ path: String) -> String? {
        guard let file = try? FileDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK),
            let bytes = try? file.readAll(upTo: LeaseFile.sizeLimit)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The names in a directory, at most 1024 of them; none when it is not there.
    static func entries(of directory: String) -> [String] {
        (try? FilePath.names(in: directory, limit: 1024).sorted()) ?? []
    }
}
