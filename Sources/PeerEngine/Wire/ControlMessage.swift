// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import OrderedJSON

/// What names one session of one program among all; a peer that knows it may join when a member named
/// its key.
package struct SessionID: Hashable, Sendable {
    static let length = 16
    let bytes: [UInt8]

    /// A new one.
    package init() {
        var generator = SystemRandomNumberGenerator()
        bytes = (0..<Self.length).map { _ in generator.next() }
    }

    /// Reads 32 digits of base 16.
    init?(_ text: String) {
        guard let bytes = Hexadecimal.bytes(text), bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    var text: String { Hexadecimal.text(bytes) }
}

/// Bytes as digits of base 16.
enum Hexadecimal {
    static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue.map { UInt8($0) } }
        guard digits.count == text.utf8.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

/// Why a peer is not, or no longer, in a session.
package enum RefusalReason: String, Hashable, Sendable, CaseIterable {
    /// The invited peer declined.
    case declined
    /// A session has 8 members already.
    case full
    /// Nobody advertises this type there.
    case unknownService = "unknown_service"
    /// There is no such session, or it does not know the sender.
    case unknownSession = "unknown_session"
    /// Too many invitations from this peer.
    case tooMany = "too_many"
    /// The answer came too late, or never.
    case timedOut = "timed_out"
    /// The certificates were not accepted.
    case certificate
    /// The program has left the session.
    case left
    /// The two are connected already.
    case duplicate
    /// It cannot be reached, or stopped answering.
    case unreachable
    /// It is not the peer that it should be.
    case impostor
    /// It sent what cannot be understood.
    case protocolError = "protocol_error"
}

/// What a channel is opened for.
package enum ChannelPurpose: Hashable, Sendable {
    case resource(name: String, size: UInt64)
    case stream(name: String)

    static let maximumName = 1024
}

/// What peers agree upon, as JSON in a frame of its own.
enum ControlMessage: Hashable, Sendable {
    /// Who speaks: under this name, by the key of the TLS handshake, and reached on this port at these addresses.
    case hello(name: String, port: UInt16, addresses: [IPAddress])
    /// Invites to a session; what comes with it follows as it is, when it has a length.
    case invite(serviceType: String, session: SessionID, contextLength: Int)
    /// Requests to join a session known by other means than an announcement, or by a member of it.
    case join(session: SessionID, from: SessionID)
    case accept(session: SessionID)
    case decline(RefusalReason)
    /// With whom else the sender is connected; the first one says that it is ready itself.
    case members([Member])
    case bye(RefusalReason)
    case open(ChannelPurpose)

    struct Member: Hashable, Sendable {
        var key: PeerKey
        var name: String
        var session: SessionID
        var port: UInt16
        var addresses: [IPAddress]
    }

    static let version: Int64 = 1
    static let maximumMembers = 16
    static let maximumAddresses = 16

    /// The frame that says so.
    func frame(channel: UInt16 = 0) -> Frame {
        let bytes = try? OrderedJSONEncoder().encode(JSONValue.object(object))
        return Frame(kind: kind, channel: channel, payload: bytes ?? [])
    }

    private var kind: Frame.Kind {
        switch self {
        case .hello: .hello
        case .invite: .invite
        case .accept: .accept
        case .decline: .decline
        case .join: .join
        case .members: .members
        case .bye: .bye
        case .open: .open
        }
    }

    private var object: JSONObject {
        var object = JSONObject()
        switch self {
        case .hello(let name, let port, let addresses):
            object["version"] = .integer(Self.version)
            object["name"] = .string(name)
            object["port"] = .integer(Int64(port))
            object["addresses"] = .array(addresses.map { .string("\($0)") })
        case .invite(let serviceType, let session, let contextLength):
            object["service_type"] = .string(serviceType)
            object["session"] = .string(session.text)
            object["context_length"] = .integer(Int64(contextLength))
        case .join(let session, let from):
            object["session"] = .string(session.text)
            object["from"] = .string(from.text)
        case .accept(let session): object["session"] = .string(session.text)
        case .decline(let reason), .bye(let reason): object["reason"] = .string(reason.rawValue)
        case .members(let members): object["members"] = .array(members.map { .object($0.object) })
        case .open(.resource(let name, let size)):
            object["resource"] = .string(name)
            object["size"] = .unsigned(size)
        case .open(.stream(let name)): object["stream"] = .string(name)
        }
        return object
    }

    /// Reads a frame of a kind that has JSON; strict, since it may be anybody's.
    init(_ frame: Frame) throws(FrameError) {
        guard let value = try? JSONValue(parsing: frame.payload, limits: JSONLimits(depth: 8, size: 1 << 17)),
            let message = Self(frame.kind, value)
        else { throw .misplaced(frame.kind) }
        self = message
    }

    private init?(_ kind: Frame.Kind, _ value: JSONValue) {
        switch kind {
        case .hello:
            guard value["version"]?.int == Int(Self.version), let name = value["name"]?.string,
                PeerRules.problem(ofName: name) == nil, let port = UInt16(exactly: value["port"]?.int ?? -1),
                let addresses = Self.addresses(value["addresses"] ?? .array([]))
            else { return nil }
            self = .hello(name: name, port: port, addresses: addresses)
        case .invite:
            guard let type = value["service_type"]?.string, PeerRules.problem(ofServiceType: type) == nil,
                let session = Self.session(value["session"]), let length = value["context_length"]?.int,
                (0...Frame.maximumPayload).contains(length)
            else { return nil }
            self = .invite(serviceType: type, session: session, contextLength: length)
        case .join:
            guard let session = Self.session(value["session"]), let from = Self.session(value["from"]) else {
                return nil
            }
            self = .join(session: session, from: from)
        case .accept:
            guard let session = Self.session(value["session"]) else { return nil }
            self = .accept(session: session)
        case .decline, .bye:
            guard let text = value["reason"]?.string else { return nil }
            // Reasons of later versions are none of ours.
            let reason = RefusalReason(rawValue: text) ?? .declined
            self = kind == .bye ? .bye(reason) : .decline(reason)
        case .members:
            guard let entries = value["members"]?.array, entries.count <= Self.maximumMembers else { return nil }
            let members = entries.compactMap { Member($0) }
            guard members.count == entries.count else { return nil }
            self = .members(members)
        case .open:
            guard let purpose = Self.purpose(value) else { return nil }
            self = .open(purpose)
        default: return nil
        }
    }

    fileprivate static func addresses(_ value: JSONValue) -> [IPAddress]? {
        guard let texts = value.array, texts.count <= maximumAddresses else { return nil }
        let addresses = texts.compactMap { $0.string.flatMap { IPAddress($0) } }
        return addresses.count == texts.count ? addresses : nil
    }

    private static func session(_ value: JSONValue?) -> SessionID? { value?.string.flatMap { SessionID($0) } }

    private static func purpose(_ value: JSONValue) -> ChannelPurpose? {
        let limit = ChannelPurpose.maximumName
        if let name = value["stream"]?.string, name.utf8.count <= limit { return .stream(name: name) }
        guard let name = value["resource"]?.string, name.utf8.count <= limit, let size = value["size"]?.uint64,
            size <= UInt64(Int64.max)
        else { return nil }
        return .resource(name: name, size: size)
    }
}

extension ControlMessage.Member {
    var object: JSONObject {
        var object = JSONObject()
        object["key"] = .string(key.description)
        object["name"] = .string(name)
        object["session"] = .string(session.text)
        object["port"] = .integer(Int64(port))
        object["addresses"] = .array(addresses.map { .string("\($0)") })
        return object
    }

    init?(_ value: JSONValue) {
        guard let key = value["key"]?.string.flatMap({ PeerKey($0) }), let name = value["name"]?.string,
            PeerRules.problem(ofName: name) == nil, let session = value["session"]?.string.flatMap({ SessionID($0) }),
            let port = UInt16(exactly: value["port"]?.int ?? -1),
            let addresses = value["addresses"].flatMap({ ControlMessage.addresses($0) })
        else { return nil }
        self.init(key: key, name: name, session: session, port: port, addresses: addresses)
    }
}
