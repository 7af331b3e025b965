// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Builds the tree of one strict YAML document: no anchors, aliases, tags, repeated keys or second document.
struct YAMLDocument: ~Copyable {
    /// A file may have so many bytes.
    static let largestFile = 1 << 20
    static let deepestNesting = 16

    /// Thrown to leave the builder after a problem that makes the rest unreadable.
    private struct Stop: Error {}

    private var parser: YAMLParser
    private let file: String

    /// Reads a file's text and reports what it refuses; problems carry the name `file`.
    /// - Returns: The root; `nil` when the file is empty, only comments, or cannot be understood.
    static func read(_ bytes: [UInt8], file: String, into findings: inout Findings) -> YAMLNode? {
        guard bytes.count <= largestFile else {
            findings.report(.tooLarge(limit: largestFile), at: .path(file))
            return nil
        }
        guard let parser = YAMLParser(bytes) else {
            findings.report(.unreadable("out of memory"), at: .path(file))
            return nil
        }
        var document = YAMLDocument(parser: parser, file: file)
        do {
            return try document.root(&findings)
        } catch {
            return nil
        }
    }

    private mutating func root(_ findings: inout Findings) throws(Stop) -> YAMLNode? {
        var root: YAMLNode?
        var documents = 0
        while true {
            let marked = try next(&findings)
            switch marked.event {
            case .streamEnd: return root
            case .documentStart:
                documents += 1
                if documents > 1 {
                    findings.report(.unsupported("a second document"), at: origin(marked))
                    return root
                }
            case .documentEnd, .other: break
            default: root = try node(marked, depth: 0, &findings)
            }
        }
    }

    private mutating func node(
        _ marked: YAMLMarkedEvent,
        depth: Int,
        _ findings: inout Findings
    ) throws(Stop) -> YAMLNode {
        let origin = origin(marked)
        if marked.hasAnchor { findings.report(.unsupported("an anchor (& without quotes)"), at: origin) }
        if marked.hasTag { findings.report(.unsupported("a tag (! without quotes)"), at: origin) }
        guard depth <= Self.deepestNesting else {
            findings.report(.tooDeep(limit: Self.deepestNesting), at: origin)
            throw Stop()
        }
        switch marked.event {
        case .scalar(let text, let isPlain):
            return YAMLNode(origin: origin, content: .scalar(text, isPlain: isPlain))
        case .listStart:
            return YAMLNode(origin: origin, content: .list(try list(depth: depth, &findings)))
        case .mapStart:
            return YAMLNode(origin: origin, content: .map(try map(depth: depth, &findings)))
        default:
            findings.report(.unsupported("an alias (* without quotes)"), at: origin)
            throw Stop()
        }
    }

    private mutating func list(depth: Int, _ findings: inout Findings) throws(Stop) -> [YAMLNode] {
        var items: [YAMLNode] = []
        while true {
            let marked = try next(&findings)
            if marked.event == .listEnd { return items }
            items.append(try node(marked, depth: depth + 1, &findings))
        }
    }

    private mutating func map(depth: Int, _ findings: inout Findings) throws(Stop) -> [YAMLEntry] {
        var entries: [YAMLEntry] = []
        var seen: [String: ValueOrigin] = [:]
        while true {
            let marked = try next(&findings)
            if marked.event == .mapEnd { return entries }
            let key = try node(marked, depth: depth + 1, &findings)
            let value = try node(next(&findings), depth: depth + 1, &findings)
            guard case .scalar(let name, _) = key.content else {
                findings.report(.unsupported("a key that is not text"), at: key.origin)
                continue
            }
            if let first = seen[name] {
                findings.report(.duplicateKey(name, first: first), at: key.origin)
                continue
            }
            seen[name] = key.origin
            entries.append(YAMLEntry(key: name, origin: key.origin, value: value))
        }
    }

    private mutating func next(_ findings: inout Findings) throws(Stop) -> YAMLMarkedEvent {
        do {
            return try parser.next()
        } catch {
            findings.report(.syntax(error.words), at: .file(file, line: error.line, column: error.column))
            throw Stop()
        }
    }

    private func origin(_ marked: YAMLMarkedEvent) -> ValueOrigin {
        .file(file, line: marked.line, column: marked.column)
    }
}
