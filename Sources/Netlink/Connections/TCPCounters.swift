// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// Counters of all TCP sockets of a network namespace, loopback included: a cheap indication of what a dump would show.
///
/// Source: the lines `Tcp:` of `/proc/net/snmp` (RFC 4022).
public struct TCPCounters: Hashable, Sendable {
    /// Connections that were opened from here and to here.
    public var opened: UInt64 = 0
    /// Connections that are established.
    public var established: UInt64 = 0
    public var segmentsReceived: UInt64 = 0
    public var segmentsSent: UInt64 = 0
    public var retransmitted: UInt64 = 0

    public init() {}

    /// Reads the text of the file: a line of names, and one of values.
    public init?(parsing text: [UInt8]) {
        let lines = text.split(separator: 10).filter { $0.starts(with: Array("Tcp:".utf8)) }
        guard lines.count >= 2 else { return nil }
        let names = lines[0].split(separator: 32)
        let values = lines[1].split(separator: 32)
        for (name, value) in zip(names, values).dropFirst() {
            let number = value.reduce(into: UInt64(0)) { total, digit in
                if 48...57 ~= digit { total = total &* 10 &+ UInt64(digit - 48) }
            }
            switch String(decoding: name, as: UTF8.self) {
            case "ActiveOpens", "PassiveOpens": opened &+= number
            case "CurrEstab": established = number
            case "InSegs": segmentsReceived = number
            case "OutSegs": segmentsSent = number
            case "RetransSegs": retransmitted = number
            default: continue
            }
        }
    }
}

/// Owns the open file of the counters; the kernel writes it anew for each reading.
public struct TCPCounterFile: ~Copyable {
    private let file: FileDescriptor

    /// Opens the file of the network namespace of the calling thread.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public init() throws(NetlinkError) {
        let path = "/proc/thread-self/net/snmp"
        do { file = try FileDescriptor(opening: path, flags: O_RDONLY) } catch {
            throw .noSocket(step: path, code: error.rawValue)
        }
    }

    /// - Returns: `nil` when the file cannot be read.
    public func read() -> TCPCounters? {
        (try? file.read(upTo: 16_384, at: 0)).flatMap(TCPCounters.init(parsing:))
    }
}
