// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WebSocketWire

/// A server, and frames as a client makes them.
private func options(message: Int = 1 << 20, output: Int = 1 << 20, answersPings: Bool = true) -> WebSocketOptions {
    var options = WebSocketOptions()
    options.longestMessage = message
    options.mostOutput = output
    options.answersPings = answersPings
    return options
}

/// A frame built by hand from RFC 6455 section 5.2, masked with a fixed key unless it is a server's.
private func frame(
    _ opcode: UInt8,
    _ payload: [UInt8],
    isFinal: Bool = true,
    reserved: UInt8 = 0,
    isMasked: Bool = true
) -> [UInt8] {
    var bytes = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
    let bit: UInt8 = isMasked ? 0x80 : 0
    switch payload.count {
    case 0..<126: bytes.append(bit | UInt8(payload.count))
    case 126..<65_536: bytes += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    default:
        bytes.append(bit | 127)
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(payload.count >> shift & 0xFF)) }
    }
    guard isMasked else { return bytes + payload }
    let key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
    let masked = payload.enumerated().map { (index: Int, byte: UInt8) -> UInt8 in byte ^ key[index % 4] }
    return bytes + key + masked
}

private func text(_ text: String) -> WebSocketEvent { .message(.text(text)) }

@Suite struct WebSocketReceivingTests {
    /// The examples of section 5.7.
    @Test func `reads the examples of the standard`() {
        var client = WebSocketConnection(role: .client)
        #expect(client.receive([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]) == [text("Hello")])
        #expect(client.receive([0x01, 0x03, 0x48, 0x65, 0x6C]) == [])
        #expect(client.receive([0x80, 0x02, 0x6C, 0x6F]) == [text("Hello")])
        #expect(client.receive([0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]) == [.ping(Array("Hello".utf8))])
        var server = WebSocketConnection(role: .server)
        let masked: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(server.receive(masked) == [text("Hello")])
        let pong: [UInt8] = [0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(server.receive(pong) == [.pong(Array("Hello".utf8))])
        #expect(server.outputCount == 0)
    }

    @Test(arguments: [0, 1, 125, 126, 127, 128, 4095, 4096, 4097, 65_535, 65_536, 200_000])
    func `a message of any length comes whole, however its bytes trickle`(count: Int) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let bytes = frame(2, payload) + frame(1, Array("end".utf8))
        for step in [1, 3, 4096, bytes.count] where count < 5000 || step > 1000 {
            var server = WebSocketConnection(role: .server)
            var events: [WebSocketEvent] = []
            for start in stride(from: 0, to: bytes.count, by: step) {
                events += server.receive(Array(bytes[start..<min(start + step, bytes.count)]))
            }
            #expect(events == [.message(.binary(payload)), text("end")], "\(count) in steps of \(step)")
        }
    }

    @Test func `control frames may come between the parts of a message`() {
        var server = WebSocketConnection(role: .server)
        let bytes =
            frame(1, Array("gr".utf8), isFinal: false) + frame(9, [1]) + frame(0, [0xC3], isFinal: false)
            + frame(10, [2]) + frame(0, [], isFinal: false) + frame(0, [0xBC] + Array("n".utf8))
        #expect(server.receive(bytes) == [.ping([1]), .pong([2]), text("grün")])
        #expect(server.drainOutput() == frame(10, [1], isMasked: false))
    }

    @Test(
        arguments: [
            (frame(1, [], reserved: 1), .reservedBits), (frame(2, [1], reserved: 4), .reservedBits),
            (frame(9, [], reserved: 2), .reservedBits), (frame(3, []), .unknownOpcode(3)),
            (frame(7, [1]), .unknownOpcode(7)), (frame(11, []), .unknownOpcode(11)),
            (frame(15, [1]), .unknownOpcode(15)), (frame(1, [65], isMasked: false), .wrongMasking),
            (frame(9, [], isMasked: false), .wrongMasking), (frame(0, [1]), .strayContinuation),
            (frame(0, [], isFinal: false), .strayContinuation),
            (frame(1, [], isFinal: false) + frame(2, [1]), .interleavedMessage),
            (frame(9, [1], isFinal: false), .malformedFrame),
            (frame(10, [UInt8](repeating: 0, count: 126)), .malformedFrame),
            (frame(8, [UInt8](repeating: 0, count: 126)), .malformedFrame),
            ([0x82, 0xFE, 0, 125, 0, 0, 0, 0], .malformedFrame),
            ([0x82, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0], .malformedFrame),
            ([0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], .malformedFrame),
            (frame(1, [0xFF]), .invalidText), (frame(1, [0xC3]), .invalidText),
            (frame(1, [0xC3], isFinal: false) + frame(0, [0x41]), .invalidText),
            (frame(1, [0xED, 0xA0, 0x80]), .invalidText), (frame(8, [3]), .malformedClose),
            (frame(8, [3, 0xED]), .malformedClose), (frame(8, [0, 0]), .malformedClose),
            (frame(8, [0x03, 0xF7]), .malformedClose), (frame(8, [0x13, 0x88]), .malformedClose),
            (frame(8, [0x0B, 0xB7]), .malformedClose), (frame(8, [3, 0xE8, 0xFF]), .invalidText),
        ] as [([UInt8], WebSocketFailure)]
    )
    func `a peer that breaks the protocol is told, once, and not read any more`(
        bytes: [UInt8],
        failure: WebSocketFailure
    ) {
        var server = WebSocketConnection(role: .server, options: options(message: 70_000))
        let good = frame(1, Array("good".utf8))
        #expect(server.receive(good + bytes + good) == [text("good"), .failed(failure)])
        #expect(server.failure == failure && server.isOver && !server.isReading)
        let code = failure.closeCode.rawValue
        #expect(server.drainOutput() == frame(8, [UInt8(code >> 8), UInt8(code & 0xFF)], isMasked: false))
        #expect(server.receive(good) == [])
        #expect(throws: WebSocketSendError.closed) { try server.send(.text("late")) }
    }

