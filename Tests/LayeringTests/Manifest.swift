// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A target as `Package.swift` declares it.
struct ManifestTarget: Sendable {
    let name: String
    let dependencies: [String]
    let folder: String
    let isProgram: Bool
}

/// The target declarations of a manifest in their order, read as text: a test that runs must not start SwiftPM.
enum Manifest {
    static func targets() throws -> [ManifestTarget] { targets(in: try SourceTree.text(of: "Package.swift")) }

    static func targets(in text: String) -> [ManifestTarget] {
        let code = text.split(separator: "\n").map { (line: Substring) -> Substring in
            line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line
        }.joined(separator: "\n")
        let declaration = /\.(target|testTarget|executableTarget|systemLibrary)\(\s*name: "(\w+)"/
        let starts = code.matches(of: declaration)
        return starts.indices.map { index in
            let name = String(starts[index].2)
            let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : code.endIndex
            let rest = code[starts[index].range.upperBound..<end]
            let dependencies = rest.firstMatch(of: /dependencies: \[([^\]]*)\]/)?.1 ?? ""
            let folder = rest.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) }
            let isTest = starts[index].1 == "testTarget"
            return ManifestTarget(
                name: name,
                dependencies: dependencies.matches(of: /"(\w+)"/).map { String($0.1) },
                folder: folder ?? (isTest ? "Tests/" : "Sources/") + name,
                isProgram: starts[index].1 == "executableTarget"
            )
        }
    }
}
