// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CSystemd
internal import Glibc

/// Reads the values of a received message; it is valid only inside the callback that got the message.
///
/// A hostile message ends in ``ProviderError/malformed(what:)``: nesting and the number of values are bounded.
@safe struct BusReader {
    private let raw: OpaquePointer
    private var remaining = 65_536

    init(_ raw: OpaquePointer) { unsafe self.raw = raw }

    mutating func readAll() throws(ProviderError) -> [BusValue] { try readMembers(depth: 0) }

    /// The name of the error this message is; `nil` for any other message.
    var errorName: String? {
        guard let error = unsafe sd_bus_message_get_error(raw) else { return nil }
        guard let name = unsafe error.pointee.name else { return "" }
        return unsafe String(cString: name)
    }

    private mutating func readMembers(depth: Int) throws(ProviderError) -> [BusValue] {
        guard depth < 16 else { throw .malformed(what: "nested too deeply") }
        var values: [BusValue] = []
        while let value = try next(depth: depth) { values.append(value) }
        return values
    }

    private mutating func next(depth: Int) throws(ProviderError) -> BusValue? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        let code = unsafe sd_bus_message_peek_type(raw, &type, &contents)
        guard code >= 0 else { throw .malformed(what: "no type") }
        guard code > 0 else { return nil }
        remaining -= 1
        guard remaining > 0 else { throw .malformed(what: "too many values") }
        switch UInt8(bitPattern: type) {
        case UInt8(ascii: "a"):
            return try unsafe readArray(of: contents, depth: depth)
        case UInt8(ascii: "v"):
            let members = try unsafe readContainer(type, contents, depth: depth)
            return members.first ?? .list([])
        case UInt8(ascii: "r"), UInt8(ascii: "e"):
            return .list(try unsafe readContainer(type, contents, depth: depth))
        default:
            return try readBasic(type)
        }
    }

    private mutating func readContainer(
        _ type: CChar,
        _ contents: UnsafePointer<CChar>?,
        depth: Int
    ) throws(ProviderError) -> [BusValue] {
        guard unsafe sd_bus_message_enter_container(raw, type, contents) >= 0 else {
            throw .malformed(what: "a container that cannot be entered")
        }
        let members = try readMembers(depth: depth + 1)
        guard unsafe sd_bus_message_exit_container(raw) >= 0 else {
            throw .malformed(what: "a container without an end")
        }
        return members
    }

    private mutating func readArray(of contents: UnsafePointer<CChar>?, depth: Int) throws(ProviderError) -> BusValue {
        let signature = unsafe contents.map { unsafe String(cString: $0) } ?? ""
        if signature == "y" { return .bytes(try readBytes()) }
        let members = try unsafe readContainer(CChar(bitPattern: UInt8(ascii: "a")), contents, depth: depth)
        guard signature.hasPrefix("{s") || signature.hasPrefix("{o") else { return .list(members) }
        var table: [String: BusValue] = [:]
        for member in members {
            guard let entry = member.list, entry.count == 2, let key = entry[0].text else {
                throw .malformed(what: "a dictionary entry")
            }
            table[key] = entry[1]
        }
        return .table(table)
    }

    private func readBytes() throws(ProviderError) -> [UInt8] {
        var start: UnsafeRawPointer?
        var size = 0
        guard unsafe sd_bus_message_read_array(raw, CChar(bitPattern: UInt8(ascii: "y")), &start, &size) >= 0 else {
            throw .malformed(what: "a byte array")
        }
        guard let start = unsafe start, size > 0 else { return [] }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: size))
    }

    private func readBasic(_ type: CChar) throws(ProviderError) -> BusValue {
        switch UInt8(bitPattern: type) {
        case UInt8(ascii: "b"): .flag(try read(type, Int32(0)) != 0)
        case UInt8(ascii: "y"): .unsigned(UInt64(try read(type, UInt8(0))))
        case UInt8(ascii: "n"): .signed(Int64(try read(type, Int16(0))))
        case UInt8(ascii: "q"): .unsigned(UInt64(try read(type, UInt16(0))))
        case UInt8(ascii: "i"): .signed(Int64(try read(type, Int32(0))))
        case UInt8(ascii: "u"): .unsigned(UInt64(try read(type, UInt32(0))))
        case UInt8(ascii: "x"): .signed(try read(type, Int64(0)))
        case UInt8(ascii: "t"): .unsigned(try read(type, UInt64(0)))
        case UInt8(ascii: "d"): .real(try read(type, Double(0)))
        case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"): .text(try readText(type))
        default: try skipDescriptor()
        }
    }

    private func read<Value: BitwiseCopyable>(_ type: CChar, _ initial: Value) throws(ProviderError) -> Value {
        var value = initial
        guard unsafe sd_bus_message_read_basic(raw, type, &value) > 0 else { throw .malformed(what: "a number") }
        return value
    }

    private func readText(_ type: CChar) throws(ProviderError) -> String {
        var text: UnsafePointer<CChar>?
        let code = unsafe sd_bus_message_read_basic(raw, type, &text)
        guard code > 0, let text = unsafe text else { throw .malformed(what: "a text") }
        return unsafe String(cString: text)
    }

    private func skipDescriptor() throws(ProviderError) -> BusValue {
        guard unsafe sd_bus_message_skip(raw, "h") >= 0 else { throw .malformed(what: "an unknown type") }
        return .descriptor
    }
}
