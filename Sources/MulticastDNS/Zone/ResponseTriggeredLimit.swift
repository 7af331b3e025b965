// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// How many bytes may be sent because of others' records, so that nobody gets more out of us than was put in.
///
/// A made-up pointer brings questions for a location and a text, three times, by both families, and is listed as known
/// whenever its type is queried. The pointer itself is longer than the first two questions; the rest is paid by what
/// else others send, from a start, and from a little with time.
struct ResponseTriggeredLimit: Sendable {
    static let most = 32 << 10
    /// Bytes per second.
    static let rate = 1024
    /// The known answers of reported services earn the other half (``KnownAnswerLimit``).
    static let share = 2

    private(set) var bytes = Self.most
    private var last: Duration?

    /// Others sent so many bytes.
    mutating func received(_ count: Int) { bytes = min(bytes + count / Self.share, Self.most * 8) }

    mutating func advance(to now: Duration) {
        guard let last, now > last, bytes < Self.most else {
            last = now
            return
        }
        let earned = Int(min((now - last) / .seconds(1), 3600) * Double(Self.rate))
        guard earned > 0 else { return }
        bytes = min(bytes + earned, Self.most)
        // What is left of a byte counts next time.
        self.last = last + .seconds(Double(earned) / Double(Self.rate))
    }

    /// Consumes so many bytes.
    /// - Returns: Whether there were as many.
    mutating func spend(_ size: Int) -> Bool {
        guard size <= bytes else { return false }
        bytes -= size
        return true
    }

    /// What a question adds to a packet: its first label, a pointer to the rest, type and class.
    ///
    /// A text is queried together with the location, and one kind of address with the other: the second name is a
    /// pointer.
    static func size(of question: Question) -> Int {
        let isSecond = question.type == .txt || question.type == .aaaa
        return 6 + (isSecond ? 0 : question.name.length - question.name.parent.length)
    }

    /// What a packet of its own costs on top of that: a header, and the whole name.
    static func surcharge(of question: Question) -> Int { 12 + question.name.length + 5 - size(of: question) }
}
