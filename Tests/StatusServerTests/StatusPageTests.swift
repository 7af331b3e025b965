// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import LinuxIO
import TestSupport
import Testing

@testable import StatusServer

extension StatusPage {
    fileprivate var text: String { String(decoding: snapshot.content.bytes, as: UTF8.self) }

    /// What stands between the only two tags of an element.
    fileprivate func content(of element: String) throws -> Substring {
        let parts = text.split(separator: "<\(element)>", omittingEmptySubsequences: false)
        try #require(parts.count == 2)
        let rest = parts[1].split(separator: "</\(element)>", omittingEmptySubsequences: false)
        try #require(rest.count == 2)
        return rest[0]
    }
}

@Suite(.inNamespace) struct StatusPageTests {
    private let page = StatusPage()

    private func openssl(_ text: Substring) throws -> String {
        let digest = "openssl dgst -sha256 -binary | base64 -w0"
        return try Command.run(["sh", "-c", digest], input: String(text))
    }

    @Test func `the page comes with its tag and a policy that allows its own parts only`() async throws {
        let fixture = try ServerFixture()
        let response = try await fixture.get("/", overTCP: true)
        #expect(response.status == 200 && response.body == page.text)
        #expect(response.fields["content-type"] == "text/html; charset=utf-8")
        let script = try openssl(page.content(of: "script"))
        let style = try openssl(page.content(of: "style"))
        #expect(
            response.fields["content-security-policy"]
                == "default-src 'none'; script-src 'sha256-\(script)'; style-src 'sha256-\(style)'; "
                + "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        #expect(response.fields["x-content-type-options"] == "nosniff")
        #expect(response.fields["referrer-policy"] == "no-referrer")
        #expect(response.fields["cache-control"] == "no-cache")
        let tag = try #require(response.fields["etag"])
        let same = try await fixture.get("/?from=mail", fields: "If-None-Match: \(tag)\r\n")
        #expect(same.status == 304 && same.body.isEmpty && same.fields["etag"] == tag)
        #expect(fixture.metrics.contains(#"nwpath_http_requests_total{handler="/",method="GET",code="200"} 1"#))
    }

    @Test func `only reading it is allowed`() throws {
        let fixture = APIFixture()
        #expect(try fixture.get("/", method: "HEAD").status == 200)
        let refused = try fixture.get("/", method: "POST")
        #expect(refused.status == 405 && refused.field("Allow") == "GET, HEAD, OPTIONS")
        #expect(try fixture.get("/page.js").status == 404)
    }

    @Test func `the tag stays while no byte is another`() {
        #expect(StatusPage().snapshot.tag == page.snapshot.tag)
    }

    @Test func `it names no other place, has no inline handler and writes no markup`() throws {
        for word in ["page.css", "page.js", " style=", " onclick=", " onload=", "@import", "url("] {
            #expect(!page.text.contains(word), "\(word)")
        }
        let script = try page.content(of: "script")
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("] {
            #expect(!script.contains(word), "\(word)")
        }
        // To this page's own places, to services under a scheme of ours, and to a portal's web address: nowhere else.
        #expect(script.split(separator: "href", omittingEmptySubsequences: false).count == 5)
        let addresses = page.text.split(separator: "\"").filter { $0.hasPrefix("http:") || $0.hasPrefix("//") }
        #expect(addresses.isEmpty)
        // Relative, so that the page works below a prefix.
        for quote in ["\"", "'", "`"] { #expect(!script.contains("ask(\(quote)/")) }
        #expect(!page.text.contains("href=\"/") && !page.text.contains("src="))
        #expect(page.snapshot.content.count < 70_000)
    }

    @Test func `the script listens for every event there is`() throws {
        let list = try #require(
            page.content(of: "script").split(separator: "const names='").last?.split(separator: "'").first
        )
        #expect(list.split(separator: " ").map(String.init) == EventName.allCases.map(\.rawValue))
    }
}

@Suite struct SHA256Tests {
    @Test(arguments: [
        ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        ("a", 1_000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
        ("a", 100_000, "6d1cf22d7cc09b085dfc25ee1a1f3ae0265804c607bc2074ad253bcc82fd81ee"),
    ])
    func `digests are those of FIPS 180-4`(text: String, count: Int, digest: String) {
        let message = Array(String(repeating: text, count: count).utf8)
        #expect(SHA256.digest(of: message).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == digest)
    }

    @Test func `every length of padding gives what sha256sum gives`() throws {
        for count in 50..<70 {
            let text = String(repeating: "x", count: count)
            let expected = try Command.run(["sha256sum"], input: text).prefix(64)
            let digest = SHA256.digest(of: Array(text.utf8))
            #expect(digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == expected, "\(count)")
        }
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"), ("\u{FF}\u{BE}?>", "w7/Cvj8+"),
    ])
    func `base 64 is that of RFC 4648`(text: String, expected: String) {
        #expect(Base64.text(of: Array(text.utf8)) == expected)
    }
}
