// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RecordData {
    /// The data as on the wire, but with no name in it compressed: what two hosts that want one name compare
    /// (RFC 6762 section 8.2).
    public var uncompressed: [UInt8] {
        switch self {
        case .address(let address): address.bytes
        case .pointer(let name), .alias(let name): name.wire + [0]
        case .service(let location):
            [location.priority, location.weight, location.port].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
                + location.target.wire + [0]
        case .text(let text): text
        case .nextSecure(let next, let types): next.wire + [0] + MessageEncoder.bitmap(types)
        case .hostInformation(let cpu, let system):
            [cpu, system].flatMap { [UInt8(min($0.count, 255))] + $0.prefix(255) }
        case .opaque(let data): data
        }
    }
}
