// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import FoundationWebSocket
import Network
import Testing

@Suite struct CloseCodeTests {
    private typealias Code = URLSessionWebSocketTask.CloseCode

    @Test func `codes have Apple's numbers, and any number is one`() {
        let codes: [Code] = [
            .invalid, .normalClosure, .goingAway, .protocolError, .unsupportedData, .noStatusReceived, .abnormalClosure,
            .invalidFramePayloadData, .policyViolation, .messageTooBig, .mandatoryExtensionMissing,
            .internalServerError, .tlsHandshakeFailure,
        ]
        let numbers = [0, 1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1010, 1011, 1015]
        #expect(codes.map(\.rawValue) == numbers)
        #expect(numbers.map { Code(rawValue: $0) } == codes)
        #expect(Code(rawValue: 4321)?.rawValue == 4321 && Code(rawValue: 4321) != .invalid)
    }

    @Test func `a code is what came`() {
        #expect(Code(NWProtocolWebSocket.CloseCode.protocolCode(.goingAway)) == .goingAway)
        #expect(Code(NWProtocolWebSocket.CloseCode.applicationCode(3001)).rawValue == 3001)
        #expect(Code(NWProtocolWebSocket.CloseCode.privateCode(4001)).rawValue == 4001)
    }

    @Test(
        arguments: [
            (1000, .protocolCode(.normalClosure)), (1011, .protocolCode(.internalServerError)),
            (1013, .applicationCode(1013)), (3000, .applicationCode(3000)), (4999, .privateCode(4999)),
            (0, .protocolCode(.noStatusReceived)), (1004, .protocolCode(.noStatusReceived)),
            (1006, .protocolCode(.noStatusReceived)), (5000, .protocolCode(.noStatusReceived)),
            (-1, .protocolCode(.noStatusReceived)), (70_000, .protocolCode(.noStatusReceived)),
        ] as [(Int, NWProtocolWebSocket.CloseCode)]
    )
    func `what must not be sent is sent as none`(number: Int, expected: NWProtocolWebSocket.CloseCode) {
        #expect(Code(number).sendable == expected)
    }

    @Test func `a reason is text that fits`() {
        #expect(Code.goingAway.sendableReason(Data("bye".utf8)) == Data("bye".utf8))
        #expect(Code.goingAway.sendableReason(nil) == nil && Code.invalid.sendableReason(Data("x".utf8)) == nil)
        let long = Data(String(repeating: "ä", count: 100).utf8)
        #expect(Code.goingAway.sendableReason(long)?.count == 122)
        let broken = Code.goingAway.sendableReason(Data([0x61, 0xFF]))
        #expect(broken == Data("a\u{FFFD}".utf8))
    }
}

@Suite struct TaskFailureTests {
    @Test(
        arguments: [
            (.posix(.ECONNREFUSED), "url -1004"), (.posix(.ETIMEDOUT), "url -1001"),
            (.posix(.ENETUNREACH), "url -1009"),
            (.posix(.EPROTO), "url -1011"), (.posix(.ECONNRESET), "url -1005"), (.posix(.EINVAL), "url -1000"),
            (.posix(.ECANCELED), "url -999"), (.dns(kDNSServiceErr_NoSuchRecord), "url -1003"),
            (.dns(kDNSServiceErr_Timeout), "url -1001"), (.tls(errSSLCertExpired), "url -1201"),
            (.tls(errSSLUnknownRootCert), "url -1202"), (.tls(errSSLNoRootCert), "url -1203"),
            (.tls(errSSLCertNotYetValid), "url -1204"), (.tls(errSSLProtocol), "url -1200"),
        ] as [(NWError, String)]
    )
    func `what keeps a task from opening has a code of Foundation`(error: NWError, expected: String) {
        #expect(words(TaskFailure.error(error, isOpen: false)) == expected)
    }

    @Test(
        arguments: [
            (.posix(.ECONNABORTED), "url -1005"), (.posix(.ECONNRESET), "url -1005"), (.posix(.ECANCELED), "url -999"),
            (.posix(.EMSGSIZE), "posix 90"), (.posix(.EILSEQ), "posix 84"), (.posix(.ENOTCONN), "posix 107"),
        ] as [(NWError, String)]
    )
    func `what breaks a task is told`(error: NWError, expected: String) {
        #expect(words(TaskFailure.error(error, isOpen: true)) == expected)
    }

    @Test func `a peer that breaks the protocol is closed with a code`() {
        #expect(TaskFailure.closeCode(.posix(.EMSGSIZE)) == .messageTooBig)
        #expect(TaskFailure.closeCode(.posix(.EILSEQ)) == .invalidFramePayloadData)
        #expect(TaskFailure.closeCode(.posix(.EPROTO)) == .protocolError)
        #expect(TaskFailure.closeCode(.posix(.ECONNRESET)) == nil && TaskFailure.closeCode(.dns(0)) == nil)
        #expect(words(TaskFailure.closed) == "posix 107")
    }
}

@Suite struct HandshakeFieldsTests {
    private func request(_ url: String = "ws://example.net/chat") throws -> URLRequest {
        URLRequest(url: try #require(URL(string: url)))
    }

    private func words(_ fields: [(name: String, value: String)]) -> [String] {
        fields.map { "\($0.name): \($0.value)" }
    }

    @Test func `cookies are those of the page`() throws {
        let pages = ["ws://a/b": "http://a/b", "WSS://a:1/?q": "https://a:1/?q"]
        for (url, page) in pages {
            #expect(HandshakeFields.page(try #require(URL(string: url)))?.absoluteString == page)
        }
    }

    @Test func `fields of the request come before those of the configuration`() throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Authorization": "general", "X-More": "1"]
        var request = try request()
        request.setValue("own", forHTTPHeaderField: "authorization")
        let fields = HandshakeFields.fields(request, configuration)
        #expect(fields.count == 2 && words(fields).contains("X-More: 1"))
        #expect(fields.first { $0.name.lowercased() == "authorization" }?.value == "own")
    }

    @Test func `cookies are sent and kept, unless that is not wanted`() throws {
        let configuration = URLSessionConfiguration.ephemeral
        let storage = try #require(configuration.httpCookieStorage)
        let request = try request()
        let answer = HandshakeFields.answer(
            101,
            [(name: "Set-Cookie", value: "room=1; Path=/"), (name: "X", value: "a"), (name: "X", value: "b")],
            request,
            configuration
        )
        #expect(answer?.statusCode == 101 && answer?.value(forHTTPHeaderField: "X") == "a, b")
        let page = try #require(URL(string: "http://example.net/chat"))
        #expect(storage.cookies(for: page)?.map(\.name) == ["room"])
        #expect(words(HandshakeFields.fields(request, configuration)) == ["Cookie: room=1"])
        var plain = request
        plain.httpShouldHandleCookies = false
        #expect(HandshakeFields.fields(plain, configuration).isEmpty)
        _ = HandshakeFields.answer(101, [(name: "Set-Cookie", value: "other=1")], plain, configuration)
        #expect(storage.cookies(for: page)?.count == 1)
        plain.httpShouldHandleCookies = true
        plain.setValue("mine=2", forHTTPHeaderField: "Cookie")
        #expect(words(HandshakeFields.fields(plain, configuration)) == ["Cookie: mine=2"])
        for cookie in storage.cookies ?? [] { storage.deleteCookie(cookie) }
    }
}
