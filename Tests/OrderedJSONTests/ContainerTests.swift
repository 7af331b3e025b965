// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import Testing

/// Keys of the containers below.
private enum Key: String, CodingKey, CaseIterable {
    case first, second, third
}

/// A value that encodes itself by a closure.
private struct By: Encodable {
    let body: @Sendable (any Encoder) throws -> Void

    init(_ body: @escaping @Sendable (any Encoder) throws -> Void) { self.body = body }

    func encode(to encoder: any Encoder) throws { try body(encoder) }
}

@Suite struct ContainerTests {
    private let encoder = OrderedJSONEncoder()

    @Test func `an array takes every kind of element`() throws {
        let value = By { encoder in
            var array = encoder.unkeyedContainer()
            try array.encodeNil()
            try array.encode(true)
            try array.encode("a")
            try array.encode(0.5)
            try array.encode(Float(0.25))
            try array.encode(Int8(-1))
            try array.encode(Int16(-2))
            try array.encode(Int32(-3))
            try array.encode(Int64(-4))
            try array.encode(-5)
            try array.encode(UInt8(1))
            try array.encode(UInt16(2))
            try array.encode(UInt32(3))
            try array.encode(UInt64(4))
            try array.encode(UInt(5))
            try array.encode([["x"]])
            #expect(array.count == 16)
        }
        #expect(try encoder.string(value) == #"[null,true,"a",0.5,0.25,-1,-2,-3,-4,-5,1,2,3,4,5,[["x"]]]"#)
    }

    @Test func `a single place takes every kind of value`() throws {
        let cases: [(@Sendable (inout any SingleValueEncodingContainer) throws -> Void, String)] = [
            ({ try $0.encodeNil() }, "null"), ({ try $0.encode(false) }, "false"), ({ try $0.encode("a") }, "\"a\""),
            ({ try $0.encode(1.5) }, "1.5"), ({ try $0.encode(Float(2.5)) }, "2.5"),
            ({ try $0.encode(Int8(-8)) }, "-8"),
            ({ try $0.encode(Int16(-16)) }, "-16"), ({ try $0.encode(Int32(-32)) }, "-32"),
            ({ try $0.encode(Int64(-64)) }, "-64"), ({ try $0.encode(-1) }, "-1"), ({ try $0.encode(UInt8(8)) }, "8"),
            ({ try $0.encode(UInt16(16)) }, "16"), ({ try $0.encode(UInt32(32)) }, "32"),
            ({ try $0.encode(UInt64(64)) }, "64"), ({ try $0.encode(UInt(1)) }, "1"),
            ({ try $0.encode([1, 2]) }, "[1,2]"),
        ]
        for (write, expected) in cases {
            let value = By { encoder in
                var container = encoder.singleValueContainer()
                try write(&container)
            }
            #expect(try encoder.string(value) == expected)
            #expect(try encoder.string([value, value]) == "[\(expected),\(expected)]")
        }
    }

    @Test func `an object takes every kind of member, in the order of writing`() throws {
        let value = By { encoder in
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(true, forKey: .third)
            try object.encode(Float(0.5), forKey: .second)
            try object.encodeNil(forKey: .first)
        }
        #expect(try encoder.string(value) == #"{"third":true,"second":0.5,"first":null}"#)
    }

    @Test func `optional members are left out, nullable ones written`() throws {
        struct Both: Encodable {
            var plain: Int?
            @Nullable var kept: Int?
        }
        #expect(try encoder.string(Both(plain: nil, kept: nil)) == #"{"kept":null}"#)
        #expect(try encoder.string(Both(plain: 1, kept: 2)) == #"{"plain":1,"kept":2}"#)
        #expect(Nullable(wrappedValue: 1) == Nullable(wrappedValue: 1))
        #expect(Nullable(wrappedValue: 1) != Nullable(wrappedValue: nil))
    }

    @Test func `a nullable value of a type with members nests`() throws {
        struct Inner: Encodable { let a = 1 }
        struct Outer: Encodable { @Nullable var inner: Inner? }
        #expect(try encoder.string(Outer(inner: Inner())) == #"{"inner":{"a":1}}"#)
        #expect(try encoder.string([Outer(inner: nil)]) == #"[{"inner":null}]"#)
    }

    @Test func `super encoders have their own key, or the name super`() throws {
        let value = By { encoder in
            var object = encoder.container(keyedBy: Key.self)
            try 1.encode(to: object.superEncoder(forKey: .second))
            try "x".encode(to: object.superEncoder())
            var array = object.nestedUnkeyedContainer(forKey: .third)
            try true.encode(to: array.superEncoder())
            try [2].encode(to: array.superEncoder())
        }
        #expect(try encoder.string(value) == #"{"second":1,"super":"x","third":[true,[2]]}"#)
    }

    @Test func `deep nesting is written as deep`() throws {
        struct Chain: Encodable {
            let depth: Int
            func encode(to encoder: any Encoder) throws {
                var array = encoder.unkeyedContainer()
                if depth > 0 { try array.encode(Chain(depth: depth - 1)) }
            }
        }
        let text = try encoder.string(Chain(depth: 200))
        #expect(text == String(repeating: "[", count: 201) + String(repeating: "]", count: 201))
    }

