// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Configuration

/// A section of our own: what settings do must not depend on which settings there are.
private struct Toy: ConfigurationSection {
    var size = 3
    var words = ["a"]
    var note: String?
    var inner = Inner()
    var boxes: [Named<Box>] = []

    struct Inner: ConfigurationSection {
        var isOn = false

        static let settings: [Setting<Inner>] = [
            Setting("on", \.isOn, .boolean, needsRestart: true, "Whether it is on.")
        ]
    }

    struct Box: ConfigurationEntry {
        var weight: Int?
        var label = "none"

        static let settings: [Setting<Box>] = [
            Setting("weight", \.weight, ValueForm.integer(0...100).optional, "How heavy it is."),
            Setting("label", \.label, .name, needsRestart: true, "What it says."),
        ]
    }

    static let settings: [Setting<Toy>] = [
        Setting("size", \.size, .integer(1...9), "How large it is."),
        Setting("words", \.words, ValueForm.name.list(upTo: 3), needsRestart: true, "What it says."),
        Setting("note", \.note, ValueForm.name.optional, example: "hello", "A remark."),
        Setting(section: "inner", \.inner, "What is inside."),
        Setting(map: "boxes", \.boxes, names: .name, upTo: 2, example: "red:\n  weight: 3", "What is carried."),
    ]
}

/// Reads a text into a toy.
private func toy(_ texts: String...) -> (Toy, [String]) {
    var toy = Toy()
    var findings = Findings()
    for (number, text) in texts.enumerated() {
        guard let node = YAMLDocument.read(Array(text.utf8), file: "f\(number)", into: &findings) else { continue }
        SectionReader.read(node, into: &toy, path: "", &findings)
    }
    return (toy, findings.problems.map(\.description))
}

@Suite struct ToyReadingTests {
    @Test func `values, lists, sections and maps are read`() {
        let (toy, problems) = toy(
            "size: 9\nwords: [x, y]\nnote: hi\ninner: {on: true}\nboxes: {red: {weight: 7, label: r}, blue: {}}"
        )
        #expect(problems == [])
        #expect(toy.size == 9 && toy.words == ["x", "y"] && toy.note == "hi" && toy.inner.isOn)
        #expect(toy.boxes.map(\.name) == ["red", "blue"])
        #expect(toy.boxes[0].value.weight == 7 && toy.boxes[0].value.label == "r")
        #expect(toy.boxes[1].value == Toy.Box())
    }

    @Test(arguments: ["", "inner:", "boxes:", "inner: {}", "boxes: {}", "boxes: ~", "inner: null"])
    func `what says nothing changes nothing`(text: String) {
        let (toy, problems) = toy(text)
        #expect(toy == Toy() && problems == [])
    }

    @Test func `later texts replace values and lists, and add to maps`() {
        let (toy, problems) = toy(
            "size: 1\nwords: [x]\nboxes: {red: {weight: 1}}",
            "words: [y]\nboxes: {blue: {weight: 2}, red: {label: r}}",
            "size: 2"
        )
        #expect(problems == [])
        #expect(toy.size == 2 && toy.words == ["y"])
        #expect(toy.boxes.map(\.name) == ["red", "blue"])
        #expect(toy.boxes[0].value.weight == 1 && toy.boxes[0].value.label == "r")
    }

    @Test(arguments: [
        ("size: 10", "f0:1:7: size is '10', expected a whole number from 1 to 9"),
        ("sise: 1", "f0:1:1: unknown key 'sise' (did you mean 'size'?)"),
        ("inner: {off: true}", "f0:1:9: unknown key 'off' in inner"),
        ("inner: [on]", "f0:1:8: inner is a list, expected a map of keys and values"),
        ("boxes: [red]", "f0:1:8: boxes is a list, expected a map from names to settings"),
        ("boxes: red", "f0:1:8: boxes is 'red', expected a map from names to settings"),
        ("boxes: {Red: {}}", "f0:1:9: a name in boxes is 'Red', expected a name of a-z, 0-9, _ and -, up to 32 long"),
        ("boxes: {red: [1]}", "f0:1:14: boxes.red is a list, expected a map of keys and values"),
        ("boxes: {red: {wait: 1}}", "f0:1:15: unknown key 'wait' in boxes.red"),
        ("words: [a, b, c, d]", "f0:1:8: words has more than 3 entries"),
        ("words: [a, B, c]", "f0:1:12: words[1] is 'B', expected a name of a-z, 0-9, _ and -, up to 32 long"),
        ("- size", "f0:1:1: the file is a list, expected a map of keys and values"),
        ("boxes: {a: {}, b: {}, c: {}}", "f0:1:23: boxes has more than 2 entries"),
        ("note:", "f0:1:6: note is empty, expected a name of a-z, 0-9, _ and -, up to 32 long"),
    ])
    func `each mistake is told once, at its place`(text: String, expected: String) {
        #expect(toy(text).1 == [expected])
    }

