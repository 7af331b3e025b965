// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import Glibc
internal import LinuxIO

/// Reports when files may have changed, through inotify(7) on their directories and on themselves (rule S36).
///
/// On a file alone inotify misses a re-pointed link and ends with a rename; on the directory alone it misses a write into a
/// bind-mounted file.
final class FileMonitor {
    /// What happens to a name in a directory: moved, made, deleted, its mode set; or to the directory itself.
    private static let mask = UInt32(
        IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_ATTRIB | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
    )
    /// The same for a file itself.
    private static let fileMask = UInt32(IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)

    var onEvent: () -> Void = {}
    /// Why not everything is monitored; `nil` when everything is.
    private(set) var lastError: ProviderError?

    private let loop: EventLoop
    /// The inotify descriptor; negative when there is none.
    private let number: Int32
    private var registration: EventLoop.Registration?
    /// What each descriptor of inotify is about: the names that count in a directory; `nil` means all of them.
    private var names: [Int32: Set<String>?] = [:]

    init(loop: EventLoop) {
        self.loop = loop
        number = nwp_inotify()
        if number < 0 { lastError = .system(call: "inotify_init1", code: Errno(number)) }
    }

    deinit {
        if number >= 0 { close(number) }
    }

    func start() {
        guard registration == nil, number >= 0 else { return }
        do throws(Errno) {
            registration = try loop.register(number, for: .readable) { [weak self] _ in self?.read() }
        } catch {
            lastError = .system(call: "epoll_ctl", code: error)
        }
    }

    func stop() {
        if let registration { loop.unregister(registration) }
        registration = nil
        guard number >= 0 else { return }
        for id in names.keys { inotify_rm_watch(number, id) }
        names = [:]
    }

    /// Monitors these files, which need not exist, these directories as a whole, and names of links and directories
    /// that paths of files lead through.
    func follow(files: [String], directories: [String], names components: [String] = []) {
        guard number >= 0 else { return }
        lastError = nil
        var wanted: [Int32: Set<String>?] = [:]
        for path in components { add(path, .name, to: &wanted) }
        for path in directories { add(path, .directory, to: &wanted) }
        for path in files {
            // The file itself, for writes through a bind mount; it may be missing.
            let id = unsafe inotify_add_watch(number, path, Self.fileMask)
            if id >= 0 { wanted[id] = .some(nil) }
            add(path, .file, to: &wanted)
        }
        for id in names.keys where wanted[id] == nil { inotify_rm_watch(number, id) }
        names = wanted
    }

    private enum Kind {
        case file, directory, name
    }

    /// Monitors the directory of `path` for its name; one that is missing, or must not be read, is awaited in its
    /// nearest ancestor.
    private func add(_ path: String, _ kind: Kind, to wanted: inout [Int32: Set<String>?]) {
        var directory = kind == .directory ? path : FilePath.directory(of: path)
        var name: String? = kind == .directory ? nil : FilePath.name(of: path)
        let mask = Self.mask | (kind == .name ? 0 : UInt32(IN_CLOSE_WRITE)) | UInt32(IN_ONLYDIR | IN_MASK_ADD)
        while true {
            let id = unsafe inotify_add_watch(number, directory, mask)
            if id >= 0 {
                if let name, let known = wanted[id, default: []] {
                    wanted[id] = known.union([name])
                } else {
                    wanted[id] = .some(nil)
                }
                return
            }
            let code = errno
            let isMissing = code == ENOENT || code == ENOTDIR
            if !isMissing, kind != .name { lastError = .system(call: "inotify_add_watch", code: Errno(code)) }
            guard isMissing || code == EACCES, directory != "/", directory != "." else { return }
            name = FilePath.name(of: directory)
            directory = FilePath.directory(of: directory)
        }
    }

    private func read() {
        var isRelevant = false
        var bytes = [UInt8](repeating: 0, count: 8192)
        // What comes faster than it is read must not keep the loop here.
        for _ in 0..<64 {
            let count = unsafe Glibc.read(number, &bytes, bytes.count)
            guard count > 0 else { break }
            if InotifyEvent.parse(bytes[..<count]).contains(where: concerns) { isRelevant = true }
        }
        if isRelevant { onEvent() }
    }

    private func concerns(_ event: InotifyEvent) -> Bool {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
        guard let about = names[event.descriptor] else { return false }
        // An event without a name is about the monitored file itself.
        guard let about, !event.name.isEmpty else { return event.mask & UInt32(IN_IGNORED) == 0 }
        return about.contains(event.name)
    }
}

/// One record of inotify(7).
struct InotifyEvent: Equatable {
    var descriptor: Int32
    var mask: UInt32
    var name: String

    /// Reads the records of one read(2); a record that is cut short ends it.
    static func parse(_ bytes: ArraySlice<UInt8>) -> [InotifyEvent] {
        func word(_ offset: Int) -> UInt32 {
            (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << (8 * UInt32($1)) }
        }
        var events: [InotifyEvent] = []
        var offset = bytes.startIndex
        while bytes.endIndex - offset >= 16 {
            let length = Int(word(offset + 12))
            guard bytes.endIndex - offset - 16 >= length else { break }
            let name = bytes[(offset + 16)..<(offset + 16 + length)].prefix { $0 != 0 }
            events.append(
                InotifyEvent(
                    descriptor: Int32(bitPattern: word(offset)),
                    mask: word(offset + 4),
                    name: String(decoding: name, as: UTF8.self)
                )
            )
            offset += 16 + length
        }
        return events
    }
}
