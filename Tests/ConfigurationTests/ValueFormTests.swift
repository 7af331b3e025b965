// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import PathModel
import Spelling
import Testing

@testable import Configuration

/// Reads one value by a form.
private func read<Value>(_ form: ValueForm<Value>, _ text: String, isPlain: Bool = true) -> (Value?, [String]) {
    var findings = Findings()
    let node = YAMLNode(origin: .path("f"), content: .scalar(text, isPlain: isPlain))
    let value = form.read(node, "key", &findings)
    return (value, findings.problems.map(\.description))
}

/// Reads, writes and reads a value again.
private func survives<Value: Equatable>(_ form: ValueForm<Value>, _ text: String) -> Bool {
    guard let value = read(form, text).0, let tree = form.write(value) else { return false }
    let written = YAMLText.flow(tree)
    var findings = Findings()
    guard let node = YAMLDocument.read(Array(written.utf8), file: "f", into: &findings) else { return false }
    return form.read(node, "key", &findings) == value && findings.problems.isEmpty
}

@Suite struct ValueFormTests {
    @Test(arguments: [("true", true), ("false", false)])
    func `reads booleans`(text: String, expected: Bool) {
        #expect(read(.boolean, text).0 == expected)
        #expect(survives(.boolean, text))
    }

    @Test(arguments: [
        ("yes", "true"), ("on", "true"), ("True", "true"), ("no", "false"), ("OFF", nil), ("off", "false"),
        ("FALSE", "false"), ("flase", "false"), ("1", nil), ("maybe", nil),
    ])
    func `other words for booleans are refused with a hint`(text: String, meant: String?) {
        let (value, problems) = read(.boolean, text)
        #expect(value == nil)
        let hint = meant.map { " (did you mean '\($0)'?)" } ?? ""
        #expect(problems == ["f: key is '\(text)', expected true or false\(hint)"])
    }

    @Test(arguments: [("0", 0), ("7", 7), ("10", 10), ("007", 7)])
    func `reads whole numbers`(text: String, expected: Int) {
        #expect(read(.integer(0...10), text).0 == expected)
        #expect(survives(.integer(0...10), text))
    }

    @Test(arguments: ["11", "-1", "+5", "1.0", "1e1", "0x5", "", "ten", "1 0", "99999999999999999999999", "٣"])
    func `refuses other numbers`(text: String) {
        let (value, problems) = read(.integer(0...10), text)
        #expect(value == nil)
        #expect(problems.count == 1)
        #expect(problems.allSatisfy { $0.hasSuffix("expected a whole number from 0 to 10") })
    }

    @Test func `numbers in quotes are text`() {
        #expect(read(.integer(0...10), "5", isPlain: false).1.first?.hasSuffix("without quotes") == true)
        #expect(read(.name, "5", isPlain: false).0 == "5")
    }

    @Test(
        arguments: [("0", 0), ("255", 255), ("0xff", 255), ("0xFFFFFFFF", .max), ("4294967295", .max)]
            as [(String, UInt32)]
    )
    func `reads marks`(text: String, expected: UInt32) {
        #expect(read(.word(upTo: .max, isHexadecimal: true), text).0 == expected)
        #expect(survives(.word(upTo: .max, isHexadecimal: true), text))
        #expect(survives(.word(upTo: .max, isHexadecimal: false), text))
    }

    @Test(arguments: ["4294967296", "0x", "0x100000000", "-1", "+1", "ff", "0b1", "0x-1", "1 ", ""])
    func `refuses what is no mark`(text: String) {
        #expect(read(.word(upTo: .max, isHexadecimal: true), text).0 == nil)
    }

    @Test(
        arguments: [("1s", .seconds(1)), ("60s", .seconds(60)), ("1m", .seconds(60)), ("0", .zero), ("0ms", .zero)]
            as [(String, Duration)]
    )
    func `reads durations in their range, and zero where it has a meaning`(text: String, expected: Duration) {
        let form = ValueForm.duration(.seconds(1)...(.seconds(60)), zero: "never")
        #expect(read(form, text).0 == expected)
        #expect(survives(form, text))
    }

