// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusServer

/// `secret`, hashed at cost 4 by libcrypt.
let secretHash = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

private func basic(_ text: String) -> String { "Basic " + Base64.text(of: Array(text.utf8)) }

@Suite struct AccessRulesTests {
    private let both = AccessRules(users: ["ada": secretHash], token: "0123456789abcdef")
    private let users = AccessRules(users: ["ada": secretHash], token: nil)
    private let token = AccessRules(users: [:], token: "0123456789abcdef")
    private let local = HTTPPeer.unix(process: 1, user: 1000, group: 1000)

    @Test func `nobody is asked for anything unless the operator wants it`() {
        let open = AccessRules()
        #expect(open.isOpen && !both.isOpen && !users.isEmptyOrOpen && !token.isOpen)
        for field in [nil, "Bearer x", basic("a:b"), "nonsense", "Digest x=y"] {
            #expect(open.judge(field, from: .tcp) == .admitted(.anonymous))
        }
    }

    @Test func `a unix socket is guarded by its file alone, and the token counts there too`() {
        #expect(both.judge(nil, from: local) == .admitted(.anonymous))
        #expect(both.judge("Digest x=y", from: local) == .admitted(.anonymous))
        #expect(both.judge("Bearer 0123456789abcdef", from: local) == .admitted(.token))
        #expect(both.judge("Bearer wrong", from: local) == .refused)
    }

    @Test(arguments: [
        nil, "", "Bearer", "Bearer ", "Bearer 0123456789abcdeF", "Bearer 0123456789abcdef0", "Bearer 0123456789abcde",
        "bearer x, Bearer 0123456789abcdef", "Digest username=ada", "Basic", "Basic !!!!", "Basic YWRh",
        "0123456789abcdef",
        "Basic YWRhOnNlY3JldA", "Basic YWRh OnNlY3JldA==", "Token 0123456789abcdef",
    ])
    func `refuses what shows nothing`(field: String?) {
        #expect(both.judge(field, from: .tcp) == .refused)
    }

    @Test func `takes the token in any spelling of the scheme`() {
        for scheme in ["Bearer", "bearer", "BEARER", "Bearer  "] {
            #expect(both.judge("\(scheme) 0123456789abcdef", from: .tcp) == .admitted(.token))
            #expect(token.judge("\(scheme) 0123456789abcdef", from: .tcp) == .admitted(.token))
            #expect(users.judge("\(scheme) 0123456789abcdef", from: .tcp) == .refused)
        }
    }

    @Test func `lets passwords be checked, also those of users who do not exist`() throws {
        let known = both.judge(basic("ada:se:cret"), from: .tcp)
        #expect(known == .checked(user: "ada", password: Array("se:cret".utf8), hash: secretHash))
        guard case .checked("eve", _, let hash) = both.judge(basic("eve:secret"), from: .tcp) else {
            Issue.record("no check")
            return
        }
        // As slow as the others, and nothing fits.
        #expect(hash.hasPrefix("$2y$04$") && hash.utf8.count == 60)
        #expect(!Bcrypt.verify(Array("secret".utf8), hash: hash))
        #expect(token.judge(basic("ada:secret"), from: .tcp) == .refused)
        #expect(both.judge(basic("ada:" + String(repeating: "x", count: 513)), from: .tcp) == .refused)
        #expect(both.judge(basic("ada:a\0b"), from: .tcp) == .refused)
        #expect(both.judge("Basic /zpzZWNyZXQ=", from: .tcp) == .refused)
    }

    @Test func `the challenge names what is asked for`() {
        let basic = "Basic realm=\"nwpath\", charset=\"UTF-8\""
        #expect(both.challenges.map(\.value) == [basic, "Bearer realm=\"nwpath\""])
        #expect(users.challenges.count == 1 && token.challenges.count == 1)
        #expect(both.refusal.status == 401)
        #expect(both.refusal.text.contains("\"type\":\"/problems/unauthorized\""))
        #expect(both.refusal.text.contains("a user's password or the token"))
        #expect(users.refusal.text.contains("a user's password."))
        #expect(token.refusal.text.contains("requires the token."))
    }

    @Test func `a password fits its hash only`() {
        #expect(Bcrypt.verify(Array("secret".utf8), hash: secretHash))
        #expect(Bcrypt.verify(Array("secret".utf8), hash: "$2y$" + secretHash.dropFirst(4)))
        for wrong in ["", "Secret", "secret ", "secre"] { #expect(!Bcrypt.verify(Array(wrong.utf8), hash: secretHash)) }
        for broken in ["", "x", "$2b$04$short", "*0", "$9$nothing"] {
            #expect(!Bcrypt.verify(Array("secret".utf8), hash: broken))
        }
    }
}

extension AccessRules {
    fileprivate var isEmptyOrOpen: Bool { isOpen }
}

@Suite struct ChangeRightsTests {
    private let rights = ChangeRights(user: 990, group: 991)

    @Test(arguments: [
        (HTTPPeer.unix(process: 1, user: 0, group: 0), HTTPIdentity.anonymous, true),
        (.unix(process: 1, user: 990, group: 5), .anonymous, true),
        (.unix(process: 1, user: 5, group: 991), .anonymous, true),
        (.unix(process: 1, user: 5, group: 5, groups: [1, 991]), .anonymous, true),
        (.unix(process: 1, user: 5, group: 5, groups: [1, 2]), .anonymous, false),
        (.unix(process: 1, user: .max, group: .max), .anonymous, false),
        (.unix(process: 1, user: 5, group: 5), .token, true),
        (.tcp, .anonymous, false), (.tcp, .user("ada"), false), (.tcp, .token, true),
    ])
    func `are root's, the daemon's own, its group's, and those of the token`(
        peer: HTTPPeer,
        identity: HTTPIdentity,
        expected: Bool
    ) {
        #expect(rights.allow(peer, as: identity) == expected)
    }
}

@Suite struct OriginPolicyTests {
    private let policy = OriginPolicy(hosts: HostPolicy(names: ["nas.example.test"]))

    @Test(
        arguments: [
            (nil, "localhost:8353", true), ("http://localhost:8353", "localhost:8353", true),
            ("https://localhost:8353", "LOCALHOST:8353", true), ("http://[::1]:8353", "[::1]:8353", true),
            ("http://nas.example.test", "nas.example.test", true), ("https://nas.example.test", "127.0.0.1:8353", true),
            ("https://nas.example.test:8443", "localhost", true), ("http://localhost:80", "localhost:8353", false),
            ("http://localhost", "localhost:8353", false), ("http://evil.example", "localhost:8353", false),
            ("http://evil.example", "evil.example", false),
            ("http://nas.example.test.evil.example", "localhost", false),
            ("null", "localhost:8353", false), ("", "localhost:8353", false), ("file://", "localhost:8353", false),
            ("http://127.0.0.1:9", "localhost:8353", false), ("http://localhost:8353", nil, false),
            ("http://nas.example.test:80", "nas.example.test", true), ("HTTP://LocalHost:8353", "localhost:8353", true),
            ("https://nas.example.test", "nas.example.test:443", true), ("http://[::1]", "[::1]", true),
            ("http://", "", false), ("ftp://localhost", "localhost", false),
            ("http://localhost, http://evil.example", "localhost", false), ("localhost:8353", "localhost:8353", false),
            ("http://localhost:8353/x", "localhost:8353", false), ("http://nas.example.test@evil.example", "a", false),
        ] as [(String?, String?, Bool)]
    )
    func `only our own page may act`(origin: String?, host: String?, expected: Bool) {
        #expect(policy.allows(origin, at: host) == expected)
    }
}
