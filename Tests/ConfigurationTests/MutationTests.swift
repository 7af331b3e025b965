// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Configuration

@Suite(.computing) struct MutationTests {
    private static let words = [
        "true", "0", "-1", "99999999999999999999", "1h", "4GiB", "&a ", "*a", "!!str ", "[", "]", "{", "}", ": ", "\n",
        "- ", "'",
        "\"", "\t", "#", "? ", "| ", "%", "---\n", "...\n", "\u{0}", "\u{FEFF}", "é", "null", "_ipp._tcp/", "0x", "::1",
        "[::1]:",
        "<<", "\\", "wiredEthernet", "default",
    ]

    private func mutate(_ text: [UInt8], _ generator: inout SeededRandom) -> [UInt8] {
        var text = text
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            guard !text.isEmpty else { return text }
            let place = Int.random(in: 0..<text.count, using: &generator)
            let end = min(text.count, place + Int.random(in: 0...12, using: &generator))
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: text[place] = UInt8.random(in: .min ... .max, using: &generator)
            case 1: text.removeSubrange(place..<end)
            case 2: text.insert(contentsOf: text[place..<end], at: place)
            case 3: text.removeSubrange(place...)
            case 4:
                text.replaceSubrange(place..<end, with: Array((Self.words.randomElement(using: &generator) ?? "").utf8))
            default: text.insert(contentsOf: (Self.words.randomElement(using: &generator) ?? "").utf8, at: place)
            }
        }
        return text
    }

    @Test(arguments: 0..<8)
    func `any text gives a configuration or problems with places`(seed: Int) throws {
        var generator = SeededRandom(seed: UInt64(seed))
        let original = Array(fullConfiguration.utf8)
        var accepted = 0
        var refused = 0
        for _ in 0..<750 {
            let text = mutate(original, &generator)
            do {
                let source = Configuration.Source(name: "f", bytes: text)
                let configuration = try Configuration.read([source], paths: rootPaths)
                accepted += 1
                let again = Configuration.Source(name: "g", bytes: Array(configuration.yaml.utf8))
                #expect(try Configuration.read([again], paths: rootPaths) == configuration)
            } catch {
                refused += 1
                #expect(!error.problems.isEmpty)
                for problem in error.problems {
                    guard case .file("f", let line, let column) = problem.origin, line > 0, column > 0 else {
                        #expect(problem.origin == .builtIn, "\(problem)")
                        continue
                    }
                    #expect(!problem.description.contains("\n"))
                }
            }
        }
        #expect(accepted > 10)
        #expect(refused > 100)
    }
}
