// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import FuzzKit

/// Whatever arrives on port 5353: it is refused, or what was understood encodes and reads back the same.
@main enum FuzzDNS {
    static func main() {
        unsafe Fuzzer.run { start, count in
            FuzzDNS.examine(unsafe UnsafeBufferPointer(start: start, count: count).span)
            return 0
        }
    }

    private static func examine(_ bytes: Span<UInt8>) {
        guard let message = try? Message(parsing: bytes) else { return }
        // The id says which of the slow checks are made, so that most inputs cost one.
        if message.id & 3 == 0 || message.id & 3 == 3 { checkRoundTrip(message) }
        if message.id & 3 == 1 || message.id & 3 == 3 { checkContinuation(message) }
        if message.id & 3 >= 2 { checkTexts(message) }
    }

    private static func checkRoundTrip(_ message: Message) {
        // Pointers may make a short message of a long one, so that it cannot be written as it was read.
        guard let encoded = message.encoded() else { return }
        guard let again = try? Message(parsing: encoded.span) else { fatalError("cannot read what it wrote") }
        require(again == message || message.holdsUnreadableDenial, "the message changed on the way")
    }

    /// A writer with little room leaves out whole records, and what it wrote can be read.
    private static func checkContinuation(_ message: Message) {
        var encoder = MessageEncoder(flags: message.flags, limit: 128, compressesServiceTargets: false)
        var written = 0
        for question in message.questions.prefix(8) where encoder.append(question) { written += 1 }
        for record in message.answers.prefix(8) where encoder.append(record) { written += 1 }
        let bytes = encoder.finish(truncated: true)
        require(bytes.count <= 128 && encoder.count == written, "the writer lost count")
        guard let again = try? Message(parsing: bytes.span) else { fatalError("cannot read what was cut to fit") }
        require(again.questions.count + again.answers.count == written, "records were lost")
    }

    /// What is shown of names and texts is printable, and pairs come back from their own bytes.
    private static func checkTexts(_ message: Message) {
        for record in message.answers.prefix(4) {
            let shown = record.name.description
            require(shown.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }, "a name is not printable")
            if let name = DomainName(shown) { require(name == record.name, "a name reads back as another") }
            if case .text(let data) = record.data {
                let text = TextRecord(data: data)
                require(TextRecord(data: text.data) == text, "a text reads back as another")
                require(TextRecord(entries: text.entries).entries == text.entries, "pairs read back as others")
            }
        }
    }
}

extension Message {
    /// Whether a denial (NSEC) could not be read: its bytes are kept, but pointers in them mean something else now.
    fileprivate var holdsUnreadableDenial: Bool {
        (answers + authorities + additionals).contains { record in
            if case .opaque = record.data { record.type == .nsec } else { false }
        }
    }
}
