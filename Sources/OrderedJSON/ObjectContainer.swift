// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Writes the members of one object; several of them may share the object.
struct ObjectContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let output: JSONOutput
    let place: JSONOutput.Place

    var codingPath: [any CodingKey] { output.codingPath(to: place) }

    func encodeNil(forKey key: Key) throws {
        try output.beginMember(key.stringValue, at: place)
        output.writeNull()
    }

    func encode(_ value: Bool, forKey key: Key) throws {
        try output.beginMember(key.stringValue, at: place)
        output.write(value)
    }

    func encode(_ value: String, forKey key: Key) throws {
        try output.beginMember(key.stringValue, at: place)
        output.write(value)
    }

    func encode(_ value: Double, forKey key: Key) throws {
        try output.beginMember(key.stringValue, at: place)
        try output.write(number: value)
    }

    func encode(_ value: Float, forKey key: Key) throws {
        try output.beginMember(key.stringValue, at: place)
        try output.write(number: value)
    }

    func encode(_ value: Int, forKey key: Key) throws { try encode(integer: value, forKey: key) }
    func encode(_ value: Int8, forKey key: Key) throws { try encode(integer: value, forKey: key) }
    func encode(_ value: Int16, forKey key: Key) throws { try encode(integer: value, forKey: key) }
    func encode(_ value: Int32, forKey key: Key) throws { try encode(integer: value, forKey: key) }
    func encode(_ value: Int64, forKey key: Key) throws { try encode(integer: value, forKey: key) }
    func encode(_ value: UInt, forKey key: Key) throws { try encode(integer: value, forKey: key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try encode(integer: value, forKey: key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try encode(integer: value, forKey: key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try encode(integer: value, forKey: key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try encode(integer: value, forKey: key) }

    private func encode(integer value: some FixedWidthInteger, forKey key: Key) throws {
        try output.beginMember(key.stringValue, at: place)
        output.write(integer: value)
    }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        try output.beginMember(key.stringValue, at: place)
        try output.write(nested: value)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        nested(key.stringValue).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        nested(key.stringValue).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { nested("super") }

    func superEncoder(forKey key: Key) -> any Encoder { nested(key.stringValue) }

    private func nested(_ key: String) -> ValueEncoder {
        do {
            try output.beginMember(key, at: place)
            return ValueEncoder(output: output, place: output.push())
        } catch {
            return ValueEncoder(output: output, place: output.deadPlace())
        }
    }
}
