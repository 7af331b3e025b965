// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// What was asked for and never answered, nor denied, is asked for again; what came is left alone.
extension LinkDirectory {
    /// A record expired in one family: asks for it there once more while the other family has it, so that it is known
    /// by both again.
    mutating func askAgain(_ record: ResourceRecord, by family: AddressFamily, at now: Duration) {
        let key = RecordKey(record.name, record.type)
        guard interest.contains(key), isKnown(record, besides: family, at: now) else { return }
        zones[family]?.renew(Question(record.name, record.type), times: 2, at: now)
    }
}
