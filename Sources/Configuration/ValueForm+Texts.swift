// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel

extension ValueForm where Value == String {
    static let path = text("an absolute path such as /var/lib/nwpath", pattern: "^/", longest: 4095, isPath)

    /// The absolute path of a file, or `-` for standard output, which the kernel's names for it mean as well.
    static let fileOrOutput = ValueForm(
        scalar: "an absolute path, or - for standard output",
        schema: text("", pattern: "^(/|-$)", longest: 4095) { _ in true }.schema,
        parse: { (text) throws(Refusal) in
            if text == "-" || isStream(text, "stdout", 1) { return "-" }
            guard !isStream(text, "stdin", 0), !isStream(text, "stderr", 2) else {
                throw .expected("a file, or - for standard output")
            }
            guard text.utf8.count <= 4095, isPath(text) else { throw .malformed }
            return text
        },
        write: { .text($0) }
    )

    /// Whether a path is the kernel's name of a standard stream, as containers are often given it for a log.
    private static func isStream(_ path: String, _ name: String, _ number: Int) -> Bool {
        let directories = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"]
        return path == "/dev/\(name)" || directories.contains { path == "\($0)/\(number)" }
    }

    /// The name of a network interface: without `/`, `:` or spaces (dev_valid_name of the kernel), as long as an
    /// alternative one may be.
    static let interface = text(
        "an interface name such as eth0",
        pattern: "^[^/:\\s]{1,127}$",
        longest: InterfacePolicy.longestName
    ) {
        $0 != "." && $0 != ".." && isVisible($0) && !$0.contains("/") && !$0.contains(":")
    }

    /// The name of a monitor or a view: it becomes a part of URLs, labels and file names.
    static let name = text("a name of a-z, 0-9, _ and -, up to 32 long", pattern: "^[a-z0-9_-]{1,32}$", longest: 32) {
        $0.utf8.allSatisfy {
            (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
        }
    }

    /// A host name as it may stand in the Host header, without a port (RFC 1123 section 2.1).
    static let host = text("a host name such as nas.example.test, without a port", pattern: nil, longest: 253) { text in
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.utf8.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        }
    }

    private static func text(
        _ expectation: String,
        pattern: String?,
        longest: Int,
        _ accepts: @escaping @Sendable (String) -> Bool
    ) -> ValueForm {
        var schema: [ConfigurationTree.Field] = [
            .init("type", "string"), .init("minLength", 1), .init("maxLength", .integer(longest)),
        ]
        if let pattern { schema.append(.init("pattern", .text(pattern))) }
        return ValueForm(
            scalar: expectation,
            schema: .map(schema),
            parse: { (text) throws(Refusal) in
                guard (1...longest).contains(text.utf8.count), accepts(text) else { throw .malformed }
                return text
            },
            write: { .text($0) }
        )
    }

    private static func isPath(_ text: String) -> Bool {
        text.hasPrefix("/") && !text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
    }

    private static func isVisible(_ text: String) -> Bool {
        !text.unicodeScalars.contains { $0.value <= 0x20 || $0.value == 0x7F || $0.properties.isWhitespace }
    }
}

func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
}
