// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import Synchronization
import TestSupport

/// Hears on a neighbour's interface what this machine says to the group by IPv4.
final class GroupListener: Sendable {
    private let heard = Mutex<[Message]>([])

    init(on neighbour: Neighbour) throws {
        let index = try neighbour.namespace.ip("-o link show peer0").prefix { $0 != ":" }
        let loop = neighbour.namespace.loop
        loop.perform { [weak self] in
            // The registration, and with it the socket, lives as long as the namespace.
            guard let number = Int(index), let socket = try? MulticastSocket(.ipv4, interface: number)
            else { return }
            let ear = Ear(socket)
            _ = try? loop.register(ear.socket.rawValue, for: .readable) { _ in
                while let message = ear.next() { self?.heard.withLock { $0.append(message) } }
            }
        }
    }

    private var messages: [Message] { heard.withLock { $0 } }

    private func probes(_ name: String) -> Int {
        messages.count { message in
            !message.flags.contains(.response) && message.authorities.contains { "\($0.name)" == name }
        }
    }

    private func announcements(_ name: String) -> Int {
        messages.count { message in
            message.flags.contains(.response)
                && message.answers.contains { "\($0.name)" == name && $0.type == .srv && $0.timeToLive > 0 }
        }
    }

    /// How often a name was probed for, and how often it was announced.
    func claims(of name: String) -> (probes: Int, announcements: Int) { (probes(name), announcements(name)) }

    /// How many questions for a name were the first after a link came up: they welcome a unicast answer.
    func firstQuestions(for name: String) -> Int {
        messages.count { message in message.questions.contains { "\($0.name)" == name && $0.wantsUnicast } }
    }
}

private final class Ear {
    let socket: MulticastSocket
    private var buffer = [UInt8](repeating: 0, count: 9001)

    init(_ socket: consuming MulticastSocket) { self.socket = socket }

    func next() -> Message? {
        while let datagram = try? socket.receive(into: &buffer) {
            if let message = try? Message(parsing: buffer.span.extracting(0..<datagram.count)) { return message }
        }
        return nil
    }
}
