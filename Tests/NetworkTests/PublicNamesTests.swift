// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// What the compiler says of the libraries' public names.
@Suite struct PublicNamesTests {
    /// The symbol graph of a library, as `swift symbolgraph-extract` writes it.
    private struct Graph: Decodable {
        struct Symbol: Decodable {
            struct Identifier: Decodable {
                let precise: String
            }
            struct Comment: Decodable {}

            let pathComponents: [String]
            let identifier: Identifier
            let docComment: Comment?

            /// Whether the compiler made it, as `!=` beside `==`.
            var isSynthesized: Bool { identifier.precise.contains("::SYNTHESIZED::") }
            var name: String { pathComponents.joined(separator: ".") }
            var isOfLinuxOnly: Bool {
                pathComponents.contains { $0.hasPrefix("linux") || $0.hasPrefix("init(linux") }
            }
        }

        let symbols: [Symbol]
    }

    /// Writes the symbol graph of a library into a folder.
    private func extract(_ module: String, into folder: Scratch) throws {
        let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
        var words = [ProcessInfo.processInfo.environment["SWIFT"] ?? "swift", "symbolgraph-extract"]
        words += ["-module-name", module, "-I", products + "/Modules", "-minimum-access-level", "public"]
        words += ["-target", "\(Self.architecture)-unknown-linux-gnu", "-output-dir", folder.path]
        let root = FileManager.default.currentDirectoryPath
        for name in try FileManager.default.contentsOfDirectory(atPath: "\(root)/Sources/CLibraries") {
            let folder = "\(root)/Sources/CLibraries/\(name)"
            let places = [folder, "\(folder)/include", "\(products)/\(name).build"]
            for map in places.map({ $0 + "/module.modulemap" }) where FileManager.default.fileExists(atPath: map) {
                words += ["-Xcc", "-fmodule-map-file=" + map]
            }
        }
        let headers = try Command.run(["pkg-config", "--cflags-only-I", "libnl-3.0"])
        for flag in headers.split(whereSeparator: \.isWhitespace) { words += ["-Xcc", String(flag)] }
        try Command.run(words)
    }

    /// Public symbols of a library, without those that the compiler made.
    private func symbols(of module: String) throws -> [Graph.Symbol] {
        let folder = try Scratch()
        try extract(module, into: folder)
        let file = URL(fileURLWithPath: "\(folder.path)/\(module).symbols.json")
        return try JSONDecoder().decode(Graph.self, from: Data(contentsOf: file)).symbols.filter { !$0.isSynthesized }
    }

    #if arch(arm64)
    private static let architecture = "aarch64"
    #else
    private static let architecture = "x86_64"
    #endif

    @Test(arguments: ["Network", "FoundationBonjour", "FoundationWebSocket"])
    func `every public name says what it is`(module: String) throws {
        let all = try symbols(of: module)
        #expect(all.count > 50)
        #expect(all.filter { $0.docComment == nil }.map(\.name) == [])
    }

    @Test(arguments: ["Network", "FoundationBonjour", "FoundationWebSocket"])
    func `the documentation builds, and every link in it leads somewhere`(module: String) throws {
        let (graphs, output) = (try Scratch(), try Scratch())
        try extract(module, into: graphs)
        let swift = ProcessInfo.processInfo.environment["SWIFT"] ?? "swift"
        let compiler = try Command.run(["sh", "-c", "realpath \"$(command -v \"$0\")\"", swift])
        // DocC lies beside the compiler; `swift` may be a link to it.
        let folder = URL(fileURLWithPath: compiler.split(separator: "\n").first.map(String.init) ?? "")
        var words = [folder.deletingLastPathComponent().path + "/docc", "convert", "Sources/\(module)/\(module).docc"]
        words += ["--additional-symbol-graph-dir", graphs.path, "--output-path", output.path + "/out"]
        words += ["--fallback-display-name", module, "--fallback-bundle-identifier", "nwpath.\(module)"]
        words += ["--fallback-bundle-version", "1", "--warnings-as-errors"]
        try Command.run(words)
    }

    @Test func `the list of Apple's names is true, and complete`() throws {
        let text = try String(contentsOfFile: "docs/network-names.txt", encoding: .utf8)
        var here: Set<String> = []
        var missing: Set<String> = []
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let type = String(parts[0])
            if !type.isEmpty { here.insert(type) }
            for word in parts[1].split(separator: " ") {
                let name = (type.isEmpty ? "" : type + ".") + word.drop { $0 == "!" }
                if word.hasPrefix("!") { missing.insert(name) } else { here.insert(name) }
            }
        }
        let names = Set(try symbols(of: "Network").filter { !$0.isOfLinuxOnly }.map(\.name))
        #expect(here.subtracting(names) == [], "listed and not there")
        #expect(names.subtracting(here) == [], "there and not listed")
        #expect(missing.intersection(names) == [], "there after all")
        let parity = try String(contentsOfFile: "docs/apple-parity.md", encoding: .utf8)
        #expect(parity.contains("](network-names.txt)"))
    }
}
