// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Configuration

private let hash = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

@Suite struct ProtectionTests {
    @Test func `reads TLS, users and a token`() throws {
        let configuration = try read(
            """
            listen: ["0.0.0.0:8353"]
            tls_server_config:
              cert_file: /c.pem
              key_file: /k.pem
              client_ca_file: /a.pem
              min_version: TLS13
            basic_auth_users:
              ada: \(hash)
              "bob b": "$2y$\(hash.dropFirst(4))"
            token_file: /t
            """
        )
        #expect(configuration.isProtected)
        #expect(configuration.tls.certificateFile == "/c.pem" && configuration.tls.keyFile == "/k.pem")
        #expect(configuration.tls.minimumVersion == .tls13)
        #expect(configuration.tls.effectiveClientAuthentication == .requireAndVerify)
        #expect(configuration.users.map(\.name) == ["ada", "bob b"] && configuration.tokenFile == "/t")
        // What is shown to others holds no secret, and what is written reads back.
        #expect(!configuration.redacted.yaml.contains("$2") && configuration.redacted.yaml.contains("<redacted>"))
        #expect(try read(configuration.yaml) == configuration)
    }

    @Test(arguments: [
        "tls_server_config: {cert_file: /c, key_file: /k}", "token_file: /t", "basic_auth_users: {ada: \(hash)}",
        "insecure: true",
    ])
    func `each guard alone lets others connect`(line: String) throws {
        #expect(try read("listen: [\"192.0.2.1:8353\"]\n\(line)\n").listen.count == 1)
    }

