// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Sets `connectivity.check` in the text of a configuration file; every other byte stays.
///
/// Pure: a text in, a text out. The result must read back to the old values with this one changed, else nothing is edited.
public struct ConnectivityEdit: Hashable, Sendable {
    /// What differs, as in a unified diff without context.
    public struct Change: Hashable, Sendable {
        /// The number of the first line, from 1.
        public let line: Int
        public let removed: [String]
        public let added: [String]
    }

    /// The new contents of the file.
    public let bytes: [UInt8]
    /// `nil` when the file has the value already.
    public let change: Change?

    /// Edits a text.
    ///
    /// - Parameters:
    ///   - source: The file as it is; without bytes when there is none.
    ///   - check: The value.
    /// - Throws: ``ConnectivityEditError`` when the file is not valid, or of a form that is not edited.
    public init(
        of source: Configuration.Source,
        to check: ConnectivitySettings.Check
    ) throws(ConnectivityEditError) {
        let root = try Self.parse(source)
        if root?.check?.text == check.rawValue {
            bytes = source.bytes
            change = nil
            return
        }
        let draft = Draft(source.bytes, root)
        let refusal = ConnectivityEditError.notEditable(file: source.name, line: draft.line, check: check)
        guard let edited = draft.setting(check) else { throw refusal }
        let result = try? Self.parse(Configuration.Source(name: source.name, bytes: edited))
        guard let result, result.values == (root?.values ?? .map([])).setting(check) else { throw refusal }
        bytes = edited
        change = Change(from: source.bytes, to: edited)
    }

    private static func parse(_ source: Configuration.Source) throws(ConnectivityEditError) -> YAMLNode? {
        var findings = Findings()
        let root = YAMLDocument.read(source.bytes, file: source.name, into: &findings)
        guard findings.problems.isEmpty else {
            throw .notValid(ConfigurationError(problems: findings.problems))
        }
        return root
    }

    /// Where a file sets the key, such as `nwpath.yaml:2:10`; `nil` when it does not.
    public static func origin(in source: Configuration.Source) -> String? {
        (try? parse(source))??.check.map { "\(source.name):\($0.position.line):\($0.position.column)" }
    }
}

/// Why a file was not edited.
public enum ConnectivityEditError: Error, Hashable, Sendable {
    case notValid(ConfigurationError)
    /// It is YAML of a form that is not edited.
    case notEditable(file: String, line: Int, check: ConnectivitySettings.Check)
}

extension ConnectivityEditError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notValid(let error): error.description
        case .notEditable(let file, let line, let check):
            "\(file):\(line): cannot be edited safely; write there by hand: connectivity: {check: \(check.rawValue)}"
        }
    }
}

// MARK: - The text

/// The lines of a text and where the key goes.
private struct Draft {
    let bytes: [UInt8]
    let root: YAMLNode?
    /// Where each line begins.
    let starts: [Int]
    let lineEnd: String

    init(_ bytes: [UInt8], _ root: YAMLNode?) {
        self.bytes = bytes
        self.root = root
        starts = [0] + bytes.indices.filter { bytes[$0] == 0x0A }.map { $0 + 1 }.filter { $0 < bytes.count }
        let first = bytes.firstIndex(of: 0x0A) ?? 0
        lineEnd = first > 0 && bytes[first - 1] == 0x0D ? "\r\n" : "\n"
    }

    /// Where the section is, or would be.
    var line: Int { root?.section?.position.line ?? (bytes.isEmpty ? 1 : starts.count) }

    /// The new text; `nil` when the form is not one of those that are edited.
    func setting(_ check: ConnectivitySettings.Check) -> [UInt8]? {
        let word = check.rawValue
        guard let section = root?.section else { return appending(word) }
        let margin = String(repeating: " ", count: section.position.column - 1)
        if let entry = section.value.entry("check") {
            guard case .scalar(let text, let isPlain) = entry.value.content, !text.isEmpty else {
                return inserting(" " + word, behind: "check:", of: entry)
            }
            guard let start = offset(of: entry.value.position) else { return nil }
            let written = isPlain ? [text] : ["'\(text)'", "\"\(text)\""]
            guard let old = written.first(where: { bytes[start...].starts(with: $0.utf8) }) else { return nil }
            return replacing(start..<start + old.utf8.count, by: word)
        }
        if case .map(let entries) = section.value.content {
            guard entries.isEmpty, let start = offset(of: section.value.position) else { return nil }
            return replacing(start + 1..<start + 1, by: "check: \(word)")
        }
        guard section.value.isNull else { return nil }
        let next = section.position.line < starts.count ? starts[section.position.line] : bytes.count
        return inserting("\(margin)  check: \(word)", asLineAt: next)
    }

