// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The text format of a recording: what was read from the kernel, when, and in answer to what.
///
/// The first line is `nwpath-recording 1`. Every other line is one frame; its first two words are the kind and the
/// time in nanoseconds since boot (`CLOCK_BOOTTIME`). Messages are in hexadecimal, in the recorder's byte order
/// (little-endian).
///
///     start 512000000 1795176000000000000 Linux 6.18.44       the calendar at that time, in ns since 1970; the kernel
///     event 513000000 5000000010000000…                       one datagram of notifications, headers and all
///     lost 514000000                                          the receive buffer overran
///     ask 515000000 18:0300:0a000000… ok 1000ab…,1000cd…      type:flags:body of a request, the outcome, and of each
///                                                             message of the answer its type (2 bytes) and body
///     tcp 515500000 ipv4 0a01…,0a01…                          TCP connections of a dump (`ipv4`, `ipv6`), or those that
///                                                             ended (`ended`): the body of each message
///     end 516000000                                           the recording was ended in order
///
/// Outcomes are `ok`, `torn` (the table changed during the dump), `stopped` (the reader had enough) and
/// `error=N` with a positive errno. Empty lines and lines that begin with `#` are passed over.
enum RecordingFormat {
    static let header = "nwpath-recording 1"

    /// Adds bytes in hexadecimal.
    static func append(_ bytes: Span<UInt8>, to line: inout [UInt8]) {
        for index in bytes.indices {
            line.append(digit(bytes[index] >> 4))
            line.append(digit(bytes[index] & 15))
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }

    /// Reads hexadecimal of either case.
    /// - Returns: `nil` for an odd number of digits, or anything but digits.
    static func bytes(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count & 1 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        var high: UInt8?
        for character in text {
            guard let digit = value(of: character) else { return nil }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return bytes
    }

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case 48...57: character - 48
        case 97...102: character - 87
        case 65...70: character - 55
        default: nil
        }
    }
}

public struct RecordedMessage: Hashable, Sendable {
    /// Its RTM_* type.
    public var type: UInt16
    public var body: [UInt8]
}

public enum RecordedOutcome: Hashable, Sendable {
    case completed(Completion)
    /// With a positive errno.
    case failed(Int32)
}

public enum RecordedFrame: Hashable, Sendable {
    /// The recording begins; `wall` in nanoseconds since 1970.
    case start(wall: Int64, kernel: String)
    /// A datagram of notifications.
    case event([UInt8])
    case lost
    case exchange(Question, [RecordedMessage], RecordedOutcome)
    case connections(RecordedConnections)
    case end
}

/// Messages about TCP connections that were read together.
public struct RecordedConnections: Hashable, Sendable {
    /// A dump of all of a family; or a notification of those that ended.
    public enum Source: String, Hashable, Sendable {
        case ipv4
        case ipv6
        case ended
    }

    public var source: Source
    public var bodies: [[UInt8]]

    public var connections: [TCPConnection] { bodies.compactMap { TCPConnection(decoding: $0.span) } }
}
