// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The machine's own name.
public enum HostName {
    /// The node name of uname(2), as it was set; `localhost` where none is.
    public static var current: String {
        var name = utsname()
        guard unsafe uname(&name) == 0 else { return "localhost" }
        let text = unsafe withUnsafeBytes(of: name.nodename) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return text.isEmpty ? "localhost" : text
    }
}

/// Is notified at once when the machine gets another name, as by cloud-init or DHCP long after the start.
///
/// Source: `/proc/sys/kernel/hostname`, which poll(2) reports as exceptional after each sethostname(2), of any UTS
/// namespace. Where it cannot be monitored, ``poll()`` has to be called at times.
public final class HostNameMonitor {
    /// The name that was seen last.
    public private(set) var name: String

    private let loop: EventLoop
    private var onChange: (String) -> Void = { _ in }
    private var file: FileDescriptor?
    private var registration: EventLoop.Registration?

    /// Makes a monitor that is idle until ``start(onChange:)``.
    public init(loop: EventLoop) {
        self.loop = loop
        name = HostName.current
    }

    deinit {
        stop()
    }

    /// Begins to listen, where that is possible.
    /// - Parameter onChange: Called on the loop's thread with the new name.
    public func start(onChange: @escaping (String) -> Void) {
        self.onChange = onChange
        guard registration == nil, let file = try? FileDescriptor(opening: "/proc/sys/kernel/hostname", flags: O_RDONLY)
        else {
            return
        }
        // Each change is reported once; nothing needs to be read.
        registration = try? loop.register(file.rawValue, for: .exceptional) { [weak self] _ in self?.poll() }
        self.file = consume file
        // The file counts changes since it was opened.
        poll()
    }

    public func stop() {
        if let registration { loop.unregister(registration) }
        registration = nil
        file = nil
        onChange = { _ in }
    }

    /// Reads the name, and reports another one.
    public func poll() {
        let current = HostName.current
        guard current != name else { return }
        name = current
        onChange(current)
    }
}