    @Test func `coding paths lead to the value, through objects and arrays`() throws {
        let probe = By { encoder in
            var container = encoder.singleValueContainer()
            try container.encode(encoder.codingPath.map(\.stringValue).joined(separator: "."))
            #expect(container.codingPath.map(\.stringValue) == encoder.codingPath.map(\.stringValue))
            #expect(encoder.codingPath.allSatisfy { $0.intValue == nil })
        }
        let value = By { encoder in
            var object = encoder.container(keyedBy: Key.self)
            var array = object.nestedUnkeyedContainer(forKey: .first)
            try array.encodeNil()
            try array.encode(probe)
            #expect(array.codingPath.map(\.stringValue) == ["first"])
            try object.encode(["k": probe], forKey: .second)
        }
        #expect(try encoder.string(value) == #"{"first":[null,"first.1"],"second":{"k":"second.k"}}"#)
        #expect(encoder.style == .compact)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `a number that JSON cannot say is an error wherever it stands`(number: Double) {
        #expect(throws: JSONError.notFinite(path: "")) { try encoder.encode(number) }
        #expect(throws: JSONError.notFinite(path: "first")) {
            try encoder.encode(
                By { encoder in
                    var object = encoder.container(keyedBy: Key.self)
                    try object.encode(number, forKey: .first)
                }
            )
        }
        #expect(throws: JSONError.notFinite(path: "1")) { try encoder.encode([0, number]) }
        #expect(throws: JSONError.notFinite(path: "a.2")) { try encoder.encode(["a": [0, 1, Float(number)]]) }
    }

    @Test func `a failure in the middle writes nothing at all`() throws {
        var isRefused = false
        do { _ = try encoder.encode([1, 2, .nan] as [Double]) } catch { isRefused = true }
        #expect(isRefused)
        #expect(try encoder.string([1, 2]) == "[1,2]")
    }

    @Test func `a second kind of container for one value is an error`() {
        let both = By { encoder in
            _ = encoder.unkeyedContainer()
            _ = encoder.container(keyedBy: Key.self)
        }
        #expect(throws: JSONError.closedContainer(path: "")) { try encoder.encode(both) }
        let scalarFirst = By { encoder in
            var single = encoder.singleValueContainer()
            try single.encode(1)
            _ = encoder.container(keyedBy: Key.self)
        }
        #expect(throws: JSONError.self) { try encoder.encode(scalarFirst) }
    }

    @Test func `the same kind twice is one container`() throws {
        let twice = By { encoder in
            var first = encoder.unkeyedContainer()
            try first.encode(1)
            var second = encoder.unkeyedContainer()
            try second.encode(2)
            #expect(second.count == 2)
        }
        #expect(try encoder.string(twice) == "[1,2]")
    }

    @Test func `writing to a container whose parent went on is an error, whatever is written`() {
        let writes: [@Sendable (inout any UnkeyedEncodingContainer) throws -> Void] = [
            { try $0.encodeNil() }, { try $0.encode(true) }, { try $0.encode("a") }, { try $0.encode(1) },
            { try $0.encode(0.5) }, { try $0.encode([1]) },
        ]
        for write in writes {
            let value = By { encoder in
                var object = encoder.container(keyedBy: Key.self)
                var inner = object.nestedUnkeyedContainer(forKey: .first)
                try object.encode(1, forKey: .second)
                #expect(inner.count == 0)
                try write(&inner)
            }
            #expect(throws: JSONError.closedContainer(path: "second.")) { try encoder.encode(value) }
        }
    }
}

@Suite struct PrettyTests {
    private let encoder = OrderedJSONEncoder(style: .pretty)

    @Test(arguments: [
        ("[]", "[]"), ("{}", "{}"), ("[[]]", "[\n  []\n]"), (#"{"a":{}}"#, "{\n  \"a\": {}\n}"), ("1", "1"),
        (#"[1,{"a":[2]}]"#, "[\n  1,\n  {\n    \"a\": [\n      2\n    ]\n  }\n]"), ("null", "null"), (#""x""#, #""x""#),
    ])
    func `each member has a line, empty containers none`(text: String, expected: String) throws {
        let value = try JSONValue(parsing: text)
        #expect(try encoder.string(value) == expected)
        #expect(try JSONValue(parsing: expected) == value)
        #expect(try OrderedJSONEncoder().string(value) == text)
    }

    @Test func `a terminator stands behind the last bracket`() throws {
        #expect(try encoder.encode(["a": 1], terminator: 0x0A) == Array("{\n  \"a\": 1\n}\n".utf8))
        #expect(try OrderedJSONEncoder().encode("x", capacity: 0, terminator: 0) == Array("\"x\"".utf8) + [0])
    }

    @Test func `a style can be changed`() throws {
        var changing = OrderedJSONEncoder()
        changing.style = .pretty
        #expect(try changing.string([1]) == "[\n  1\n]")
    }
}
