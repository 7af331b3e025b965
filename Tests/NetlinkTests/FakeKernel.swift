// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
@testable import Netlink

/// A kernel that answers from a script, so that answers no real one gives on demand can be tested.
final class FakeKernel: MessageSource {
    /// One answer: messages, and how it ended.
    struct Answer {
        var messages: [RecordedMessage] = []
        var isTorn = false
        var error: Int32?

        static func messages(_ type: UInt16, _ bodies: [Builder], isTorn: Bool = false) -> Answer {
            Answer(messages: bodies.map { RecordedMessage(type: type, body: $0.bytes) }, isTorn: isTorn)
        }

        static func error(_ code: Int32) -> Answer { Answer(error: code) }
    }

    /// What is answered to requests of a type, one after the other; the last one stays.
    private var script: [UInt16: [Answer]]
    /// What was asked, in its order.
    private(set) var asked: [Question] = []
    /// How often it waited before asking again.
    private(set) var pauses = 0
    /// How many messages were handed over.
    private(set) var handedOver = 0

    init(_ script: [UInt16: [Answer]]) { self.script = script }

    func request(_ question: Question, each: (UInt16, Span<UInt8>) -> Bool) throws(NetlinkError) -> Completion {
        asked.append(question)
        let request = MessageType(rawValue: question.type)
        guard let answers = script[question.type], let answer = answers.first else {
            throw .notRecorded(request: request)
        }
        if answers.count > 1 { script[question.type] = Array(answers.dropFirst()) }
        for message in answer.messages {
            handedOver += 1
            guard each(message.type, message.body.span) else { return .stopped }
        }
        if let code = answer.error {
            throw code == 1 ? .notPermitted(request: request) : .refused(request: request, code: code, detail: nil)
        }
        return .done(isConsistent: !answer.isTorn)
    }

    func pauseBeforeRetry() { pauses += 1 }
}

extension UInt16 {
    static let getLink: UInt16 = 18
    static let getAddress: UInt16 = 22
    static let getRoute: UInt16 = 26
    static let newNeighbor: UInt16 = 28
    static let getNeighbor: UInt16 = 30
    static let getRule: UInt16 = 34
    static let getNexthop: UInt16 = 106
}
