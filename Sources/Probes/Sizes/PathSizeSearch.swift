// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Searches for the largest packet that arrives, in as few questions as the doubt allows.
///
/// Pure: answers in, sizes out. The size that the own link takes is tried first; if that is all right, nothing else is.
/// Then one that passes everywhere, then halves of what is between, down to eight bytes.
struct PathSizeSearch: Equatable {
    enum Step: Equatable {
        /// Send packets of so many bytes.
        case send(Int)
        /// The largest packet that arrives; `nil` when not even the smallest does, which tells nothing of sizes.
        case done(Int?)
    }

    /// How exact the result is, in bytes.
    static let step = 8

    /// The largest packet that the own link takes.
    let limit: Int
    /// What every path must pass (RFC 791 section 3.1 for hosts, RFC 8200 section 5).
    let floor: Int
    private var known: Int?
    private var tooBig: Int
    /// The smallest size that a router named.
    private(set) var announced: Int?
    private var isStarted = false

    init(_ family: AddressFamily, limit: Int) {
        floor = min(family == .ipv4 ? 576 : 1280, limit)
        self.limit = limit
        tooBig = limit + 1
    }

    var next: Step {
        guard isStarted else { return .send(limit) }
        if let announced, announced < tooBig, announced > known ?? 0 { return .send(announced) }
        guard let known else { return tooBig > floor ? .send(floor) : .done(nil) }
        // What lies above may have been refused by the network for its size alone.
        guard tooBig - known > Self.step else { return .done(known) }
        let middle = (known + tooBig) / 2
        return .send(middle - middle % 2)
    }

    mutating func take(_ size: Int, isAnswered: Bool) {
        isStarted = true
        if isAnswered {
            known = max(known ?? 0, size)
            // A router that named this size knows its link.
            if size == announced { tooBig = min(tooBig, size + 1) }
        } else {
            tooBig = min(tooBig, size)
        }
    }

    /// Notes that a router named the largest packet that its next link takes.
    mutating func hear(_ size: Int) {
        // RFC 791 section 3.2 and RFC 8200 section 5: no link takes less.
        guard size >= (floor == 1280 ? 1280 : 68), size < tooBig else { return }
        announced = min(announced ?? size, size)
    }
}