    @Test func `text that can no longer be text fails before its frame is complete`() {
        var server = WebSocketConnection(role: .server)
        let bytes = frame(1, [0x41, 0xF4, 0x90] + [UInt8](repeating: 0x80, count: 60_000))
        #expect(server.receive(Array(bytes[..<11])) == [.failed(.invalidText)])
    }

    @Test func `a message that will be too long fails when it is announced`() {
        let limit = WebSocketFailure.messageTooLong(limit: 10)
        var whole = WebSocketConnection(role: .server, options: options(message: 10))
        #expect(whole.receive(frame(2, [UInt8](repeating: 1, count: 10))).count == 1)
        let head: [UInt8] = [0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4]
        #expect(whole.receive(head + [0]) == [.failed(limit)])
        #expect(limit.closeCode == .messageTooLong)
        var parts = WebSocketConnection(role: .server, options: options(message: 10))
        #expect(parts.receive(frame(1, [UInt8](repeating: 65, count: 6), isFinal: false)) == [])
        #expect(parts.receive(frame(9, [UInt8](repeating: 1, count: 100))).count == 1)
        #expect(parts.receive(frame(0, [UInt8](repeating: 65, count: 5))) == [.failed(limit)])
    }

    @Test func `a server's frames must not be masked`() {
        var client = WebSocketConnection(role: .client)
        #expect(client.receive(frame(1, [65])) == [.failed(.wrongMasking)])
    }
}

@Suite struct WebSocketSendingTests {
    @Test(arguments: [0, 1, 125, 126, 65_535, 65_536])
    func `frames have the shortest length, and a client's are masked`(count: Int) throws {
        let payload = [UInt8](repeating: 0x55, count: count)
        var server = WebSocketConnection(role: .server)
        try server.send(.binary(payload))
        #expect(server.drainOutput() == frame(2, payload, isMasked: false))
        var client = WebSocketConnection(role: .client, makeMask: { 0x37FA_213D })
        try client.send(.binary(payload))
        #expect(client.drainOutput() == frame(2, payload))
        #expect(client.outputCount == 0)
    }

    @Test func `each frame of a client has a key of its own`() throws {
        var client = WebSocketConnection(role: .client)
        var keys: Set<[UInt8]> = []
        for _ in 0..<8 {
            try client.send(.text("x"))
            keys.insert(Array(client.drainOutput()[2..<6]))
        }
        #expect(keys.count > 4)
    }

    @Test func `a message may be sent in parts, with control frames between them`() throws {
        var client = WebSocketConnection(role: .client)
        var server = WebSocketConnection(role: .server)
        try client.send(.text("one "), isFinal: false)
        try client.ping([7])
        #expect(throws: WebSocketSendError.mixedKinds) { try client.send(.binary([1])) }
        try client.send(.text("two "), isFinal: false)
        try client.send(.text("three"))
        try client.send(.binary([1]))
        let events = server.receive(client.drainOutput())
        #expect(events == [.ping([7]), text("one two three"), .message(.binary([1]))])
        #expect(client.receive(server.drainOutput()) == [.pong([7])])
    }

    @Test func `what waits to be sent is bounded, and one long message still goes`() throws {
        var server = WebSocketConnection(role: .server, options: options(output: 100))
        try server.send(.binary([UInt8](repeating: 1, count: 1000)))
        #expect(throws: WebSocketSendError.full) { try server.send(.binary([1])) }
        #expect(throws: WebSocketSendError.full) { try server.ping() }
        #expect(throws: WebSocketSendError.tooLong) { try server.ping([UInt8](repeating: 1, count: 126)) }
        for _ in 0..<10_000 { _ = server.receive(frame(9, [UInt8](repeating: 1, count: 125))) }
        _ = server.receive(frame(9, [9]))
        #expect(server.outputCount < 1100)
        _ = server.drainOutput()
        // Only the last ping of many must be answered.
        #expect(server.drainOutput() == frame(10, [9], isMasked: false))
        try server.send(.binary([1]))
    }

