// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

/// The two lists of targets in docs/architecture.md.
@Suite struct ArchitectureTests {
    private let targets: [ManifestTarget]
    private let lines: [String]

    init() throws {
        targets = try Manifest.targets().filter {
            $0.folder.hasPrefix("Sources/") && !$0.folder.hasPrefix("Sources/CLibraries/")
        }
        let text = try SourceTree.text(of: "docs/architecture.md")
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The lines after the one that begins with `start`, without the first `count`, up to the line `end`.
    private func block(after start: String, skipping count: Int, until end: String) throws -> [String] {
        let first = try #require(lines.firstIndex { $0.hasPrefix(start) }) + 1 + count
        return Array(lines[first...].prefix { $0 != end })
    }

    @Test func `the layers name each target once, below all that it imports`() throws {
        let label = "values, formats   ".count
        let listed = try block(after: "```layers", skipping: 0, until: "```").flatMap { line in
            line.dropFirst(label).split(separator: " ").map(String.init)
        }
        let names = targets.map(\.name)
        #expect(listed.sorted() == names.sorted())
        var above: Set<String> = []
        for name in listed {
            let dependencies = targets.first { $0.name == name }?.dependencies ?? []
            for dependency in dependencies where names.contains(dependency) {
                #expect(above.contains(dependency), "\(name) stands above \(dependency)")
            }
            above.insert(name)
        }
    }

    @Test func `the table has each target once`() throws {
        let rows = try block(after: "| target | contents |", skipping: 1, until: "")
        let listed = rows.flatMap { row in
            row.dropFirst().prefix { $0 != "|" }.matches(of: /`(\w+)`/).map { String($0.1) }
        }
        #expect(listed.sorted() == targets.map(\.name).sorted())
    }
}