    @Test(arguments: [
        ("61s", "f: key is '61s', expected a duration from 1s to 1m"),
        ("999ms", "f: key is '999ms', expected a duration from 1s to 1m"),
        ("0", "f: key is '0', expected a duration from 1s to 1m"),
        ("5", "f: key is '5', expected a duration such as 250ms, 10s, 5m, 1h or 7d, from 1s to 1m"),
        ("-5s", "f: key is '-5s', expected a duration such as 250ms, 10s, 5m, 1h or 7d, from 1s to 1m"),
        ("soon", "f: key is 'soon', expected a duration such as 250ms, 10s, 5m, 1h or 7d, from 1s to 1m"),
        ("", "f: key is empty, expected a duration such as 250ms, 10s, 5m, 1h or 7d, from 1s to 1m"),
    ])
    func `tells whether the look or the range of a duration is wrong`(text: String, expected: String) {
        let (value, problems) = read(.duration(.seconds(1)...(.seconds(60))), text)
        #expect(value == nil)
        #expect(problems == [expected])
    }

    @Test(arguments: [("1KiB", 1024), ("1024", 1024), ("1MiB", 1 << 20), ("0", 0)])
    func `reads sizes in their range, and zero where it has a meaning`(text: String, expected: Int) {
        let form = ValueForm.size(.kibibytes(1)...(.mebibytes(1)), zero: "never")
        #expect(read(form, text).0?.bytes == expected)
        #expect(survives(form, text))
    }

    @Test(arguments: ["1023", "2MiB", "1kb", "-1", "", "1 KiB", "0"])
    func `refuses other sizes`(text: String) {
        #expect(read(.size(.kibibytes(1)...(.mebibytes(1))), text).0 == nil)
    }

    @Test(
        arguments: [
            (.ipv4, "192.0.2.1"), (.ipv4, "10.0.0.1"), (.ipv6, "2001:db8::1"), (.ipv6, "fd00::1"),
        ] as [(AddressFamily, String)]
    )
    func `reads probe addresses`(family: AddressFamily, text: String) {
        #expect(read(.probe(family), text).0?.description == text)
        #expect(survives(.probe(family), text))
    }

    @Test(
        arguments: [
            (.ipv4, "127.0.0.1"), (.ipv4, "169.254.1.1"), (.ipv4, "224.0.0.1"), (.ipv4, "0.0.0.0"),
            (.ipv4, "2001:db8::1"),
            (.ipv4, "example.test"), (.ipv4, "1.2.3"), (.ipv4, "192.0.2.1/24"), (.ipv6, "::1"), (.ipv6, "fe80::1"),
            (.ipv6, "ff02::1"), (.ipv6, "::"), (.ipv6, "192.0.2.1"), (.ipv6, "fe80::1%eth0"),
        ] as [(AddressFamily, String)]
    )
    func `refuses addresses that no default route serves`(family: AddressFamily, text: String) {
        #expect(read(.probe(family), text).0 == nil)
    }

    @Test(arguments: ["/", "/a", "/var/lib/nwpath", "/with space", "/ü"])
    func `reads absolute paths`(text: String) {
        #expect(read(.path, text).0 == text)
        #expect(survives(.path, text))
        #expect(survives(.fileOrOutput, text))
    }

    @Test(arguments: ["", "a", "./a", "~/a", "/a\nb", "/\u{7F}", "/" + String(repeating: "x", count: 4095)])
    func `refuses other paths`(text: String) {
        #expect(read(.path, text).0 == nil)
        #expect(read(.fileOrOutput, text).0 == nil)
    }

    @Test func `a hyphen is standard output, where that makes sense`() {
        #expect(read(.fileOrOutput, "-").0 == "-")
        #expect(survives(.fileOrOutput, "-"))
        #expect(read(.path, "-").0 == nil)
    }

