// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension Span<UInt8> {
    /// A 16-bit number in host byte order, as netlink has them; 0 past the end.
    package func host16(at offset: Int) -> UInt16 {
        guard offset >= 0, offset <= count - 2 else { return 0 }
        return UInt16(littleEndian: UInt16(self[offset]) | UInt16(self[offset + 1]) << 8)
    }

    /// A 32-bit number in host byte order, as netlink has them; 0 past the end.
    package func host32(at offset: Int) -> UInt32 {
        guard offset >= 0, offset <= count - 4 else { return 0 }
        let low = UInt32(self[offset]) | UInt32(self[offset + 1]) << 8
        let high = UInt32(self[offset + 2]) | UInt32(self[offset + 3]) << 8
        return UInt32(littleEndian: low | high << 16)
    }

    /// A 64-bit number in host byte order; 0 past the end.
    package func host64(at offset: Int) -> UInt64 {
        guard offset >= 0, offset <= count - 8 else { return 0 }
        return UInt64(host32(at: offset)) | UInt64(host32(at: offset + 4)) << 32
    }

    /// A 32-bit number in network byte order; 0 past the end.
    func network32(at offset: Int) -> UInt32 { host32(at: offset).bigEndian }

    /// A 64-bit number in network byte order; 0 past the end.
    func network64(at offset: Int) -> UInt64 {
        guard offset >= 0, offset <= count - 8 else { return 0 }
        return UInt64(network32(at: offset)) << 32 | UInt64(network32(at: offset + 4))
    }

    /// A signed 32-bit number in host byte order, as an `Int`; 0 past the end.
    package func index(at offset: Int) -> Int { Int(Int32(bitPattern: host32(at: offset))) }

    /// The bytes as text up to the first zero; bytes that are not UTF-8 are replaced.
    package var text: String {
        var end = 0
        while end < count && self[end] != 0 { end += 1 }
        let bytes = extracting(0..<end)
        if let valid = try? UTF8Span(validating: bytes) { return String(copying: valid) }
        return String(decoding: bytes.array, as: UTF8.self)
    }

    package var array: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for index in indices { bytes.append(self[index]) }
        return bytes
    }
}