    @Test func `a mistake leaves the value as it was, and the others are read`() {
        let (toy, problems) = toy("size: 0\nwords: [OK]\nnote: kept\ninner: {on: maybe}")
        #expect(toy.size == 3 && toy.words == ["a"] && !toy.inner.isOn)
        #expect(toy.note == "kept")
        #expect(problems.count == 3)
    }

    @Test func `entries over the limit are left out, those before stay`() {
        let (toy, problems) = toy("boxes: {a: {}, b: {}, c: {}, d: {}}", "boxes: {a: {weight: 5}}")
        #expect(toy.boxes.map(\.name) == ["a", "b"] && toy.boxes[0].value.weight == 5)
        #expect(problems.count == 1)
    }
}

@Suite struct ToyWritingTests {
    @Test func `what is set is written in the order of the table`() {
        var toy = Toy()
        #expect(
            SectionReader.write(toy) == ["size": 3, "words": ["a"], "inner": ["on": false], "boxes": [:]]
        )
        toy.note = "n"
        toy.boxes = [Named("red", Toy.Box())]
        toy.boxes[0].value.weight = 4
        #expect(
            SectionReader.write(toy) == [
                "size": 3, "words": ["a"], "note": "n", "inner": ["on": false],
                "boxes": ["red": ["weight": 4, "label": "none"]],
            ]
        )
    }

    @Test func `what is written reads back`() throws {
        var toy = Toy()
        toy.words = []
        toy.note = "true"
        toy.boxes = [Named("b", Toy.Box()), Named("a", Toy.Box())]
        let text = YAMLText.block(try #require(SectionReader.write(toy)))
        let (again, problems) = read(text)
        #expect(problems == [] && again == toy)
    }

    /// Reads a text, where a toy already has the short name.
    private func read(_ text: String) -> (Toy, [String]) { toy(text) }

    @Test func `differences are told key by key, with what needs a restart`() {
        var new = Toy()
        new.size = 4
        new.words = ["b"]
        new.inner.isOn = true
        let changes = SectionReader.changes(from: Toy(), to: new, path: "toy")
        #expect(changes.map(\.path) == ["toy.size", "toy.words", "toy.inner.on"])
        #expect(changes.map(\.needsRestart) == [false, true, true])
        #expect(SectionReader.changes(from: new, to: new, path: "").isEmpty)
    }

    @Test func `entries come, go, change and move`() {
        func changes(_ old: [Named<Toy.Box>], _ new: [Named<Toy.Box>]) -> [String] {
            NamedReader<Toy.Box>.changes(from: old, to: new, path: "boxes").map(\.path)
        }
        var heavy = Toy.Box()
        heavy.weight = 9
        let (a, b) = (Named("a", Toy.Box()), Named("b", Toy.Box()))
        #expect(changes([], [a]) == ["boxes.a"])
        #expect(changes([a], []) == ["boxes.a"])
        #expect(changes([a, b], [b, a]) == ["boxes"])
        #expect(changes([a], [Named("a", heavy)]) == ["boxes.a.weight"])
        #expect(changes([a], [Named("a", heavy), b]) == ["boxes.a.weight", "boxes.b"])
        #expect(changes([a, b], [a, b]) == [])
    }

    @Test func `paths are joined with dots`() {
        #expect(SectionReader.join("", "a") == "a" && SectionReader.join("a", "b") == "a.b")
        #expect(SectionReader.join("a.b", "c") == "a.b.c")
    }
}

@Suite struct ToyOutlineTests {
    private let outlines = Toy.settings.map { $0.outline(Toy()) }

