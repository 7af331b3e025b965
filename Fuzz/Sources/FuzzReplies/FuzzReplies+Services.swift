// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import FuzzKit

@testable import Probes

/// Answers of servers: time, names, pages.
extension FuzzReplies {
    static func time(_ bytes: [UInt8], _ isHelped: Bool) {
        let query = NTPQuery(cookie: 0x0123_4567_89AB_CDEF)
        var message = bytes
        if isHelped {
            let cookie: [UInt8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF]
            message = [0x24, 2] + [UInt8](repeating: 0, count: 22) + cookie + bytes
        }
        for now in [0, 1_800_000_000_500_000_000, -1, Int64.max / 2, 4_102_444_800_000_000_000] as [Int64] {
            let reply = query.read(message.span, left: now, arrived: now + 40_000_000)
            guard case .ahead(let offset) = reply else { continue }
            // A difference of the protocol's time fits 68 years.
            require(offset <= .seconds(2_147_483_649) && offset >= .seconds(-2_147_483_649), "\(offset)")
            require(message.count >= NTPQuery.length, "a time in \(message.count) bytes")
        }
        let question = query.bytes
        require(query.read(question.span, left: 0, arrived: 0) == .foreign, "the question answers itself")
    }

    static func names(_ bytes: [UInt8], _ isHelped: Bool) {
        for record in ServerQuestion.Record.allCases {
            guard let query = NameQuery("a.example.test", record: record, id: 0x1234) else { fatalError("no name") }
            var message = bytes
            if isHelped {
                // The head of an answer with the question, whose counts the input gives.
                var head = query.bytes
                (head[2], head[3]) = (0x81, 0x80)
                for (index, byte) in bytes.prefix(2).enumerated() { head[6 + index] = byte & 0x0F }
                message = head + bytes.dropFirst(2)
            }
            let reply = query.read(message.span)
            if case .addresses(let found, _) = reply {
                let family: AddressFamily = record == .a ? .ipv4 : .ipv6
                require(record != .text, "an address where strings were asked for")
                require(found.allSatisfy { $0.family == family }, "an address of the other family")
                require(found.count * 10 <= message.count, "more addresses than there is room for")
            }
            switch query.evaluate(message.span) {
            case .foreign: require(reply == .foreign, "a verdict on nothing")
            case .addresses(let found):
                require(found.isEmpty == (record == .text), "a success without an address")
            case .failed(let text): require(!text.isEmpty && text.utf8.count < 200, "a failure without a word")
            }
            if case .text(let count, _) = reply { require(count < message.count, "more text than there is room for") }
            _ = NameReply(reply)
            var denied = query
            denied.acceptsDenial = true
            if case .foreign = denied.evaluate(message.span) { require(reply == .foreign, "a verdict on nothing") }
        }
    }

    static func multicast(_ bytes: [UInt8], _ isHelped: Bool, _ peer: IPAddress) {
        let question = MulticastQuestion(peer: peer)
        let message = isHelped ? [0, 7, 0x84, 0] + bytes : bytes
        for id in [nil, 7, 8] as [UInt16?] {
            let reply = question.read(message.span, id: id)
            require(id != 8 || !isHelped || reply == .foreign, "an answer to another question")
            require(reply == .foreign || message.count >= 12, "an answer in \(message.count) bytes")
        }
        require(question.read(question.bytes(id: 7).span) == .foreign, "the question answers itself")
    }

    // MARK: - Portals

    static func portal(_ bytes: [UInt8]) { check(PortalNotice(bytes)) }

    static func check(_ notice: PortalNotice?) {
        guard case .interface(let page) = notice else { return }
        require(page.isSecure && PageAddress("\(page)") == page, "\(page) is no interface")
    }

