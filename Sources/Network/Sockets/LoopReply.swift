// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// Carries an answer of the program, given on any thread, back to the loop.
@safe final class LoopReply<Answer: Sendable>: Sendable {
    private let loop: EventLoop
    private nonisolated(unsafe) let completion: (Answer) -> Void

    init(_ loop: EventLoop, completion: @escaping (Answer) -> Void) {
        self.loop = loop
        unsafe self.completion = completion
    }

    func give(_ answer: Answer) {
        loop.perform { [self] in unsafe completion(answer) }
    }
}
