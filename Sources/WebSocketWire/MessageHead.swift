// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The head of an HTTP/1.1 message: its first line, and its fields (RFC 9112 sections 2 to 5).
struct MessageHead: Sendable {
    /// Why bytes are no head.
    enum Failure: Error, Equatable {
        /// A line that is no field, or one with a control character.
        case malformed
        /// More than ``MessageHead/longest`` bytes.
        case tooLong
    }

    /// The longest head in bytes.
    static let longest = 16_384

    /// The words of the first line: at most three, the last one with the spaces in it.
    let words: [String]
    let fields: [(name: String, value: String)]

    init(_ bytes: some Sequence<UInt8>) throws(Failure) {
        let lines = String(decoding: Array(bytes), as: UTF8.self).split(separator: "\r\n")
        let first = lines.first ?? ""
        words = first.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard words.count >= 2, Self.isText(first) else { throw .malformed }
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex, Self.isText(line),
                !line[..<colon].utf8.contains(where: { $0 == 32 || $0 == 9 })
            else { throw .malformed }
            fields.append((String(line[..<colon]), FieldList.trimmed(line[line.index(after: colon)...])))
        }
        self.fields = fields
    }

    /// The value of a field; several are joined by commas.
    func field(_ name: String) -> String? {
        let name = name.lowercased()
        let values = fields.filter { $0.name.lowercased() == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    private static func isText(_ line: Substring) -> Bool {
        line.utf8.allSatisfy { $0 >= 32 && $0 != 127 || $0 == 9 }
    }
}

/// Gathers bytes until a head is complete; pure.
struct HeadReader: Sendable {
    private var bytes: [UInt8] = []

    /// Parses bytes.
    /// - Returns: The head, and what comes behind it; `nil` when it is not complete.
    mutating func parse(_ more: [UInt8]) throws(MessageHead.Failure) -> (head: MessageHead, rest: [UInt8])? {
        let start = max(0, bytes.count - 3)
        bytes += more
        guard let end = end(from: start) else {
            guard bytes.count <= MessageHead.longest else { throw .tooLong }
            return nil
        }
        guard end <= MessageHead.longest else { throw .tooLong }
        let (head, rest) = (bytes[..<end], Array(bytes[end...]))
        bytes = []
        return (try MessageHead(head), rest)
    }

    /// Where the head ends, behind its empty line.
    private func end(from start: Int) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in start..<max(start, bytes.count - 3)
        where bytes[index] == 13 && bytes[index + 1] == 10 && bytes[index + 2] == 13 && bytes[index + 3] == 10 {
            return index + 4
        }
        return nil
    }
}
