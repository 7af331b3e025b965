// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What a client of a TCP socket must show; a unix socket is guarded by its file.
public struct AccessRules: Equatable, Sendable {
    /// The digest of the token; the token itself is not kept.
    private let tokenDigest: [UInt8]?
    /// The bcrypt hashes of the users' passwords.
    let users: [String: String]

    /// Nobody is asked for anything.
    public init() { self.init(users: [:], token: nil) }

    /// Asks for the password of a user, or for a token; either will do where both are given.
    /// - Parameters:
    ///   - users: Hashes by name, as crypt(5) has them.
    ///   - token: The bearer token (RFC 6750).
    public init(users: [String: String], token: String?) {
        self.users = users
        tokenDigest = token.map { SHA256.digest(of: Array($0.utf8)) }
    }

    public var isOpen: Bool { users.isEmpty && tokenDigest == nil }

    enum Verdict: Equatable {
        case admitted(HTTPIdentity)
        case refused
        /// Admitted when the password is that of the hash; a user who does not exist has a hash that nothing fits.
        case checked(user: String, password: [UInt8], hash: String)
    }

    /// Judges a request by its peer and its `Authorization` field (RFC 9110 section 11.6.2).
    func judge(_ authorization: String?, from peer: HTTPPeer) -> Verdict {
        guard let authorization else { return isOpen || peer.isUnix ? .admitted(.anonymous) : .refused }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return fallback(peer) }
        switch parts[0].lowercased() {
        case "bearer":
            guard let tokenDigest else { return fallback(peer) }
            let digest = SHA256.digest(of: Array(parts[1].drop { $0 == " " }.utf8))
            return SHA256.areEqual(digest, tokenDigest) ? .admitted(.token) : .refused
        case "basic":
            guard !users.isEmpty else { return fallback(peer) }
            guard let bytes = Base64.bytes(of: String(parts[1].drop { $0 == " " })),
                let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
                let user = String(validating: bytes[..<colon], as: UTF8.self)
            else { return .refused }
            let password = Array(bytes[(colon + 1)...])
            // bcrypt sees 72 bytes at most and ends at a NUL; crypt(3) takes 512.
            guard password.count <= 512, !password.contains(0) else { return .refused }
            return .checked(user: user, password: password, hash: users[user] ?? nobodysHash)
        default: return fallback(peer)
        }
    }

    /// What becomes of credentials that nobody asked for.
    private func fallback(_ peer: HTTPPeer) -> Verdict { isOpen || peer.isUnix ? .admitted(.anonymous) : .refused }

    /// A hash that costs as much as those of the users, so that time does not tell who exists.
    private var nobodysHash: String {
        let cost = users.values.min()?.split(separator: "$").dropFirst().first ?? "10"
        return "$2y$\(cost)$" + String(repeating: ".", count: 53)
    }

    /// The challenges of a 401.
    var challenges: [HTTPField] {
        var fields: [HTTPField] = []
        if !users.isEmpty { fields.append(HTTPField("WWW-Authenticate", "Basic realm=\"nwpath\", charset=\"UTF-8\"")) }
        if tokenDigest != nil { fields.append(HTTPField("WWW-Authenticate", "Bearer realm=\"nwpath\"")) }
        return fields
    }

    /// The answer to whoever has not shown enough.
    var refusal: HTTPResponse {
        let both = "a user's password or the token"
        let way = users.isEmpty ? "the token" : tokenDigest == nil ? "a user's password" : both
        let problem = Problem(.unauthorized, status: 401, detail: "This address requires \(way).")
        return HTTPResponse(problem, fields: challenges + [HTTPField("Cache-Control", "no-store")])
    }
}
