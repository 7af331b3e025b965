// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The encoder of one place: hands out containers that write to the shared output.
struct ValueEncoder: Encoder {
    let output: JSONOutput
    let place: JSONOutput.Place

    var codingPath: [any CodingKey] { output.codingPath(to: place) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        output.open(.object, at: place)
        return KeyedEncodingContainer(ObjectContainer<Key>(output: output, place: place))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        output.open(.array, at: place)
        return ArrayContainer(output: output, place: place)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        ScalarContainer(output: output, place: place)
    }
}

/// A key that exists only as text: array indices and the keys of ``JSONObject``.
struct TextKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
}

extension JSONOutput {
    func codingPath(to place: Place) -> [any CodingKey] {
        keys(to: place).map { TextKey(stringValue: $0) }
    }
}