    @Test func `without a guard an address that others can reach is refused with its place`() {
        let found = problems("listen:\n  - 127.0.0.1:1\n  - 0.0.0.0:8353\n")
        #expect(found.count == 1)
        #expect(
            found.first
                == "nwpath.yaml:3:5: listen[1] 0.0.0.0:8353 is reachable from other hosts: set tls_server_config, "
                + "basic_auth_users or token_file, use a loopback address, or set insecure: true"
        )
    }

    @Test(arguments: [
        ("tls_server_config: {cert_file: /c}", "1:20: tls_server_config needs both cert_file and key_file"),
        ("tls_server_config: {key_file: /c}", "1:20: tls_server_config needs both cert_file and key_file"),
        ("tls_server_config: {client_ca_file: /c}", "1:20: tls_server_config needs cert_file and key_file"),
        (
            "tls_server_config:\n  cert_file: /c\n  key_file: /k\n  client_auth_type: VerifyClientCertIfGiven",
            "4:21: tls_server_config.client_auth_type needs client_ca_file to verify certificates with"
        ),
        (
            "tls_server_config:\n  cert_file: /c\n  key_file: /k\n  client_ca_file: /a\n"
                + "  client_auth_type: NoClientCert",
            "4:19: tls_server_config.client_ca_file needs a client_auth_type that verifies: "
                + "VerifyClientCertIfGiven or RequireAndVerifyClientCert"
        ),
        (
            "tls_server_config: {min_version: TLS10}",
            "1:34: tls_server_config.min_version is 'TLS10', expected one of TLS12, TLS13 (did you mean 'TLS12'?)"
        ),
        (
            "basic_auth_users: [ada]",
            "1:19: basic_auth_users is a list, expected a map of names and bcrypt hashes, "
                + "as htpasswd -nB writes them"
        ),
    ])
    func `contradictions are told at their place`(text: String, problem: String) {
        #expect(problems(text) == ["nwpath.yaml:" + problem])
    }

    @Test(arguments: [
        "hunter2", "$2x$04$" + hash.dropFirst(7), "$2b$15$" + hash.dropFirst(7), "$2b$04$short", "[a]", "{b: c}", "",
    ])
    func `what is no hash may be a password, and is not repeated`(value: String) {
        let found = problems("basic_auth_users:\n  ada: \(value)\n")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("nwpath.yaml:2:") == true)
        #expect(found.first?.contains("basic_auth_users.ada is not a bcrypt hash") == true)
        #expect(value.isEmpty || found.first?.contains(value) == false)
    }

    @Test func `names have no colon, and there is a bound`() {
        #expect(problems("basic_auth_users: {\"a:b\": \(hash)}").first?.contains("is not a valid name") == true)
        let many = (0..<65).map { "  u\($0): \(hash)\n" }.joined()
        #expect(problems("basic_auth_users:\n\(many)").first?.contains("has more than 64 entries") == true)
    }

    @Test func `files that a configuration names are looked at when all else is right`() throws {
        let scratch = try Scratch()
        try scratch.write("log:\n  level: debug\ntoken_file: /t\n", to: "nwpath.yaml")
        let files = ConfigurationFiles(file: scratch.path + "/nwpath.yaml")
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(files, paths: rootPaths, environment: [:]) { configuration in
                [.init(key: "token_file", "\(configuration.tokenFile ?? "") cannot be read")]
            }
        }
        #expect(error?.description.hasSuffix("nwpath.yaml:3:13: token_file /t cannot be read") == true)
        var asked = 0
        try scratch.write("log: []\ntoken_file: /t\n", to: "nwpath.yaml")
        _ = try? Configuration.load(files, paths: rootPaths, environment: [:]) { _ in
            asked += 1
            return []
        }
        #expect(asked == 0)
    }

    @Test func `the defaults protect nothing and ask for nothing`() throws {
        let configuration = try read("")
        #expect(!configuration.isProtected && configuration.users.isEmpty && configuration.tokenFile == nil)
        #expect(configuration.tls == TLSServerSettings())
        #expect(configuration.tls.effectiveClientAuthentication == .none)
        #expect(configuration.tls.minimumVersion == .tls12)
        #expect(configuration.redacted == configuration)
    }

    @Test(arguments: [
        ("NoClientCert", false), ("RequestClientCert", false), ("RequireAnyClientCert", false),
        ("VerifyClientCertIfGiven", true), ("RequireAndVerifyClientCert", true),
    ])
    func `the words of exporter-toolkit are known`(word: String, needsAuthorities: Bool) {
        var text = "tls_server_config:\n  cert_file: /c\n  key_file: /k\n  client_auth_type: \(word)\n"
        #expect(problems(text).isEmpty == !needsAuthorities)
        text += "  client_ca_file: /a\n"
        #expect(problems(text).isEmpty == needsAuthorities)
    }

    @Test func `all of it takes effect without a restart`() throws {
        let old = try read("")
        let new = try read(
            """
            tls_server_config: {cert_file: /c, key_file: /k}
            basic_auth_users: {ada: \(hash)}
            token_file: /t
            """
        )
        let difference = new.difference(from: old)
        #expect(
            difference.changed == [
                "tls_server_config.cert_file", "tls_server_config.key_file", "basic_auth_users", "token_file",
            ]
        )
        #expect(difference.restartNeeded.isEmpty)
    }

    @Test func `a wrong guard is told once, not also that there is none`() {
        let found = problems("listen: [\"0.0.0.0:1\"]\ntoken_file: relative\n")
        #expect(found.count == 1)
        #expect(found.first?.contains("token_file is 'relative', expected an absolute path") == true)
    }

    @Test(
        arguments: [
            ("$2y$10$", 7, "", true), ("$2a$04$", 7, "", true), ("$2b$14$", 7, "", true), ("$2b$15$", 7, "", false),
            ("$2b$4$", 7, "x", false), ("$2b$04$", 8, "!", false), ("$2b$00$", 7, "", false), ("$1$", 3, "", false),
            ("$2b$04$", 7, "x", false), ("", 60, "", false),
        ] as [(String, Int, String, Bool)]
    )
    func `hashes are told from other texts`(head: String, dropped: Int, tail: String, isHash: Bool) {
        #expect(BcryptHash.isOne(head + hash.dropFirst(dropped) + tail) == isHash)
    }

    @Test func `a later file replaces users as a whole, and single keys of TLS`() throws {
        let first = Configuration.Source(
            name: "a.yaml",
            bytes: Array("tls_server_config: {cert_file: /c, key_file: /k}\nbasic_auth_users: {ada: \(hash)}\n".utf8)
        )
        let second = Configuration.Source(
            name: "b.yaml",
            bytes: Array("tls_server_config: {cert_file: /d}\nbasic_auth_users: {bob: \(hash)}\n".utf8)
        )
        let configuration = try Configuration.read([first, second], paths: rootPaths)
        #expect(configuration.tls.certificateFile == "/d" && configuration.tls.keyFile == "/k")
        #expect(configuration.users.map(\.name) == ["bob"])
    }
}