    @Test func `pings may be left to the program`() throws {
        var server = WebSocketConnection(role: .server, options: options(answersPings: false))
        #expect(server.receive(frame(9, [1, 2])) == [.ping([1, 2])])
        #expect(server.outputCount == 0)
        try server.pong([1, 2])
        #expect(server.drainOutput() == frame(10, [1, 2], isMasked: false))
    }

    @Test func `frames for many clients are what one server sends`() throws {
        var server = WebSocketConnection(role: .server)
        try server.send(.text("{\"seq\":1}"))
        #expect(WebSocketServerFrame.text(Array("{\"seq\":1}".utf8)) == server.drainOutput())
        try server.ping()
        #expect(WebSocketServerFrame.ping == server.drainOutput())
        server.close(WebSocketClose(.goingAway, reason: "stopping"))
        #expect(WebSocketServerFrame.close(WebSocketClose(.goingAway, reason: "stopping")) == server.drainOutput())
    }
}

@Suite struct WebSocketClosingTests {
    @Test(arguments: [frame(8, [3, 0xE8]), frame(3, [])])
    func `a message is answered before the end that came with it`(end: [UInt8]) throws {
        var server = WebSocketConnection(role: .server)
        server.feed(frame(1, [65]) + frame(9, [1]) + end)
        #expect(server.nextEvent() == text("A"))
        try server.send(.text("answer"))
        #expect(server.nextEvent() == .ping([1]))
        #expect(server.nextEvent() != nil && server.nextEvent() == nil)
        var client = WebSocketConnection(role: .client)
        let events = client.receive(server.drainOutput())
        #expect(events.count == 3 && events.prefix(2) == [text("answer"), .pong([1])])
    }

    @Test(arguments: [true, false])
    func `either end closes, the other answers with the same code, and both know`(clientFirst: Bool) throws {
        var client = WebSocketConnection(role: .client)
        var server = WebSocketConnection(role: .server)
        let close = WebSocketClose(.normal, reason: "done 😀")
        if clientFirst {
            client.close(close)
            #expect(server.receive(client.drainOutput()) == [.closed(close)])
            #expect(server.isOver == true)
            #expect(client.receive(server.drainOutput()) == [.closed(WebSocketClose(.normal))])
        } else {
            server.close(close)
            #expect(!server.isOver && server.isReading)
            #expect(client.receive(server.drainOutput()) == [.closed(close)])
            #expect(server.receive(client.drainOutput()) == [.closed(WebSocketClose(.normal))])
        }
        #expect(client.isOver && server.isOver && client.failure == nil && server.failure == nil)
        #expect(client.drainOutput().isEmpty && server.drainOutput().isEmpty)
    }

    @Test func `messages still come until the peer has closed, and pings are no longer answered`() throws {
        var server = WebSocketConnection(role: .server)
        server.close(WebSocketClose(.goingAway))
        server.close(WebSocketClose(.normal))
        #expect(server.drainOutput() == frame(8, [3, 0xE9], isMasked: false))
        let bytes = frame(1, [65]) + frame(9, []) + frame(8, []) + frame(1, [66])
        #expect(server.receive(bytes) == [text("A"), .ping([]), .closed(WebSocketClose(nil))])
        #expect(server.drainOutput().isEmpty && server.isOver)
    }

    @Test func `an empty close is answered by an empty close`() {
        var server = WebSocketConnection(role: .server)
        #expect(server.receive(frame(8, [])) == [.closed(WebSocketClose(nil))])
        #expect(server.drainOutput() == frame(8, [], isMasked: false))
    }

    @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999])
    func `every code that may be sent is understood`(code: UInt16) {
        let close = WebSocketClose(WebSocketCloseCode(rawValue: code), reason: "x")
        var client = WebSocketConnection(role: .client)
        #expect(client.receive(WebSocketServerFrame.close(close)) == [.closed(close)])
    }

    @Test func `a reason is cut between two characters, and a code that may not be sent is left out`() throws {
        let long = WebSocketClose(.normal, reason: String(repeating: "ä", count: 100))
        #expect(long.payload.count == 2 + 122)
        #expect(try WebSocketClose(payload: long.payload).reason == String(repeating: "ä", count: 61))
        for code: UInt16 in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] {
            #expect(WebSocketClose(WebSocketCloseCode(rawValue: code), reason: "x").payload.isEmpty)
        }
    }
}
