// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// Sends a name server one query, by a datagram or over a connection; where it is refused, perhaps others.
struct DNSQuery: Probe {
    private let server: SocketAddress
    private let isStream: Bool
    private let route: ProbeRoute
    private var query: NameQuery?
    private var namesIfRefused: ArraySlice<String>
    /// Why the first query failed.
    private var refusal: String?
    private var stream = LengthPrefixed()
    private var lateness = Duration.zero
    private(set) var bytesReceived = 0
    private(set) var result = ProbeResult(.failure(.timeout, detail: ""))

    init(_ name: String, to server: SocketAddress, _ question: ServerQuestion, route: ProbeRoute = ProbeRoute()) {
        self.server = server
        self.route = route
        isStream = question.transport == .tcp
        query = NameQuery(name, record: question.record)
        namesIfRefused = question.namesIfRefused[...]
    }

    mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started:
            guard query != nil else { return fail(.dns, "not a domain name") }
            return [.open(isStream ? .stream(to: server, route) : .datagram(to: server, route))]
        case .opened: return [request].compactMap(\.self)
        case .failed(let failure, _, _):
            result = ProbeResult(FailureClassifier.outcome(of: failure, route: route))
            return [.finish]
        case .received(let packet, _): return receive(packet)
        case .fault, .fired, .timedOut: return []
        }
    }

    private var request: ProbeAction? {
        (query?.bytes).map { .send(isStream ? LengthPrefixed.frame($0) : $0) }
    }

    private mutating func receive(_ packet: ReceivedPacket) -> [ProbeAction] {
        bytesReceived += packet.bytes.count
        lateness = packet.age
        guard isStream else { return handle(packet.bytes) }
        guard !packet.bytes.isEmpty else { return fail(.answer, "the server closed the connection") }
        stream.append(packet.bytes)
        while let message = stream.next() {
            let actions = handle(message)
            guard actions.isEmpty else { return actions }
        }
        return []
    }

    private mutating func handle(_ message: [UInt8]) -> [ProbeAction] {
        switch query?.evaluate(message.span) ?? .foreign {
        case .foreign: return []
        case .failed(let text):
            // It may deny the root alone; what a recursive server cannot find out (SERVFAIL) is all that is not its own.
            let reply = query?.read(message.span)
            let mayKnowOthers = refusal != nil || reply != .refused(code: 2) && reply != .unreadable
            guard mayKnowOthers, let next = nextRequest(after: text) else { return fail(.dns, refusal ?? text) }
            return [next]
        case .addresses(let addresses):
            result = ProbeResult(.success)
            result.lateness = lateness
            result.addresses = addresses
            return [.finish]
        }
    }

    /// A query for the next name; `nil` when there is none.
    private mutating func nextRequest(after text: String) -> ProbeAction? {
        refusal = refusal ?? text
        while let name = namesIfRefused.popFirst() {
            query = NameQuery(name, record: .a)
            query?.acceptsDenial = true
            if let request { return request }
        }
        return nil
    }

    private mutating func fail(_ reason: ProbeReason, _ detail: String) -> [ProbeAction] {
        result = ProbeResult(.failure(reason, detail: detail))
        return [.finish]
    }
}

/// A question to a name server, and what its answer means (RFC 1035; RFC 7766 for connections).
struct NameQuery: Equatable {
    /// The bit that asks a server to find the answer elsewhere (RD).
    private static let recursionDesired = Message.Flags(rawValue: 0x0100)

    let name: DomainName
    let record: ServerQuestion.Record
    /// Nobody but the server must be able to guess it.
    let id: UInt16
    /// Whether any knowledge of the name is an answer: a record, or a denial with the start of a zone.
    var acceptsDenial = false

    /// Reads the name; `nil` when it is none.
    init?(_ name: String, record: ServerQuestion.Record, id: UInt16 = .random(in: .min ... .max)) {
        let text = name.hasSuffix(".") ? String(name.dropLast()) : name
        guard let name = text.isEmpty ? DomainName() : DomainName(text) else { return nil }
        self.name = name
        self.record = record
        self.id = id
    }

    private var question: Question {
        switch record {
        case .a: Question(name, .a)
        case .aaaa: Question(name, .aaaa)
        case .text: Question(name, .txt)
        case .nameServers: Question(name, .ns)
        }
    }

    var bytes: [UInt8] {
        var encoder = MessageEncoder(id: id, flags: Self.recursionDesired, limit: 512)
        _ = encoder.append(question)
        return encoder.finish()
    }

