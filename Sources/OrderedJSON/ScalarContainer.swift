// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

struct ScalarContainer: SingleValueEncodingContainer {
    let output: JSONOutput
    let place: JSONOutput.Place

    var codingPath: [any CodingKey] { output.codingPath(to: place) }

    func encodeNil() throws {
        try output.claim(place)
        output.writeNull()
    }

    func encode(_ value: Bool) throws {
        try output.claim(place)
        output.write(value)
    }

    func encode(_ value: String) throws {
        try output.claim(place)
        output.write(value)
    }

    func encode(_ value: Double) throws {
        try output.claim(place)
        try output.write(number: value)
    }

    func encode(_ value: Float) throws {
        try output.claim(place)
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
        try output.claim(place)
        output.write(integer: value)
    }

    func encode(_ value: some Encodable) throws {
        // The value takes this very place, so that wrappers such as Optional leave no trace.
        try value.encode(to: ValueEncoder(output: output, place: place))
    }
}
