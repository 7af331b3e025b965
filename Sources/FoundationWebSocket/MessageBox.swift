// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What came and nobody has received, and who waits for what has not come: each receiver gets one thing, in order.
///
/// Pure.
struct MessageBox<Message, Receiver> {
    /// What a receiver gets.
    typealias Delivery = (receiver: Receiver, result: Result<Message, any Error>)

    private var messages: [Message] = []
    private var receivers: [Receiver] = []
    private var end: (any Error)?

    /// Whether the next message is to be fetched: none waits, and more can come.
    var wantsMore: Bool { messages.isEmpty && end == nil }

    /// Somebody wants the next message.
    mutating func receive(_ receiver: Receiver) -> [Delivery] {
        receivers.append(receiver)
        return deliveries()
    }

    /// A message came.
    mutating func add(_ message: Message) -> [Delivery] {
        messages.append(message)
        return deliveries()
    }

    /// Nothing comes any more; the first reason stays, and what came before is still handed out.
    mutating func finish(_ error: any Error) -> [Delivery] {
        if end == nil { end = error }
        return deliveries()
    }

    private mutating func deliveries() -> [Delivery] {
        var found: [Delivery] = []
        while !receivers.isEmpty, !messages.isEmpty {
            found.append((receivers.removeFirst(), .success(messages.removeFirst())))
        }
        guard let end else { return found }
        found += receivers.map { ($0, .failure(end)) }
        receivers = []
        return found
    }
}

extension MessageBox: Sendable where Message: Sendable, Receiver: Sendable {}
