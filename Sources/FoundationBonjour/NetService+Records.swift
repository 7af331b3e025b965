// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
public import Foundation

extension NetService {
    /// Reads the data of a TXT record; a key without a value stands for no bytes.
    public class func dictionary(fromTXTRecord txtData: Data) -> [String: Data] {
        let entries = TextRecord(data: Array(txtData)).entries
        return Dictionary(entries.map { ($0.key, Data($0.value ?? [])) }) { first, _ in first }
    }

    /// Writes the data of a TXT record, in the order of the keys.
    ///
    /// What does not fit into a record is left out: keys that are empty or not printable ASCII, and entries of more than
    /// 255 bytes.
    public class func data(fromTXTRecord txtDictionary: [String: Data]) -> Data {
        let entries = txtDictionary.sorted { $0.key < $1.key }.filter { key, value in
            !key.isEmpty && key.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x3D }
                && key.utf8.count + value.count < 255
        }
        return Data(TextRecord(entries: entries.map { .init(key: $0.key, value: Array($0.value)) }).data)
    }
}