    @Test func `the default file shows every key with its comment`() {
        let text = outlines.map { $0.commented(indent: 0) }.joined()
        #expect(
            text == """
                # How large it is.
                size: 3
                # What it says.
                words: [a]
                # A remark.
                # note: hello
                # What is inside.
                inner:
                  # Whether it is on.
                  "on": false
                # What is carried.
                # boxes:
                #   red:
                #     weight: 3

                """
        )
    }

    @Test func `the schema has types, bounds, defaults and no other keys`() {
        let schema = SettingOutline.objectSchema(outlines)
        #expect(schema["additionalProperties"] == false && schema["type"] == ["object", "null"])
        let properties = schema["properties"]
        #expect(properties?["size"]?["minimum"] == 1 && properties?["size"]?["default"] == 3)
        #expect(properties?["words"]?["maxItems"] == 3 && properties?["words"]?["items"]?["type"] == "string")
        #expect(properties?["note"]?["default"] == nil && properties?["note"]?["description"] == "A remark.")
        #expect(properties?["inner"]?["properties"]?["on"]?["type"] == "boolean")
        #expect(properties?["boxes"]?["maxProperties"] == 2)
        #expect(properties?["boxes"]?["propertyNames"]?["maxLength"] == 32)
        #expect(properties?["boxes"]?["additionalProperties"]?["properties"]?["weight"]?["maximum"] == 100)
    }

    @Test func `the reference has every key with its variable and default`() {
        let references = SettingOutline.references(outlines, below: "toy")
        #expect(
            references.map(\.key) == [
                "toy.size", "toy.words", "toy.note", "toy.inner", "toy.inner.on", "toy.boxes", "toy.boxes.NAME.weight",
                "toy.boxes.NAME.label",
            ]
        )
        #expect(references.map(\.standard) == ["3", "[a]", nil, nil, "false", nil, nil, "none"])
        #expect(
            references.map(\.variable) == [
                "NWPATH_TOY_SIZE", "NWPATH_TOY_WORDS", "NWPATH_TOY_NOTE", nil, "NWPATH_TOY_INNER_ON", nil, nil, nil,
            ]
        )
        #expect(references[0].expectation == "a whole number from 1 to 9" && references[5].expectation == "a map")
    }

    @Test func `flags and variables reach values outside of maps`() {
        let known = Configuration.overridable(outlines)
        #expect(known.map(\.key) == ["size", "words", "note", "inner.on"])
        #expect(known.map(\.isList) == [false, true, false, false])
        #expect(Configuration.variable(forKey: "inner.on") == "NWPATH_INNER_ON")
    }

    @Test(arguments: [
        ("NWPATH_WORDS", "a,b", ["a", "b"]), ("NWPATH_WORDS", " a , b ", ["a", "b"]), ("NWPATH_WORDS", "", []),
        ("NWPATH_WORDS", ",,a,", ["a"]), ("NWPATH_SIZE", "1,2", ["1,2"]), ("NWPATH_SIZE", " 1", [" 1"]),
        ("NWPATH_INNER_ON", "true", ["true"]),
    ])
    func `lists in variables are separated by commas, other values taken whole`(
        variable: String,
        text: String,
        values: [String]
    ) {
        let overrides = Configuration.overrides(in: [variable: text, "PATH": "/bin", "NWPATH_X": "1"], outlines)
        #expect(overrides.map(\.values) == [values])
        #expect(overrides.first?.origin == .environment(variable))
    }

    @Test func `an override is read like a file`() {
        var toy = Toy()
        var findings = Findings()
        let overrides = [
            ConfigurationOverride(flag: "--size", key: "size", values: ["1", "5"]),
            ConfigurationOverride(flag: "--on", key: "inner.on", values: ["true"]),
        ]
        for override in overrides { SectionReader.read(override.node(isList: false), into: &toy, path: "", &findings) }
        let words = ConfigurationOverride(flag: "--words", key: "words", values: ["x", "Y"])
        SectionReader.read(words.node(isList: true), into: &toy, path: "", &findings)
        #expect(toy.size == 5 && toy.inner.isOn && toy.words == ["a"])
        #expect(
            findings.problems.map(\.description) == [
                "--words: words[1] is 'Y', expected a name of a-z, 0-9, _ and -, up to 32 long"
            ]
        )
    }
}
