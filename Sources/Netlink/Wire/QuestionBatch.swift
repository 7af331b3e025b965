// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Questions of one type that are sent in one datagram; each has one answer.
struct QuestionBatch {
    let type: MessageType
    /// The messages as the kernel reads them, one after the other.
    private(set) var bytes: [UInt8] = []
    /// Where each message begins.
    private var starts: [Int] = []

    init(_ questions: [Question]) {
        type = MessageType(rawValue: questions.first?.type ?? 0)
        for question in questions {
            starts.append(bytes.count)
            bytes += question.message(sequence: 0)
            bytes += [UInt8](repeating: 0, count: -bytes.count & 3)
        }
    }

    var count: Int { starts.count }

    /// Gives the messages numbers in their order.
    mutating func number(from first: UInt32) {
        for (position, start) in starts.enumerated() {
            let number = (first &+ UInt32(position)).littleEndian
            for byte in 0..<4 { bytes[start + 8 + byte] = UInt8(truncatingIfNeeded: number >> (8 * UInt32(byte))) }
        }
    }
}