    @Test(arguments: ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"])
    func `the kernel's names of standard output mean it too`(path: String) {
        #expect(read(.fileOrOutput, path).0 == "-")
        #expect(read(.path, path).0 == path)
    }

    @Test(arguments: ["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2", "/dev/stdin"])
    func `other standard streams are refused with what there is`(path: String) {
        let (value, findings) = read(.fileOrOutput, path)
        #expect(value == nil && "\(findings)".contains("a file, or - for standard output"), "\(findings)")
    }

    /// As long as an alternative name may be.
    private static let long = String(repeating: "a", count: 127)

    @Test(arguments: ["eth0", "a", "fifteen-letters", "wlan0.12", "br-1", "größe", "eth0@x", Self.long])
    func `reads interface names`(text: String) {
        #expect(read(.interface, text).0 == text)
        #expect(survives(.interface, text))
    }

    @Test(arguments: ["", ".", "..", "a/b", "a:b", "a b", Self.long + "a", "a\tb", "a\u{A0}b", "\u{7F}"])
    func `refuses what the kernel refuses`(text: String) {
        #expect(read(.interface, text).0 == nil)
    }

    @Test(arguments: ["a", "wired", "lte_1", "a-b", "0", String(repeating: "x", count: 32)])
    func `reads names of monitors`(text: String) {
        #expect(read(.name, text).0 == text)
        #expect(survives(.name, text))
    }

    @Test(arguments: ["", "A", "a b", "a.b", "ü", "a/b", String(repeating: "x", count: 33), "null", "~"].dropLast(2))
    func `refuses names that would not fit a URL or a label`(text: String) {
        #expect(read(.name, text).0 == nil)
    }

    @Test(arguments: ["nas", "nas.example.test", "a-b.c", "1.2", "x_y", String(repeating: "x", count: 63)])
    func `reads host names`(text: String) {
        #expect(read(.host, text).0 == text)
        #expect(survives(.host, text))
    }

    @Test(arguments: [
        "", ".", "a.", ".a", "a..b", "-a", "a-", "a:80", "http://a", "a b", "*", "ü", String(repeating: "x", count: 64),
        String(repeating: "abcdefg.", count: 32) + "a",
    ])
    func `refuses what cannot stand in a Host header`(text: String) {
        #expect(read(.host, text).0 == nil)
    }

    @Test(arguments: InterfaceType.allCases)
    func `reads every interface type`(type: InterfaceType) {
        #expect(read(ValueForm<InterfaceType>.choice, type.rawValue).0 == type)
        #expect(survives(ValueForm<InterfaceType>.choice, type.rawValue))
    }

    @Test(arguments: [("wifi0", "wifi"), ("wiredethernet", "wiredEthernet"), ("celular", "cellular"), ("dsl", nil)])
    func `suggests the nearest word of a choice`(text: String, meant: String?) {
        let problem = read(ValueForm<InterfaceType>.choice, text).1.first
        #expect(problem?.hasSuffix(meant.map { "(did you mean '\($0)'?)" } ?? "loopback") == true)
    }

    @Test func `a list reports every bad item at its own place`() {
        var findings = Findings()
        let items = ["a", "B", "c", "D"].enumerated().map {
            YAMLNode(origin: .file("f", line: $0 + 1, column: 3), content: .scalar($1, isPlain: true))
        }
        let list = YAMLNode(origin: .path("f"), content: .list(items))
        #expect(ValueForm<String>.name.list(upTo: 4).read(list, "key", &findings) == nil)
        #expect(findings.problems.map(\.origin.description) == ["f:2:3", "f:4:3"])
        #expect(findings.origin(of: "key[3]").description == "f:4:3")
        findings = Findings()
        #expect(ValueForm<String>.name.list(upTo: 3).read(list, "key", &findings) == nil)
        #expect(findings.problems.map(\.description) == ["f: key has more than 3 entries"])
    }

    @Test func `what is not set is not written`() {
        #expect(ValueForm<Bool>.boolean.optional.write(nil) == nil)
        #expect(ValueForm<Bool>.boolean.optional.write(false) == false)
        #expect(ValueForm<String>.name.list(upTo: 3).write([]) == [])
        #expect(ValueForm<String>.name.list(upTo: 3).isList)
    }
}
