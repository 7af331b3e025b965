// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import Glibc
internal import LinuxIO
internal import OrderedJSON
internal import TestSupport
public import Testing

/// Holds what a program under test wrote against the forms from which the schemas are rendered.
///
/// It takes one JSON value, JSON lines, server-sent events, or a whole answer with its fields. What names no schema of
/// ours is left alone, and so is a last line that is still being written.
public enum LiveJSON {
    /// Who wrote it.
    public enum Author: Sendable {
        case service
        /// A command, whose documents are those of the service, or what it found out by itself.
        case command
    }

    /// Records an issue for each object that is not as it was declared.
    ///
    /// - Parameters:
    ///   - text: What was read.
    ///   - author: Who wrote it.
    ///   - sourceLocation: Where it was read.
    /// - Returns: The same text.
    @discardableResult
    public static func check(
        _ text: String,
        by author: Author = .service,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> String {
        check(Array(text.utf8)[...], author, sourceLocation)
        return text
    }

    /// Does the same for each file of a log of events.
    ///
    /// - Parameters:
    ///   - path: Its current file.
    ///   - past: What somebody else wrote before, into a file that may have been renamed meanwhile.
    ///   - sourceLocation: Whose log it is.
    public static func check(
        log path: String,
        after past: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let names = (try? Command.run(["sh", "-c", "ls -d \"$0\" \"$0\".[0-9]* 2>/dev/null; true", path])) ?? ""
        for name in names.split(separator: "\n").map(String.init) {
            let bytes = bytes(of: name)
            check(bytes.starts(with: past.utf8) ? bytes.dropFirst(past.utf8.count) : bytes, .service, sourceLocation)
        }
    }

    /// What the objects of a text break.
    ///
    /// - Parameter text: What was read.
    /// - Returns: A line for each object that is not as it was declared.
    public static func problems(in text: String) -> [String] { problems(in: Array(text.utf8)[...], .service) }

    private static func check(_ bytes: ArraySlice<UInt8>, _ author: Author, _ sourceLocation: SourceLocation) {
        for problem in problems(in: bytes, author) { Issue.record("\(problem)", sourceLocation: sourceLocation) }
    }

    private static func problems(in bytes: ArraySlice<UInt8>, _ author: Author) -> [String] {
        LiveText(bytes).pieces.compactMap { piece in
            if KnownRecords.contains(piece, by: author) { return nil }
            var problems: [String] = []
            do throws(JSONError) {
                problems = PublishedForms.problems(of: try JSONValue(parsing: piece), by: author)
            } catch {
                let isTorn = piece.endIndex == bytes.endIndex
                if !isTorn, piece.firstRange(of: Array("\"nwpath.".utf8)) != nil { problems = ["\(error)"] }
            }
            guard !problems.isEmpty else {
                KnownRecords.insert(piece, by: author)
                return nil
            }
            return problems.joined(separator: "; ") + " in " + String(decoding: piece.prefix(2048), as: UTF8.self)
        }
    }

    private static func bytes(of path: String) -> ArraySlice<UInt8> {
        if path.hasSuffix(".gz") { return Array(((try? Command.run(["gzip", "-dc", path])) ?? "").utf8)[...] }
        guard let file = try? FileDescriptor(opening: path, flags: O_RDONLY) else { return [] }
        var bytes: [UInt8] = []
        while let chunk = try? file.read(upTo: 1 << 20), !chunk.isEmpty { bytes += chunk }
        return bytes[...]
    }
}
