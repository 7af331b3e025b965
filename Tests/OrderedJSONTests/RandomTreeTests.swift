// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

private extension SeededRandom {
    mutating func text() -> String {
        let alphabet = "ab\"\\/\n\u{0}\u{1F}\u{7F}é€\u{2028}\u{2029}🌐{}[],: "
        return String(
            (0..<Int.random(in: 0...12, using: &self)).map { _ in alphabet.randomElement(using: &self) ?? "a" }
        )
    }

    mutating func tree(depth: Int) -> JSONValue {
        switch Int.random(in: 0...(depth > 0 ? 8 : 6), using: &self) {
        case 0: return .null
        case 1: return .bool(.random(using: &self))
        case 2: return .integer(Int64(bitPattern: next()) >> Int64.random(in: 0...63, using: &self))
        case 3: return .unsigned(next() | 1 << 63)
        case 4: return .double(Double.random(in: -1e6...1e6, using: &self))
        case 5, 6: return .string(text())
        case 7: return .array((0..<Int.random(in: 0...5, using: &self)).map { _ in tree(depth: depth - 1) })
        default:
            var object = JSONObject()
            for _ in 0..<Int.random(in: 0...5, using: &self) { object[text()] = tree(depth: depth - 1) }
            return .object(object)
        }
    }
}

@Suite(.computing) struct RandomTreeTests {
    private func read(_ text: [UInt8]) -> Result<JSONValue, JSONError> {
        do throws(JSONError) {
            return .success(try JSONValue(parsing: text))
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `random trees come back as they were, compact and pretty`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<150 {
            let tree = random.tree(depth: 6)
            #expect(try JSONValue(parsing: try OrderedJSONEncoder().encode(tree)) == tree)
            #expect(try JSONValue(parsing: try OrderedJSONEncoder(style: .pretty).encode(tree)) == tree)
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `a text cut anywhere is refused`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<10 {
            let text = try OrderedJSONEncoder().encode(.array([random.tree(depth: 4)]))
            for end in text.indices {
                #expect(throws: JSONError.self) { try JSONValue(parsing: text[..<end]) }
            }
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `changed bytes give a value that can be written, or an error inside the text`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<60 {
            let text = try OrderedJSONEncoder().encode(.array([random.tree(depth: 4), random.tree(depth: 4)]))
            for _ in 0..<20 {
                var changed = text
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    changed[Int.random(in: changed.indices, using: &random)] = .random(in: 0...255, using: &random)
                }
                switch read(changed) {
                case .success(let value):
                    #expect(try JSONValue(parsing: try OrderedJSONEncoder().encode(value)) == value.normalized)
                case .failure(.syntax(_, let offset)): #expect((0...changed.count).contains(offset))
                case .failure(let error): Issue.record(error)
                }
            }
        }
    }
}

extension JSONValue {
    /// The value with whole doubles as integers, as the shortest text of a number makes them.
    fileprivate var normalized: JSONValue {
        switch self {
        case .double:
            guard let text = try? OrderedJSONEncoder().string(self), let read = try? JSONValue(parsing: text) else {
                return self
            }
            return read
        case .array(let values): return .array(values.map(\.normalized))
        case .object(let object):
            var changed = JSONObject()
            for member in object.members { changed[member.key] = member.value.normalized }
            return .object(changed)
        default: return self
        }
    }
}
