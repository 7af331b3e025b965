// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// The standard `process_*` metrics, read from `/proc/self`.
public struct ProcessMetrics {
    private static let cpu = MetricFamily(
        "process_cpu_seconds_total",
        .counter,
        help: "User and system CPU time spent."
    )
    private static let resident = MetricFamily("process_resident_memory_bytes", .gauge, help: "Resident memory size.")
    private static let virtual = MetricFamily("process_virtual_memory_bytes", .gauge, help: "Virtual memory size.")
    private static let openDescriptors = MetricFamily("process_open_fds", .gauge, help: "Open file descriptors.")
    private static let mostDescriptors = MetricFamily("process_max_fds", .gauge, help: "Limit of file descriptors.")
    private static let start = MetricFamily(
        "process_start_time_seconds",
        .gauge,
        help: "Start time of the process since 1970."
    )

    /// Makes the collector; it has no state.
    public init() {}

    public func register(in registry: MetricRegistry) {
        registry.add(collect(into:))
    }

    /// Writes what `/proc` says; what cannot be read is left out.
    public func collect(into writer: inout MetricWriter) {
        if let text = ProcFile.text("/proc/self/stat"), let stat = ProcessStat(text) {
            let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
            writer.write(Self.cpu, Double(stat.userTicks + stat.systemTicks) / ticks)
            writer.write(Self.resident, Double(stat.residentPages) * Double(sysconf(Int32(_SC_PAGESIZE))))
            writer.write(Self.virtual, Double(stat.virtualBytes))
            if let text = ProcFile.text("/proc/stat"), let boot = Self.bootTime(text) {
                writer.write(Self.start, Double(boot) + Double(stat.startTicks) / ticks)
            }
        }
        if let count = Self.countDescriptors() { writer.write(Self.openDescriptors, Double(count)) }
        if let text = ProcFile.text("/proc/self/limits"), let limit = Self.descriptorLimit(text) {
            writer.write(Self.mostDescriptors, limit)
        }
    }

    /// The `btime` line of `/proc/stat`, in seconds since 1970.
    static func bootTime(_ text: String) -> Int? {
        let line = text.split(separator: "\n").first { $0.hasPrefix("btime ") }
        return line.flatMap { Int($0.dropFirst(6)) }
    }

    /// The soft limit of `/proc/self/limits`.
    static func descriptorLimit(_ text: String) -> Double? {
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("Max open files") }) else {
            return nil
        }
        let words = line.dropFirst("Max open files".count).split(separator: " ")
        return words.first.flatMap { $0 == "unlimited" ? .infinity : Double($0) }
    }

    private static func countDescriptors() -> Int? {
        guard let directory = unsafe opendir("/proc/self/fd") else { return nil }
        defer { unsafe _ = closedir(directory) }
        var count = 0
        while unsafe readdir(directory) != nil { count += 1 }
        // Not the two dots, nor the descriptor that reads the directory.
        return count - 3
    }
}

/// The fields of `/proc/self/stat` that are published (proc(5)).
struct ProcessStat: Equatable {
    let userTicks: UInt64
    let systemTicks: UInt64
    let startTicks: UInt64
    let virtualBytes: UInt64
    let residentPages: UInt64

    /// Reads the line; the command's name may hold anything, so fields are counted behind its last parenthesis.
    init?(_ text: String) {
        guard let end = text.lastIndex(of: ")") else { return nil }
        let words = text[text.index(after: end)...].split { $0 == " " || $0 == "\n" }
        guard words.count > 21, let user = UInt64(words[11]), let system = UInt64(words[12]),
            let start = UInt64(words[19]), let virtual = UInt64(words[20]), let resident = UInt64(words[21])
        else { return nil }
        userTicks = user
        systemTicks = system
        startTicks = start
        virtualBytes = virtual
        residentPages = resident
    }
}