    private func appending(_ word: String) -> [UInt8]? {
        var column = 1
        if case .map(let entries) = root?.content { column = entries.first?.position.column ?? 1 }
        let margin = String(repeating: " ", count: column - 1)
        return inserting("\(margin)connectivity:\(lineEnd)\(margin)  check: \(word)", asLineAt: bytes.count)
    }

    private func inserting(_ text: String, asLineAt offset: Int) -> [UInt8] {
        let isOpen = offset == bytes.count && !bytes.isEmpty && bytes.last != 0x0A
        return replacing(offset..<offset, by: (isOpen ? lineEnd : "") + text + lineEnd)
    }

    private func inserting(_ text: String, behind key: String, of entry: YAMLEntry) -> [UInt8]? {
        guard let start = offset(of: entry.position), bytes[start...].starts(with: key.utf8) else { return nil }
        let end = start + key.utf8.count
        return replacing(end..<end, by: text)
    }

    private func replacing(_ range: Range<Int>, by text: String) -> [UInt8] {
        bytes[..<range.lowerBound] + Array(text.utf8) + bytes[range.upperBound...]
    }

    /// The index of a byte; columns count characters, a byte order mark as one.
    private func offset(of position: Position) -> Int? {
        guard position.line <= starts.count else { return nil }
        var offset = starts[position.line - 1]
        for _ in 1..<max(position.column, 1) {
            offset += 1
            while offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
        }
        return offset < bytes.count ? offset : nil
    }
}

extension ConnectivityEdit.Change {
    fileprivate init(from old: [UInt8], to new: [UInt8]) {
        let (old, new) = (Self.lines(old), Self.lines(new))
        let head = zip(old, new).prefix { $0 == $1 }.count
        let tail = zip(old.dropFirst(head).reversed(), new.dropFirst(head).reversed()).prefix { $0 == $1 }.count
        line = head + 1
        removed = Array(old[head..<old.count - tail])
        added = Array(new[head..<new.count - tail])
    }

    private static func lines(_ bytes: [UInt8]) -> [String] {
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
            .map { String(decoding: $0.last == 0x0D ? $0.dropLast() : $0, as: UTF8.self) }
        if lines.last == "" { lines.removeLast() }
        return lines
    }
}

// MARK: - The tree

/// Line and column, from 1.
private struct Position {
    let line: Int
    let column: Int

    init(_ origin: ValueOrigin) {
        if case .file(_, let line, let column) = origin {
            (self.line, self.column) = (line, column)
        } else {
            (line, column) = (1, 1)
        }
    }
}

extension YAMLEntry {
    fileprivate var position: Position { Position(origin) }
}

extension YAMLNode {
    fileprivate var position: Position { Position(origin) }

    fileprivate var section: YAMLEntry? { entry("connectivity") }

    fileprivate var check: YAMLNode? { section?.value.entry("check")?.value }

    fileprivate var text: String? { if case .scalar(let text, _) = content { text } else { nil } }

    fileprivate func entry(_ key: String) -> YAMLEntry? {
        guard case .map(let entries) = content else { return nil }
        return entries.first { $0.key == key }
    }

    /// What was written, without where.
    fileprivate var values: ConfigurationTree {
        switch content {
        case .scalar where isNull: .null
        case .scalar(let text, _): .text(text)
        case .list(let items): .list(items.map(\.values))
        case .map(let entries): .map(entries.map { ConfigurationTree.Field($0.key, $0.value.values) })
        }
    }
}

extension ConfigurationTree {
    fileprivate func setting(_ check: ConnectivitySettings.Check) -> ConfigurationTree {
        setting("connectivity", (self["connectivity"] ?? .null).setting("check", .text(check.rawValue)))
    }

    private func setting(_ name: String, _ value: ConfigurationTree) -> ConfigurationTree {
        guard case .map(var fields) = self else { return .map([Field(name, value)]) }
        let field = Field(name, value)
        if let index = fields.firstIndex(where: { $0.name == name }) {
            fields[index] = field
        } else {
            fields.append(field)
        }
        return .map(fields)
    }
}
