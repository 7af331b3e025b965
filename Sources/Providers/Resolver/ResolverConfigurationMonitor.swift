// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import Glibc
public import LinuxIO
public import PathModel

/// Follows resolv.conf however it is replaced (rule S36).
///
/// Confined to the loop's thread.
public final class ResolverConfigurationMonitor {
    public private(set) var configuration = DNSConfiguration()
    public private(set) var health = ProviderHealth()
    /// The configuration changed; called on the loop's thread.
    public var onChange: () -> Void = {}
    /// Something happened to the file or in a further directory, whether or not the contents changed.
    public var onEvent: () -> Void = {}

    private let path: String
    private let directories: [String]
    private let loop: EventLoop
    private let files: FileMonitor
    private let mounts: MountMonitor
    private let debounce: Duration
    private lazy var debouncer = Debouncer(loop: loop, quiet: debounce) { [weak self] in self?.settle() }
    private var fallback: EventLoop.Timer?
    /// Whether the file cannot be read, and a change of its mode is not announced.
    private var mustPoll = false
    /// Which file was read: one that is mounted over it is another.
    private var identity: FileIdentity?

    /// Prepares to monitor `path`.
    ///
    /// - Parameters:
    ///   - loop: Serves the monitor.
    ///   - path: The file the C library reads.
    ///   - directories: Where any event counts, such as the one systemd-resolved writes into.
    ///   - debounce: How long the file must rest before it is read.
    public init(
        loop: EventLoop,
        path: String = "/etc/resolv.conf",
        directories: [String] = [],
        debounce: Duration = .milliseconds(100)
    ) {
        self.loop = loop
        self.path = path
        self.directories = directories
        self.debounce = debounce
        files = FileMonitor(loop: loop)
        mounts = MountMonitor(loop: loop)
        files.onEvent = { [weak self] in self?.noteEvent() }
        mounts.onChange = { [weak self] in
            guard let self, FileIdentity(of: path) != identity else { return }
            noteEvent()
        }
    }

    public func start() {
        files.start()
        mounts.start()
        _ = load()
    }

    public func stop() {
        debouncer.cancel()
        if let fallback { loop.cancel(fallback) }
        fallback = nil
        mounts.stop()
        files.stop()
    }

    public func refresh() {
        if load() { onChange() }
    }

    private func noteEvent() {
        // The path to the file may have changed: what comes next must not be missed.
        followAll(SymbolicPath(following: path))
        debouncer.trigger()
    }

    private func settle() {
        refresh()
        onEvent()
    }

    private func followAll(_ link: SymbolicPath) {
        files.follow(files: [link.target], directories: directories, names: link.components)
    }

    /// Reads the file.
    /// - Returns: Whether anything changed.
    private func load() -> Bool {
        let link = SymbolicPath(following: path)
        // First monitor, then read: a change in between causes one more reading.
        followAll(link)
        let before = (configuration, health)
        identity = FileIdentity(of: path)
        mustPoll = false
        do throws(Errno) {
            let bytes = try Self.read(path)
            configuration = ResolvConf(parsing: bytes.span).configuration(source: path)
            health.succeed()
        } catch .noEntry {
            configuration = DNSConfiguration(without: path, .noEntry)
            health.state = .absent
        } catch {
            // What keeps this service from reading the file for a lack of resources does not keep other programs from it.
            if error.isOfFile { configuration = DNSConfiguration(without: path, error) }
            mustPoll = unsafe nwp_is_mount_point(path)
            health.fail(.system(call: "open \(path)", code: error), at: loop.clock.boot)
        }
        if let error = files.lastError { health.lastError = error }
        scheduleFallback()
        return before != (configuration, health)
    }

    /// Reads the file again every ten seconds without inotify, and every two while it cannot be read and is mounted over its
    /// name: inotify refuses the file, and its directory reports what happens to the file below.
    private func scheduleFallback() {
        if let fallback { loop.cancel(fallback) }
        fallback = nil
        guard mustPoll || files.lastError != nil else { return }
        fallback = loop.schedule(after: .seconds(mustPoll ? 2 : 10)) { [weak self] in self?.refresh() }
    }

    /// Reads a file.
    static func read(_ path: String) throws(Errno) -> [UInt8] {
        // A pipe of this name must not block the loop.
        try FileDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK).readAll(upTo: ResolvConf.sizeLimit)
    }
}
