// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The checkout, read as text.
enum SourceTree {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func absolutePath(of path: String) -> String { root.appending(path: path).path }

    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The folders of Sources that are a target each, by their paths.
    static func folders() -> [String] {
        let parent = "Sources/CLibraries"
        return (folders(in: "Sources").filter { $0 != parent } + folders(in: parent)).sorted()
    }

    private static func folders(in parent: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: parent).path)) ?? []
        return names.filter { !$0.hasPrefix(".") }.map { "\(parent)/\($0)" }
    }

    /// All Swift files below a folder of the checkout.
    static func swiftFiles(in folder: String) -> [SourceFile] {
        let start = root.appending(path: folder).path
        let paths = FileManager.default.enumerator(atPath: start)?.compactMap { $0 as? String } ?? []
        return paths.filter { $0.hasSuffix(".swift") }.sorted().compactMap { path in
            guard let text = try? String(contentsOfFile: "\(start)/\(path)", encoding: .utf8) else { return nil }
            return SourceFile(path: "\(folder)/\(path)", text: text)
        }
    }
}

/// One Swift file.
struct SourceFile: Sendable, CustomTestStringConvertible {
    let path: String
    let lines: [String]

    var testDescription: String { path }

    init(path: String, text: String) {
        self.path = path
        var lines = text.components(separatedBy: "\n")
        if lines.last == "" { lines.removeLast() }
        self.lines = lines
    }

    /// The modules of its import lines, with their line numbers.
    var imports: [(line: Int, module: String)] {
        lines.enumerated().compactMap { number, line in
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(of: "import"), index < words.count - 1,
                words[..<index].allSatisfy({ $0.hasPrefix("@") || ["public", "internal", "package"].contains($0) })
            else { return nil }
            let kinds: Set<Substring> = ["struct", "class", "enum", "func", "protocol", "typealias", "var", "let"]
            let module = kinds.contains(words[index + 1]) ? words[index + 2] : words[index + 1]
            return (number + 1, String(module.prefix { $0 != "." }))
        }
    }

    /// Where functions and initialisers start, and how many lines they have: from the first line of the
    /// declaration to the brace in the same column.
    var functions: [(line: Int, length: Int)] {
        var found: [(Int, Int)] = []
        for (start, line) in lines.enumerated() {
            let indent = line.prefix { $0 == " " }
            let words = line.split(separator: " ")
            guard words.contains("func") || words.contains(where: { $0.hasPrefix("init(") }), !line.hasSuffix("}"),
                !line.contains("//"),
                let end = lines[(start + 1)...].firstIndex(where: { $0 == indent + "}" })
            else { continue }
            found.append((start + 1, end - start + 1))
        }
        return found
    }
}
