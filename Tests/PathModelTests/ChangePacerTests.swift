// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import PathModel
import Testing

@Suite struct ChangePacerTests {
    @Test func `the first change is told at once, and one long after it too`() {
        var pacer = ChangePacer(pause: .milliseconds(50))
        #expect(pacer.due(at: .zero) == .zero)
        pacer.record(at: .zero)
        #expect(pacer.due(at: .milliseconds(50)) == .milliseconds(50))
        #expect(pacer.due(at: .seconds(9)) == .seconds(9))
    }

    @Test func `changes that follow soon are told together`() {
        var pacer = ChangePacer(pause: .milliseconds(50))
        var told: [Duration] = []
        var due: Duration?
        for step in 0..<100 {
            let now: Duration = .milliseconds(step * 10)
            due = due ?? pacer.due(at: now)
            guard due.map({ $0 <= now }) ?? false else { continue }
            pacer.record(at: now)
            told.append(now)
            due = nil
        }
        #expect(told == (0..<20).map { .milliseconds($0 * 50) })
    }
}
