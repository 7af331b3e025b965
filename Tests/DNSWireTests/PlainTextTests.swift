// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DNSWire

/// What is shown of bytes when they do not stand alone: a zero byte behind them keeps them from the quick way.
private func slowText(of bytes: [UInt8], escapingDots dots: Bool) -> String {
    String(SafeText.text(of: bytes + [0], escapingDots: dots).dropLast(4))
}

private func randomName(_ random: inout some RandomNumberGenerator, of alphabet: ClosedRange<UInt8>) -> DomainName {
    let labels = (0..<Int.random(in: 0...5, using: &random)).map { _ in
        (0..<Int.random(in: 1...12, using: &random)).map { _ in UInt8.random(in: alphabet, using: &random) }
    }
    return (try? DomainName(labels: labels)) ?? DomainName()
}

@Suite struct PlainTextTests {
    @Test(arguments: [false, true])
    func `every byte alone is shown as it is among others`(dots: Bool) {
        for byte in UInt8.min...UInt8.max {
            let text = SafeText.text(of: [byte], escapingDots: dots)
            #expect(text == slowText(of: [byte], escapingDots: dots))
            #expect(SafeText.bytes(of: text) == [byte])
        }
    }

    @Test(arguments: [UInt8(0x20)...0x7E, 0x2D...0x2F, 0x5B...0x5D, 0...255])
    func `the quick way says what the slow one says`(alphabet: ClosedRange<UInt8>) {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let count = Int.random(in: 0...20, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: alphabet, using: &random) }
            for dots in [false, true] {
                #expect(SafeText.text(of: bytes, escapingDots: dots) == slowText(of: bytes, escapingDots: dots))
            }
        }
    }

    @Test(arguments: [UInt8(0x61)...0x7A, 0x2C...0x30, 0...255])
    func `a name is shown label by label, whichever way`(alphabet: ClosedRange<UInt8>) {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let name = randomName(&random, of: alphabet)
            let labels = name.labels.map { SafeText.text(of: $0, escapingDots: true) }
            #expect(name.description == (labels.isEmpty ? "." : labels.joined(separator: ".")))
            #expect(DomainName(name.description) == name)
            #expect(name.firstByte == name.labels.first?.first)
        }
    }
}

@Suite struct NameEqualityTests {
    @Test func `names are equal, and hash alike, when their folded labels are the same`() {
        var random = SystemRandomNumberGenerator()
        func folded(_ name: DomainName) -> [[UInt8]] { name.labels.map { $0.map(DomainName.fold) } }
        for _ in 0..<2000 {
            // Of few letters, so that equal ones come up.
            let (left, right) = (randomName(&random, of: 0x40...0x42), randomName(&random, of: 0x60...0x62))
            #expect((left == right) == (folded(left) == folded(right)))
            #expect((left == left.parent) == (left.labelCount == 0))
            var swapped = left.labels
            for index in swapped.indices {
                swapped[index] = swapped[index].map { (65...90).contains($0) ? $0 | 32 : $0 }
            }
            let other = try? DomainName(labels: swapped)
            #expect(other == left && other?.hashValue == left.hashValue)
        }
    }

    @Test func `a name is within its parents, and within nothing else`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let (name, other) = (randomName(&random, of: 0x61...0x62), randomName(&random, of: 0x61...0x62))
            #expect(name.isWithin(name.parent) && name.isWithin(name) && name.isWithin(DomainName()))
            let labels = (name.labels, other.labels)
            #expect(name.isWithin(other) == (labels.0.suffix(labels.1.count) == labels.1[...]))
        }
    }
}

@Suite struct RepeatedNameTests {
    /// A message with so many questions for names of their own, then as many that point to them.
    private func message(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = [0, 0, 0, 0, UInt8((2 * count) >> 8), UInt8((2 * count) & 0xFF), 0, 0, 0, 0, 0, 0]
        var offsets: [Int] = []
        for number in 0..<count {
            offsets.append(bytes.count)
            bytes += [2, 65 + UInt8(number / 26), 97 + UInt8(number % 26), 0, 0, 1, 0, 1]
        }
        for offset in offsets.reversed() { bytes += [0xC0 | UInt8(offset >> 8), UInt8(offset & 0xFF), 0, 1, 0, 1] }
        return bytes
    }

    @Test(arguments: [1, 2, 63, 64, 65, 200])
    func `names that are pointers are the names they point to, however many there are`(count: Int) throws {
        let names = try parse(message(count)).questions.map(\.name)
        #expect(names.count == 2 * count && Set(names).count == count)
        #expect(Array(names.prefix(count).reversed()) == Array(names.suffix(count)))
    }

    @Test func `a pointer into the middle of a name is read from there`() throws {
        let bytes: [UInt8] =
            [0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0] + [1, 97, 1, 98, 0, 0, 1, 0, 1] + [0xC0, 14, 0, 1, 0, 1]
        let names = try parse(bytes + [0xC0, 21, 0, 1, 0, 1]).questions.map(\.name.description)
        #expect(names == ["a.b", "b", "b"])
    }

    @Test(arguments: [[0xC0], [1, 97, 0xC0]] as [[UInt8]])
    func `half a pointer is none`(bytes: [UInt8]) {
        let header: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        #expect(throws: WireError.truncated(at: header.count + bytes.count - 1)) { try parse(header + bytes) }
    }
}