    static func portalStatus(_ bytes: [UInt8], _ isHelped: Bool) {
        var answer = PageAnswer(status: 200)
        answer.mediaType = PortalStatus.mediaType
        answer.body = isHelped ? Array(#"{"captive":true,"#.utf8) + bytes : bytes
        let status = PortalStatus(answer)
        if let page = status?.portal { require(PageAddress("\(page)") == page, "\(page) does not read back") }
        answer.status = 204
        require(PortalStatus(answer) == nil, "a state without a page")
        answer.status = 200
        answer.mediaType = nil
        require(PortalStatus(answer) == nil, "a state of another type")
    }

    /// A stream comes to the same messages in any pieces.
    static func stream(_ bytes: [UInt8]) {
        var whole = LengthPrefixed()
        whole.append(bytes)
        var expected: [[UInt8]] = []
        while let message = whole.next() { expected.append(message) }
        require(expected.reduce(0) { $0 + $1.count + 2 } <= bytes.count, "more than there was")
        let size = Int(bytes.first ?? 0) % 5 + 1
        var pieces = LengthPrefixed()
        var found: [[UInt8]] = []
        var offset = 0
        while offset < bytes.count {
            pieces.append(Array(bytes[offset..<min(offset + size, bytes.count)]))
            offset += size
            while let message = pieces.next() { found.append(message) }
        }
        require(found == expected, "pieces change the messages")
    }

    /// The head of an answer, line by line as libcurl hands it over, and what it means.
    static func page(_ bytes: [UInt8], isSecure: Bool) {
        var head = PageHead()
        for line in bytes.split(separator: 10, omittingEmptySubsequences: false) { head.append(Array(line) + [10]) }
        require((0...999).contains(head.status), "status \(head.status)")
        for text in [head.location, head.response, head.acceptance, head.mediaType].compactMap(\.self) {
            require(text.utf8.count <= 1024 && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "what is not shown")
        }
        guard let page = PageAddress("\(isSecure ? "https" : "http")://a.example.test/generate_204") else {
            fatalError("no page")
        }
        let answer = PageAnswer(status: head.status, location: head.location)
        for statuses in [[204], [200, 204], [302]] {
            let outcome = PageClassifier.outcome(of: answer, to: page, expecting: PageExpectation(statuses: statuses))
            switch outcome {
            case .success: require(statuses.contains(head.status), "a success of status \(head.status)")
            case .failure(.captivePortal, _): require(!isSecure, "a portal behind a certificate")
            case .failure: require(!statuses.contains(head.status), "a right status that is wrong")
            case .notAssessed: fatalError("an answer that is none")
            }
        }
        if let location = head.location, let target = PageAddress(location) {
            require(PageAddress("\(target)") == target, "\(target) does not read back")
        }
    }

    /// What the clocks of a load test say, in any order.
    static func load(_ bytes: [UInt8]) {
        var reader = InputReader(bytes.span)
        var tally = RoundTripTally()
        var meter = LoadMeter()
        while !reader.isAtEnd {
            var moments = RequestMoments()
            let flags = reader.byte()
            if flags & 1 != 0 { moments.resolved = reader.word() }
            if flags & 2 != 0 { moments.connected = reader.word() << 4 }
            if flags & 4 != 0 { moments.secured = reader.word() << 5 }
            if flags & 8 != 0 { moments.ready = reader.word() << 5 }
            if flags & 16 != 0 { moments.answered = reader.word() << 6 }
            let isKept = flags & 32 != 0
            let steps = moments.steps(
                isSecure: flags & 64 != 0,
                isKept: isKept,
                age: .milliseconds(reader.word())
            )
            if isKept { tally.addOwn(steps) } else { tally.addForeign(steps) }
            meter.note(reader.word(), at: .milliseconds(reader.word()))
        }
        require(tally.roundTripsPerMinute ?? 0 >= 0 && (tally.median ?? .zero) >= .zero, "a negative time")
        require((tally.roundTripsPerMinute == nil) == (tally.count == 0), "a rate of nothing")
        require(meter.megabitsPerSecond >= 0 && meter.megabitsPerSecond.isFinite, "\(meter.megabitsPerSecond)")
    }
}
