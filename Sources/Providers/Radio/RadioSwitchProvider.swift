// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import LinuxIO
public import PathModel

/// Follows the radio switches through `/dev/rfkill`, or reads them from sysfs (rule S22).
///
/// Confined to the loop's thread. Most servers and containers have neither.
public final class RadioSwitchProvider {
    public var facts: RadioFacts { switches.facts }
    /// How it goes; active from sysfs means: as of the last ``refresh()``.
    public private(set) var health = ProviderHealth()
    /// Something changed; called on the loop's thread.
    public var onChange: () -> Void = {}

    private let loop: EventLoop
    private let device: String
    private let sysfs: String
    private var switches = RadioSwitches()
    private var number: Int32 = -1
    private var registration: EventLoop.Registration?

    /// Prepares to read `device`, or else the directory `sysfs`.
    public init(loop: EventLoop, device: String = "/dev/rfkill", sysfs: String = "/sys/class/rfkill") {
        self.loop = loop
        self.device = device
        self.sysfs = sysfs
    }

    deinit {
        if number >= 0 { close(number) }
    }

    /// Reads the switches and follows them where the kernel reports changes.
    public func start() { refresh() }

    public func stop() {
        if let registration { loop.unregister(registration) }
        registration = nil
        if number >= 0 { close(number) }
        number = -1
    }

    /// Opens the device again, or reads sysfs again.
    public func refresh() {
        guard registration == nil else { return }
        let before = (switches.facts, health)
        if !open() { readSysfs() }
        if before != (switches.facts, health) { onChange() }
    }

    /// Opens the device; it begins with a record for each switch.
    private func open() -> Bool {
        do throws(Errno) {
            let file = try FileDescriptor(opening: device, flags: O_RDONLY | O_NONBLOCK)
            number = file.release()
            registration = try loop.register(number, for: .readable) { [weak self] _ in self?.receive() }
            switches = RadioSwitches()
            health.succeed()
            drain()
            return true
        } catch {
            stop()
            if error != .noEntry { health.lastError = .system(call: "open \(device)", code: error) }
            return false
        }
    }

    private func receive() {
        let before = switches.facts
        let isOpen = drain()
        if !isOpen {
            stop()
            health.fail(.system(call: "read \(device)", code: Errno(ENODEV)), at: loop.clock.boot)
        }
        if before != switches.facts || !isOpen { onChange() }
    }

    /// Reads what there is, one record a read.
    /// - Returns: Whether there will be more.
    @discardableResult
    private func drain() -> Bool {
        var record = [UInt8](repeating: 0, count: 64)
        for _ in 0..<1024 {
            let count = unsafe read(number, &record, 64)
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            guard count > 0 else { return false }
            switches.apply(record[..<count]) { Self.device(of: $0, in: sysfs) }
        }
        return true
    }

    /// The number of the Wi-Fi device that a switch is of.
    private static func device(of index: UInt32, in sysfs: String) -> Int? {
        Int(word("\(sysfs)/rfkill\(index)/device/index"))
    }

    /// The first word of a file; empty where it cannot be read.
    private static func word(_ path: String) -> String {
        guard let file = try? FileDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK),
            let bytes = try? file.read(upTo: 64)
        else { return "" }
        return String(decoding: bytes.prefix { $0 > 32 }, as: UTF8.self)
    }

    private func readSysfs() {
        let read = Self.switches(in: sysfs)
        switches = read ?? RadioSwitches()
        health.state = read == nil ? .absent : .active
    }

    /// Reads the switches of a directory; `nil` where there are none.
    private static func switches(in sysfs: String) -> RadioSwitches? {
        let entries = LeaseMonitor.entries(of: sysfs).filter { $0.hasPrefix("rfkill") }
        guard !entries.isEmpty else { return nil }
        var switches = RadioSwitches()
        for entry in entries {
            guard let index = UInt32(entry.dropFirst(6)) else { continue }
            func word(_ file: String) -> String { Self.word("\(sysfs)/\(entry)/\(file)") }
            let types = ["wlan": RadioSwitches.wlan, "wwan": RadioSwitches.wwan]
            guard let type = types[word("type")] else { continue }
            let isHard = word("hard") == "1"
            let isBlocked = word("soft") == "1" || isHard
            switches.set(index, type: type, isBlocked: isBlocked, isHard: isHard, device: device(of: index, in: sysfs))
        }
        return switches
    }

    /// Reads the switches once, for a command.
    public static func current(device: String = "/dev/rfkill", sysfs: String = "/sys/class/rfkill") -> RadioFacts {
        var switches = RadioSwitches()
        guard let file = try? FileDescriptor(opening: device, flags: O_RDONLY | O_NONBLOCK) else {
            return Self.switches(in: sysfs)?.facts ?? RadioFacts()
        }
        // A record each reading, the present ones first; then there is nothing to read.
        for _ in 0..<1024 {
            guard let record = try? file.read(upTo: 64), !record.isEmpty else { break }
            switches.apply(record[...]) { Self.device(of: $0, in: sysfs) }
        }
        return switches.facts
    }
}
