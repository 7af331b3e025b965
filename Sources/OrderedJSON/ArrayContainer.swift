// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

struct ArrayContainer: UnkeyedEncodingContainer {
    let output: JSONOutput
    let place: JSONOutput.Place

    var codingPath: [any CodingKey] { output.codingPath(to: place) }
    var count: Int { output.count(at: place) }

    func encodeNil() throws {
        try output.beginElement(at: place)
        output.writeNull()
    }

    func encode(_ value: Bool) throws {
        try output.beginElement(at: place)
        output.write(value)
    }

    func encode(_ value: String) throws {
        try output.beginElement(at: place)
        output.write(value)
    }

    func encode(_ value: Double) throws {
        try output.beginElement(at: place)
        try output.write(number: value)
    }

    func encode(_ value: Float) throws {
        try output.beginElement(at: place)
        try output.write(number: value)
    }

    func encode(_ value: Int) throws { try encode(integer: value) }
    func encode(_ value: Int8) throws { try encode(integer: value) }
    func encode(_ value: Int16) throws { try encode(integer: value) }
    func encode(_ value: Int32) throws { try encode(integer: value) }
    func encode(_ value: Int64) throws { try encode(integer: value) }
    func encode(_ value: UInt) throws { try encode(integer: value) }
    func encode(_ value: UInt8) throws { try encode(integer: value) }
    func encode(_ value: UInt16) throws { try encode(integer: value) }
    func encode(_ value: UInt32) throws { try encode(integer: value) }
    func encode(_ value: UInt64) throws { try encode(integer: value) }

    private func encode(integer value: some FixedWidthInteger) throws {
        try output.beginElement(at: place)
        output.write(integer: value)
    }

    func encode(_ value: some Encodable) throws {
        try output.beginElement(at: place)
        try output.write(nested: value)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        nested().container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        nested().unkeyedContainer()
    }

    func superEncoder() -> any Encoder { nested() }

    private func nested() -> ValueEncoder {
        do {
            try output.beginElement(at: place)
            return ValueEncoder(output: output, place: output.push())
        } catch {
            return ValueEncoder(output: output, place: output.deadPlace())
        }
    }
}
