// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Testing

@testable import MulticastDNS

private let instance = DomainName("Printer._ipp._tcp.local") ?? DomainName()

@Suite struct ResponseTriggeredLimitTests {
    @Test(arguments: [(RecordType.srv, 14), (.txt, 6), (.a, 14), (.aaaa, 6)])
    func `a question costs what it adds to a packet`(type: RecordType, size: Int) {
        #expect(ResponseTriggeredLimit.size(of: Question(instance, type)) == size)
    }

    @Test func `a pointer pays for the first questions that it brings`() throws {
        let type = instance.parent
        let pointer = ResourceRecord(type, .ptr, .pointer(instance), timeToLive: 120)
        func length(_ questions: [Question], _ answers: [ResourceRecord]) -> Int {
            Message(questions: questions, answers: answers).encoded()?.count ?? 0
        }
        let pointerLength = length([], [pointer, pointer]) - length([], [pointer])
        let questions = [Question(instance, .srv), Question(instance, .txt)]
        let asked = length([Question(type, .ptr)] + questions, []) - length([Question(type, .ptr)], [])
        #expect(asked == questions.reduce(0) { $0 + ResponseTriggeredLimit.size(of: $1) })
        // Without its instance, which this second one has by a pointer.
        #expect(asked < pointerLength + 8)
    }

    @Test func `is spent to the last byte, and earned by packets and time`() {
        var allowance = ResponseTriggeredLimit()
        allowance.advance(to: time(0))
        let size = ResponseTriggeredLimit.size(of: Question(instance, .srv))
        var count = 0
        while allowance.spend(size) { count += 1 }
        #expect(count == ResponseTriggeredLimit.most / size && allowance.bytes < 14)
        let rest = allowance.bytes
        allowance.received(100)
        #expect(allowance.bytes == rest + 50)
        // Looks at the clock more often than bytes come.
        for step in 1...20_000 { allowance.advance(to: time(Double(step) / 10_000)) }
        #expect(abs(allowance.bytes - rest - 50 - 2 * ResponseTriggeredLimit.rate) <= 2)
        allowance.advance(to: time(1))
        allowance.advance(to: time(1_000_000))
        #expect(allowance.bytes == ResponseTriggeredLimit.most)
        allowance.received(.max / 4)
        #expect(allowance.bytes == 8 * ResponseTriggeredLimit.most)
        allowance.advance(to: time(2_000_000))
        #expect(allowance.bytes == 8 * ResponseTriggeredLimit.most, "what was earned stays")
    }
}
