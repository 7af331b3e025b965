// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// How many packets each interface received since it was made.
///
/// Source: `/proc/net/dev` of the calling thread's network (proc_net(5)).
enum PacketCounters {
    /// Reads the counters by interface; none when the file cannot be read.
    static func received() -> [String: Int] {
        ProcFile.text("/proc/thread-self/net/dev").map(parse) ?? [:]
    }

    /// Reads the text of the file: the second number behind a name counts packets.
    static func parse(_ text: String) -> [String: Int] {
        var counters: [String: Int] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let numbers = parts[1].split(separator: " ")
            guard numbers.count > 1, let packets = Int(numbers[1]) else { continue }
            counters[String(parts[0].drop { $0 == " " })] = packets
        }
        return counters
    }
}
