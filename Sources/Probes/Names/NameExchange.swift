// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO

/// Sends a name server one query, by a datagram or over a connection; where it is refused, perhaps others.
final class NameExchange: ProbeExchange {
    private var query: NameQuery?
    private var namesIfRefused: ArraySlice<String>
    /// Why the first query failed.
    private var refusal: String?
    private let server: SocketAddress
    private let isStream: Bool
    private let route: ProbeRoute
    private let loop: EventLoop
    private var socket: ProbeSocket?
    private var finish: (ProbeResult) -> Void = { _ in }
    private var stream = LengthPrefixed()
    private var sent = 0
    private var received = 0
    private var lateness: Duration = .zero

    init(_ name: String, asking server: SocketAddress, _ question: ServerQuestion, route: ProbeRoute, loop: EventLoop) {
        query = NameQuery(name, record: question.record, id: .random(in: .min ... .max))
        namesIfRefused = question.namesIfRefused[...]
        self.server = server
        isStream = question.transport == .tcp
        self.route = route
        self.loop = loop
    }

    func start(finish: @escaping (ProbeResult) -> Void) {
        self.finish = finish
        guard let query else { return finish(ProbeResult(.failure(.dns, detail: "not a domain name"))) }
        attempt { () throws(SocketFailure) in
            let family = server.address.address.family
            let socket = try ProbeSocket(isStream ? .stream : .datagram, family: family, route: route, loop: loop)
            self.socket = socket
            try socket.connect(to: server)
            if isStream {
                try socket.whenReady(.writable) { [weak self] _ in self?.connected(query) }
            } else {
                try socket.whenReady(.readable) { [weak self] _ in self?.receive() }
                try send(query.bytes)
            }
        }
    }

    private func connected(_ query: NameQuery) {
        attempt { () throws(SocketFailure) in
            guard let socket else { return }
            if let error = socket.pendingError { throw SocketFailure(error: error, step: .use) }
            try socket.whenReady(.readable) { [weak self] _ in self?.receive() }
            try send(query.bytes)
        }
    }

    private func send(_ message: [UInt8]) throws(SocketFailure) {
        let bytes = isStream ? LengthPrefixed.frame(message) : message
        try socket?.send(bytes)
        sent += bytes.count
    }

    private func receive() {
        attempt { () throws(SocketFailure) in
            for _ in 0..<ProbeSocket.burst {
                guard let socket, let arrival = try socket.receive(upTo: 65_536) else { return }
                let bytes = arrival.bytes
                received += bytes.count
                lateness = arrival.age
                guard isStream else {
                    judge(bytes)
                    continue
                }
                guard !bytes.isEmpty else { return fail(.answer, "the server closed the connection") }
                stream.append(bytes)
                while let message = stream.next() { judge(message) }
            }
        }
    }

    private func judge(_ message: [UInt8]) {
        switch query?.judge(message.span) ?? .foreign {
        case .foreign: return
        case .failed(let text):
            // It may deny the root alone; what a recursive server cannot find out (SERVFAIL) is all that is not its own.
            let reply = query?.read(message.span)
            let mayKnowOthers = refusal != nil || reply != .refused(code: 2) && reply != .unreadable
            guard mayKnowOthers, queryNext(after: text) else { return fail(.dns, refusal ?? text) }
        case .addresses(let addresses):
            var result = ProbeResult(.success, sent: sent, received: received)
            result.lateness = lateness
            result.addresses = addresses
            finish(result)
        }
    }

    /// Looks up the next name; false when there is none.
    private func queryNext(after text: String) -> Bool {
        guard let name = namesIfRefused.popFirst() else { return false }
        refusal = refusal ?? text
        query = NameQuery(name, record: .a, id: .random(in: .min ... .max))
        query?.acceptsDenial = true
        guard let query else { return queryNext(after: text) }
        attempt { () throws(SocketFailure) in try send(query.bytes) }
        return true
    }

    private func fail(_ reason: ProbeReason, _ detail: String) {
        finish(ProbeResult(.failure(reason, detail: detail), sent: sent, received: received))
    }

    private func attempt(_ body: () throws(SocketFailure) -> Void) {
        do throws(SocketFailure) {
            try body()
        } catch {
            let outcome = FailureClassifier.outcome(of: error.error, at: error.step, route: route)
            finish(ProbeResult(outcome, sent: sent, received: received))
        }
    }

    func cancel() -> Int {
        socket?.close()
        socket = nil
        return sent
    }
}

/// Messages on a connection, each after its length in two bytes (RFC 1035 section 4.2.2).
struct LengthPrefixed {
    private var bytes: [UInt8] = []

    /// A message with its length.
    static func frame(_ message: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: message.count >> 8), UInt8(truncatingIfNeeded: message.count)] + message
    }

    mutating func append(_ more: [UInt8]) { bytes += more }

    /// Takes the next whole message; at most 65,535 bytes are ever kept for one.
    mutating func next() -> [UInt8]? {
        guard bytes.count >= 2 else { return nil }
        let length = Int(bytes[0]) << 8 | Int(bytes[1])
        guard bytes.count >= 2 + length else { return nil }
        defer { bytes.removeFirst(2 + length) }
        return Array(bytes[2..<(2 + length)])
    }
}