    enum Reply: Equatable {
        /// It answers another question, or is no message.
        case foreign
        /// It is the answer, but cannot be read.
        case unreadable
        /// The server gave a code other than success.
        case refused(code: UInt16)
        /// The addresses of the name, or none.
        case addresses([IPAddress], isCut: Bool)
        /// So many bytes of strings, or none.
        case text(bytes: Int, isCut: Bool)
    }

    enum Meaning: Equatable {
        /// It answers another question, or is no message: go on waiting.
        case foreign
        /// The addresses of the name; none where strings were requested.
        case addresses([IPAddress])
        /// There are none; the text says why.
        case failed(String)
    }

    /// What a message means; any bytes are allowed.
    func evaluate(_ bytes: Span<UInt8>) -> Meaning {
        switch read(bytes) {
        case .foreign: return .foreign
        case .refused(code: 3) where acceptsDenial && isKnown(bytes): return .addresses([])
        case .addresses where acceptsDenial && isKnown(bytes): return .addresses([])
        case .addresses(_, let isCut) where record == .nameServers && (isCut || isKnown(bytes)): return .addresses([])
        case .unreadable: return .failed("malformed response")
        case .refused(let code): return .failed(Self.text(of: code))
        case .addresses(let found, _) where !found.isEmpty: return .addresses(found)
        case .text(let count, _) where count > 0: return .addresses([])
        case .addresses(_, let isCut), .text(_, let isCut):
            return .failed(isCut ? "truncated response" : "the name has no \(record.rawValue) record")
        }
    }

    /// Whether an answer has a record, or comes from servers of the zone as RFC 2308 section 2 has it.
    ///
    /// A forwarder that denies its own domain without an upstream, such as dnsmasq with `local=/lan/`, sends no SOA.
    private func isKnown(_ bytes: Span<UInt8>) -> Bool {
        guard let message = try? Message(parsing: bytes) else { return false }
        return !message.answers.isEmpty || message.authorities.contains { $0.type == .soa }
    }

    /// Reads a message; any bytes are allowed.
    func read(_ bytes: Span<UInt8>) -> Reply {
        guard let message = try? Message(parsing: bytes) else { return readHead(bytes) }
        guard isForUs(message.id, message.flags), message.questions.isEmpty || message.questions == [question] else {
            return .foreign
        }
        let code = message.flags.responseCode
        guard code == 0 else { return .refused(code: code) }
        guard message.questions == [question] else { return .foreign }
        let isCut = message.flags.contains(.truncated)
        guard record != .text else {
            let texts = message.answers.map { record in
                if record.type == .txt, case .text(let bytes) = record.data { bytes.count } else { 0 }
            }
            return .text(bytes: texts.reduce(0, +), isCut: isCut)
        }
        let found = message.answers.compactMap { record -> IPAddress? in
            guard record.type == question.type, case .address(let address) = record.data else { return nil }
            return address
        }
        return .addresses(found, isCut: isCut)
    }

    /// A message that cannot be read, but whose head is the answer's, is an answer that is wrong.
    private func readHead(_ bytes: Span<UInt8>) -> Reply {
        guard bytes.count >= 12 else { return .foreign }
        func word(_ offset: Int) -> UInt16 { UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1]) }
        return isForUs(word(0), Message.Flags(rawValue: word(2))) ? .unreadable : .foreign
    }

    private func isForUs(_ id: UInt16, _ flags: Message.Flags) -> Bool {
        id == self.id && flags.contains(.response) && flags.operation == 0
    }

    /// The names of response codes (RFC 1035 section 4.1.1).
    static func text(of code: UInt16) -> String {
        switch code {
        case 1: "format error (FORMERR)"
        case 2: "server failure (SERVFAIL)"
        case 3: "no such name (NXDOMAIN)"
        case 4: "not implemented (NOTIMP)"
        case 5: "the server refused the query (REFUSED)"
        default: "the server answered with code \(code)"
        }
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

    /// Removes the next whole message; at most 65,535 bytes are ever kept for one.
    mutating func next() -> [UInt8]? {
        guard bytes.count >= 2 else { return nil }
        let length = Int(bytes[0]) << 8 | Int(bytes[1])
        guard bytes.count >= 2 + length else { return nil }
        defer { bytes.removeFirst(2 + length) }
        return Array(bytes[2..<(2 + length)])
    }
}
