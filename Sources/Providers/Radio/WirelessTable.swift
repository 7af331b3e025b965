// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Netlink
internal import PathModel

/// What nl80211 told, and what is still to be asked: one question at a time, because the kernel refuses a second dump.
struct WirelessTable: Equatable {
    enum Request: Hashable {
        /// `NL80211_CMD_GET_INTERFACE` (5): all interfaces.
        case interfaces
        /// `NL80211_CMD_GET_STATION` (17): the access point an interface is connected to.
        case station(index: Int)

        /// The dump that answers it.
        func question(family: UInt16) -> Question {
            switch self {
            case .interfaces: return Question(family: family, command: 5, isDump: true)
            case .station(let index):
                var question = Question(family: family, command: 17, isDump: true)
                question.add(3, UInt32(truncatingIfNeeded: index))
                return question
            }
        }
    }

    struct Outcome: Equatable {
        /// Whether ``interfaces`` are others now.
        var isChanged = false
        /// Whether the question is answered, so that the next one may be asked.
        var isFinished = false
        /// Why the interfaces were not told.
        var refusal: Errno?
    }

    /// How many interfaces are kept.
    static let limit = 1024

    private(set) var interfaces: [Int: WirelessFacts] = [:]
    private var waiting: [Request] = []
    private var current: Request?
    private var sequence: UInt32 = 0
    private var found: [Int: WirelessFacts] = [:]

    /// Notes a question; one that already waits is asked once.
    mutating func ask(_ request: Request) {
        if !waiting.contains(request) && waiting.count < Self.limit { waiting.append(request) }
    }

    /// The next question to send; `nil` while one is being answered, or when there is none.
    mutating func next() -> Request? {
        guard current == nil, !waiting.isEmpty else { return nil }
        current = waiting.removeFirst()
        found = [:]
        return current
    }

    /// The question was sent under this number, which its answers carry.
    mutating func sent(_ sequence: UInt32) { self.sequence = sequence }

    /// Forgets all questions, such as after an overrun or a failed send.
    mutating func forgetQuestions() {
        current = nil
        waiting = []
    }

    /// Forgets everything: the family went away.
    mutating func removeAll() { self = WirelessTable() }

    /// The questions a sample of the signal takes.
    var stations: [Request] {
        interfaces.filter { $0.value.isStation }.keys.sorted().map { .station(index: $0) }
    }

    mutating func receive(_ message: GenericMessage) -> Outcome {
        guard let current, message.sequence == sequence else { return Outcome() }
        let isEnd = message.type == GenericMessage.doneType || message.type == GenericMessage.errorType
        switch current {
        case .interfaces where isEnd:
            self.current = nil
            // An error tells nothing about the interfaces.
            guard message.type == GenericMessage.doneType else {
                return Outcome(isFinished: true, refusal: Errno(message.code ?? 0))
            }
            return Outcome(isChanged: replace(), isFinished: true)
        case .interfaces:
            if let (index, facts) = WirelessMessage.interface(message), found.count < Self.limit {
                found[index] = facts
            }
            return Outcome()
        case .station where isEnd:
            self.current = nil
            return Outcome(isFinished: true)
        case .station:
            guard let (index, signal) = WirelessMessage.signal(message), let known = interfaces[index],
                known.signal != signal
            else { return Outcome() }
            interfaces[index]?.signal = signal
            return Outcome(isChanged: true)
        }
    }

    /// Takes over the interfaces of a finished dump; a signal outlives it as long as the network stays.
    private mutating func replace() -> Bool {
        for (index, facts) in found where facts.ssid != nil && facts.ssid == interfaces[index]?.ssid {
            found[index]?.signal = interfaces[index]?.signal
        }
        defer { interfaces = found }
        return interfaces != found
    }
}
