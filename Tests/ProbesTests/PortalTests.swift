// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Probes

@Suite(.computing) struct PortalNoticeTests {
    private static func read(_ text: String) -> PortalNotice { PortalNotice(Array(text.utf8)) }

    @Test(arguments: ["https://portal.example.test/api", "https://192.0.2.1:8443/v1?x=1", "https://[2001:db8::1]/"])
    func `the address of an interface is read, filled up with zeros or not`(text: String) throws {
        let page = try #require(PageAddress(text))
        #expect(Self.read(text) == .interface(page))
        #expect(Self.read(text + "\0\0\0\0\0") == .interface(page))
    }

    @Test func `a network can say that it has no portal`() {
        #expect(Self.read("urn:ietf:params:capport:unrestricted") == .unrestricted)
        #expect(Self.read("urn:ietf:params:capport:unrestricted\0") == .unrestricted)
    }

    @Test(arguments: [
        "", "\0", "http://portal.example.test/", "https://", "https://a b/", "ftp://portal.example.test/",
        "https://user@portal.example.test/", "https://portal.example.test/\0x", "https://portal.example.test/\u{1B}[2J",
        "https://portal.example.test/ü", "urn:other",
    ])
    func `what is no address of an encrypted page is of no use`(text: String) {
        #expect(Self.read(text) == .unusable)
    }

    @Test func `any bytes are read without harm`() {
        for _ in 0..<20_000 {
            _ = PortalNotice((0..<Int.random(in: 0...255)).map { _ in .random(in: 0...255) })
        }
    }
}

@Suite struct PortalStatusTests {
    private static func answer(
        _ text: String,
        status: Int = 200,
        type: String? = PortalStatus.mediaType
    ) -> PageAnswer {
        var answer = PageAnswer(status: status)
        answer.mediaType = type
        answer.body = Array(text.utf8)
        return answer
    }

    private static func read(_ text: String) -> PortalStatus? { PortalStatus(answer(text)) }

    @Test func `the example of the standard is read`() {
        let text = """
            {"captive": true, "user-portal-url": "https://example.org/portal.html",
             "venue-info-url": "https://flight.example.com/entertainment", "seconds-remaining": 326,
             "can-extend-session": true, "something-new": [{"a": null}]}
            """
        let page = PageAddress("https://example.org/portal.html")
        #expect(Self.read(text) == PortalStatus(isCaptive: true, portal: page))
        #expect(Self.read(#"{"captive":false}"#) == PortalStatus(isCaptive: false))
    }

    @Test(arguments: [#""javascript:alert(1)""#, #""https://a b""#, "7", "null", #""\u001b[2J""#, "{}"])
    func `a page that is none is left out`(page: String) {
        #expect(Self.read(#"{"captive":true,"user-portal-url":\#(page)}"#) == PortalStatus(isCaptive: true))
    }

    @Test(arguments: [
        "", "{", "{}", "[]", "true", #"{"captive":"yes"}"#, #"{"captive":1}"#, #"{"captive":null}"#,
        #"{"captive":true,"captive":false}"#, #"{"captive":true} x"#, #"{"CAPTIVE":true}"#, "{\"captive\":true\0}",
    ])
    func `what does not say whether a login is required says nothing`(text: String) {
        #expect(Self.read(text) == nil)
    }

    @Test func `deep, long and cut answers say nothing`() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(Self.read(deep) == nil && Self.read(#"{"captive":true,"x":"# + deep) == nil)
        let long = #"{"captive":true,"x":""# + String(repeating: "x", count: PortalStatus.longest) + #""}"#
        #expect(Self.read(long) == nil)
        let whole = #"{"captive":true,"user-portal-url":"https://example.org/"}"#
        for count in 0..<whole.count { #expect(Self.read(String(whole.prefix(count))) == nil) }
    }

    @Test func `only the right type and status count, and a whole body`() {
        let text = #"{"captive":true}"#
        #expect(PortalStatus(Self.answer(text, status: 302)) == nil)
        #expect(PortalStatus(Self.answer(text, type: "text/html")) == nil)
        #expect(PortalStatus(Self.answer(text, type: nil)) == nil)
        var cut = Self.answer(text)
        cut.body = nil
        #expect(PortalStatus(cut) == nil)
    }

    @Test func `any bytes are read without harm`() {
        let whole = Array(#"{"captive":true,"user-portal-url":"https://example.org/","seconds-remaining":3.5e2}"#.utf8)
        for _ in 0..<20_000 {
            var answer = Self.answer("")
            var bytes = whole
            for _ in 0..<Int.random(in: 1...6) { bytes[.random(in: bytes.indices)] = .random(in: 0...255) }
            answer.body = Array(bytes.prefix(.random(in: 0...bytes.count)))
            _ = PortalStatus(answer)
        }
    }
}
