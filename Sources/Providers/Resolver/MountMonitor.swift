// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// Reports mounts and unmounts in the mount namespace of this process, which inotify(7) does not: poll(2) of
/// `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
final class MountMonitor {
    var onChange: () -> Void = {}

    private let loop: EventLoop
    /// The open file; negative where it cannot be opened, so that audits find mounts.
    private let number: Int32
    private var registration: EventLoop.Registration?

    init(loop: EventLoop) {
        self.loop = loop
        number = unsafe open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
    }

    deinit {
        if number >= 0 { close(number) }
    }

    func start() {
        guard registration == nil, number >= 0 else { return }
        registration = try? loop.register(number, for: .exceptional) { [weak self] _ in self?.onChange() }
    }

    func stop() {
        if let registration { loop.unregister(registration) }
        registration = nil
    }
}

/// What a path leads to.
struct FileIdentity: Equatable {
    private let device: dev_t
    private let number: ino_t

    /// - Returns: `nil` where it leads nowhere, or may not be followed.
    init?(of path: String) {
        var found = stat()
        guard unsafe stat(path, &found) == 0 else { return nil }
        (device, number) = (found.st_dev, found.st_ino)
    }
}
