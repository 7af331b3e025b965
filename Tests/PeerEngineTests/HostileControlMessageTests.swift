// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PeerEngine

private let session = "00112233445566778899aabbccddeeff"
private let peer = String(repeating: "a", count: 31) + "b"

/// JSON of one member, with some of it changed.
private func entry(
    key: String = "\"\(peer)\"",
    name: String = "\"Ann\"",
    session: String = "\"\(session)\"",
    port: String = "1",
    addresses: String = "[]"
) -> String {
    "{\"key\":\(key),\"name\":\(name),\"session\":\(session),\"port\":\(port),\"addresses\":\(addresses)}"
}

private func list(_ entries: [String]) -> String { "{\"members\":[\(entries.joined(separator: ","))]}" }

private func array(_ value: String, count: Int) -> String {
    "[" + Array(repeating: value, count: count).joined(separator: ",") + "]"
}

/// Values that are neither a name, nor a number that is wanted.
private let oddValues = [
    "null", "true", "{}", "[]", "[\"Ann\"]", "1.5", "-1", "65536", "1e300", "-1e300", "18446744073709551615",
    "-9223372036854775808", "99999999999999999999999999", "0.1e-400",
]

@Suite struct HostileControlMessageTests {
    private func expectRefusal(_ kind: Frame.Kind, _ payload: [UInt8]) {
        let text = String(decoding: payload.prefix(200), as: UTF8.self)
        #expect(throws: FrameError.misplaced(kind), "\(text)") {
            try ControlMessage(Frame(kind: kind, payload: payload))
        }
    }

    private func expectRefusal(_ kind: Frame.Kind, _ text: String) { expectRefusal(kind, Array(text.utf8)) }

    private func isTaken(_ kind: Frame.Kind, _ text: String) -> Bool {
        (try? ControlMessage(Frame(kind: kind, payload: Array(text.utf8)))) != nil
    }

    @Test(arguments: [Frame.Kind.hello, .invite, .accept, .decline, .join, .members, .bye, .open])
    func `no message is what is no object with all that belongs to it`(kind: Frame.Kind) {
        for text in [
            "", " ", "{", "{}", "[]", "null", "1", "\"session\"", "{\"a\":1}", "[{}]", "{}{}", "nul", "\u{FEFF}{}",
        ] {
            expectRefusal(kind, text)
        }
        for depth in [9, 100, 100_000] {
            expectRefusal(kind, String(repeating: "[", count: depth))
            expectRefusal(kind, String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
            expectRefusal(kind, String(repeating: "{\"a\":", count: depth) + "1" + String(repeating: "}", count: depth))
        }
    }

    @Test(arguments: [
        Frame.Kind.certificate, .proof, .ping, .pong, .end, .reset, .done, .context, .fragment, .chunk, .credit,
    ])
    func `kinds without JSON are no messages, whatever they have`(kind: Frame.Kind) {
        for text in ["", "{}", "{\"session\":\"\(session)\"}", #"{"version":1,"name":"Ann","port":1}"#] {
            expectRefusal(kind, text)
        }
    }

    @Test func `a message inside of too much is refused`() {
        let hello = #"{"version":1,"name":"Ann","port":1,"x":"#
        #expect(isTaken(.hello, hello + "[[[[[[[]]]]]]]}"))
        expectRefusal(.hello, hello + "[[[[[[[[]]]]]]]]}")
        expectRefusal(.hello, hello + "\"" + String(repeating: "x", count: 1 << 17) + "\"}")
    }

    @Test(
        arguments: [
            #"{"name":"Ann","port":1}"#, #"{"version":2,"name":"Ann","port":1}"#, #"{"version":1,"port":1}"#,
            #"{"version":"1","name":"Ann","port":1}"#, #"{"version":1.5,"name":"Ann","port":1}"#,
            #"{"version":0,"name":"Ann","port":1}"#, #"{"version":true,"name":"Ann","port":1}"#,
            #"{"version":1,"name":"Ann"}"#, #"{"version":1,"name":"Ann","port":"1"}"#,
            #"{"version":1,"version":1,"name":"Ann","port":1}"#, #"{"version":1,"name":"Ann","port":1}x"#,
            #"{"version":1,"name":"Ann","port":1"#, #"{"version":1,"name":"Ann","port":NaN}"#,
            #"{"version":1,"name":"Ann","port":01}"#, #"{'version':1,'name':'Ann','port':1}"#,
            #"{"version":1,"name":"\ud800","port":1}"#, #"{"version":1,"name":"\x41","port":1}"#,
            #"{"Version":1,"name":"Ann","port":1}"#,
        ]
    )
    func `no hello`(text: String) { expectRefusal(.hello, text) }

    @Test func `names have 1 to 63 bytes, without control characters`() {
        func hello(_ name: String) -> String { "{\"version\":1,\"name\":\"\(name)\",\"port\":1}" }
        #expect(isTaken(.hello, hello(String(repeating: "x", count: 63))))
        #expect(isTaken(.hello, hello(String(repeating: "€", count: 21))))
        for name in [
            "", String(repeating: "x", count: 64), String(repeating: "€", count: 21) + "x", #"\u0000"#, #"a\nb"#,
            #"\u007f"#, #"\u0085"#, "a\u{9F}", #"\t"#, "a\u{1}b", String(repeating: "x", count: 60_000),
        ] {
            expectRefusal(.hello, hello(name))
            expectRefusal(.members, list([entry(name: "\"\(name)\"")]))
        }
    }

    @Test(
        arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80]] as [[UInt8]]
    )
    func `no text that is not UTF-8`(bytes: [UInt8]) {
        let (head, tail) = (Array(#"{"version":1,"name":"A"#.utf8), Array(#"n","port":1}"#.utf8))
        expectRefusal(.hello, head + bytes + tail)
        expectRefusal(.bye, Array("{\"reason\":\"".utf8) + bytes + Array("\"}".utf8))
    }

    @Test func `values of other types, and numbers out of range, are refused`() {
        for value in oddValues {
            expectRefusal(.hello, "{\"version\":\(value),\"name\":\"Ann\",\"port\":1}")
            expectRefusal(.hello, "{\"version\":1,\"name\":\(value),\"port\":1}")
            expectRefusal(.accept, "{\"session\":\(value)}")
            expectRefusal(.join, "{\"session\":\"\(session)\",\"from\":\(value)}")
            expectRefusal(.join, "{\"session\":\(value),\"from\":\"\(session)\"}")
            expectRefusal(.decline, "{\"reason\":\(value)}")
            expectRefusal(.bye, "{\"reason\":\(value)}")
            expectRefusal(.invite, "{\"service_type\":\(value),\"session\":\"\(session)\",\"context_length\":0}")
            expectRefusal(.invite, "{\"service_type\":\"chat\",\"session\":\(value),\"context_length\":0}")
            expectRefusal(.open, "{\"stream\":\(value)}")
            expectRefusal(.open, "{\"resource\":\(value),\"size\":1}")
            expectRefusal(.members, list([value]))
            expectRefusal(.members, list([entry(key: value)]))
            expectRefusal(.members, list([entry(name: value)]))
            expectRefusal(.members, list([entry(session: value)]))
            if value != "[]" {
                expectRefusal(.members, "{\"members\":\(value)}")
                expectRefusal(.members, list([entry(addresses: value)]))
            }
            guard value != "0.1e-400" else { continue }
            expectRefusal(.hello, "{\"version\":1,\"name\":\"Ann\",\"port\":\(value)}")
            expectRefusal(.members, list([entry(port: value)]))
        }
    }

    @Test(arguments: ["-1", "65537", "1.5", "1e300", "9223372036854775807", "\"1\"", "null"])
    func `what comes with an invitation has 0 to 65536 bytes`(length: String) {
        let head = "{\"service_type\":\"chat\",\"session\":\"\(session)\",\"context_length\":"
        #expect(isTaken(.invite, head + "65536}") && isTaken(.invite, head + "0}"))
        expectRefusal(.invite, head + length + "}")
    }

    @Test(arguments: [
        "", "Chat", "a.b", "-a", "a-", "a--b", "123", "a234567890123456", "ä", "a b", #"\\097bc"#, #"a\\b"#,
    ])
    func `an invitation is for a type of a program`(type: String) {
        expectRefusal(.invite, "{\"service_type\":\"\(type)\",\"session\":\"\(session)\",\"context_length\":0}")
    }

    @Test(arguments: ["-1", "9223372036854775808", "18446744073709551615", "1.5", "1e300", "\"1\"", "null"])
    func `a resource has a size`(size: String) {
        expectRefusal(.open, "{\"resource\":\"a\",\"size\":\(size)}")
        expectRefusal(.open, "{\"resource\":\"a\"}")
    }

    @Test func `names of channels are not too long`() {
        let long = String(repeating: "x", count: ChannelPurpose.maximumName + 1)
        expectRefusal(.open, "{\"stream\":\"\(long)\"}")
        expectRefusal(.open, "{\"resource\":\"\(long)\",\"size\":1}")
    }

    @Test(
        arguments: [
            "", "0", String(repeating: "0", count: 31), String(repeating: "0", count: 33),
            String(repeating: "0", count: 34), String(repeating: "0", count: 31) + "g",
            String(repeating: "0", count: 30) + "0x", String(repeating: "é", count: 16),
            String(repeating: "0", count: 31) + " ", String(repeating: "０", count: 32),
            "-" + String(repeating: "0", count: 31), String(repeating: "0", count: 64),
        ]
    )
    func `a session has 32 digits`(text: String) {
        #expect(SessionID(text) == nil)
        expectRefusal(.accept, "{\"session\":\"\(text)\"}")
        expectRefusal(.join, "{\"session\":\"\(session)\",\"from\":\"\(text)\"}")
        expectRefusal(.members, list([entry(session: "\"\(text)\"")]))
    }

    @Test(
        arguments: [
            "", "a", String(repeating: "a", count: 31), String(repeating: "a", count: 33),
            String(repeating: "a", count: 31) + "1", String(repeating: "a", count: 31) + #"\u0012"#,
            String(repeating: "a", count: 31) + #"\u0000"#, String(repeating: "é", count: 16),
            String(repeating: "a", count: 24) + "========",
        ]
    )
    func `a key has 32 characters`(text: String) {
        expectRefusal(.members, list([entry(key: "\"\(text)\"")]))
    }

    @Test func `there are 16 members at most, each as it should be`() {
        #expect(isTaken(.members, list(Array(repeating: entry(), count: 16))))
        expectRefusal(.members, list(Array(repeating: entry(), count: 17)))
        expectRefusal(.members, list(Array(repeating: entry(), count: 15) + ["{}"]))
        expectRefusal(.members, list(Array(repeating: "{}", count: 20_000)))
        expectRefusal(.members, "{\"members\":{\"0\":\(entry())}}")
        for field in ["key", "name", "session", "port", "addresses"] {
            expectRefusal(.members, list([entry().replacing("\"\(field)\"", with: "\"other\"")]))
        }
    }

    @Test func `a member has 16 addresses at most, each as it should be`() {
        #expect(isTaken(.members, list([entry(addresses: array("\"192.0.2.1\"", count: 16))])))
        expectRefusal(.members, list([entry(addresses: array("\"192.0.2.1\"", count: 17))]))
        for text in ["", "1.2.3", "256.1.1.1", "::g", "fe80::1%1", "localhost", "1.2.3.4:80", "[::1]", " ::1"] {
            expectRefusal(.members, list([entry(addresses: "[\"192.0.2.1\",\"\(text)\"]")]))
        }
        expectRefusal(.members, list([entry(addresses: "[3221225985]")]))
        expectRefusal(.members, list([entry(addresses: "[[\"192.0.2.1\"]]")]))
    }
}
