// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CYAML

/// What libyaml's event parser reports, copied out of its memory.
enum YAMLEvent: Equatable {
    case scalar(String, isPlain: Bool)
    case listStart
    case listEnd
    case mapStart
    case mapEnd
    case documentStart
    case documentEnd
    case streamEnd
    case alias
    /// Stream start, which says nothing.
    case other
}

/// An event with its line and column, both counted from 1, and what the node carries beside its value.
struct YAMLMarkedEvent: Equatable {
    let event: YAMLEvent
    let line: Int
    let column: Int
    let hasAnchor: Bool
    let hasTag: Bool
}

/// Why libyaml stopped, and where.
struct YAMLSyntaxError: Error, Equatable {
    let words: String
    let line: Int
    let column: Int
}

/// Owns a libyaml parser and the text it reads.
@safe struct YAMLParser: ~Copyable {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>

    /// Starts to read UTF-8 text.
    /// - Returns: `nil` when there is no memory.
    init?(_ bytes: [UInt8]) {
        unsafe parser = .allocate(capacity: 1)
        unsafe text = .allocate(capacity: bytes.count)
        _ = unsafe text.initialize(from: bytes)
        guard unsafe yaml_parser_initialize(parser) == 1 else {
            unsafe parser.deallocate()
            unsafe text.deallocate()
            return nil
        }
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe text.deallocate()
    }

    /// Reads the next event; after ``YAMLEvent/streamEnd`` there is none.
    mutating func next() throws(YAMLSyntaxError) -> YAMLMarkedEvent {
        var raw = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &raw) == 1 else { throw syntaxError() }
        defer { unsafe yaml_event_delete(&raw) }
        let mark = unsafe raw.start_mark
        var hasAnchor = false
        var hasTag = false
        let event: YAMLEvent
        switch unsafe raw.type {
        case YAML_SCALAR_EVENT:
            let scalar = unsafe raw.data.scalar
            unsafe hasAnchor = scalar.anchor != nil
            unsafe hasTag = scalar.tag != nil
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            event = unsafe .scalar(
                String(decoding: bytes, as: UTF8.self),
                isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE
            )
        case YAML_SEQUENCE_START_EVENT:
            unsafe hasAnchor = raw.data.sequence_start.anchor != nil
            unsafe hasTag = raw.data.sequence_start.tag != nil
            event = .listStart
        case YAML_MAPPING_START_EVENT:
            unsafe hasAnchor = raw.data.mapping_start.anchor != nil
            unsafe hasTag = raw.data.mapping_start.tag != nil
            event = .mapStart
        case YAML_SEQUENCE_END_EVENT: event = .listEnd
        case YAML_MAPPING_END_EVENT: event = .mapEnd
        case YAML_DOCUMENT_START_EVENT: event = .documentStart
        case YAML_DOCUMENT_END_EVENT: event = .documentEnd
        case YAML_STREAM_END_EVENT: event = .streamEnd
        case YAML_ALIAS_EVENT: event = .alias
        default: event = .other
        }
        return YAMLMarkedEvent(
            event: event,
            line: Int(mark.line) + 1,
            column: Int(mark.column) + 1,
            hasAnchor: hasAnchor,
            hasTag: hasTag
        )
    }

    /// A decoding error has an offset into the text instead of a mark.
    private func syntaxError() -> YAMLSyntaxError {
        let words = unsafe parser.pointee.problem.map { unsafe String(cString: $0) } ?? "out of memory"
        guard unsafe parser.pointee.error == YAML_READER_ERROR else {
            let mark = unsafe parser.pointee.problem_mark
            return YAMLSyntaxError(words: words, line: Int(mark.line) + 1, column: Int(mark.column) + 1)
        }
        let offset = unsafe min(Int(parser.pointee.problem_offset), text.count)
        var line = 1
        var column = 1
        for index in 0..<offset {
            let byte = unsafe text[index]
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        return YAMLSyntaxError(words: words, line: line, column: column)
    }
}
