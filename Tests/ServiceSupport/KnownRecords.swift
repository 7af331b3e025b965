// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Records that were found to be as declared, so that one that differs by its time and number only is not read again.
///
/// A log, each stream of it and a load that repeats itself have the same records.
enum KnownRecords {
    private static let known = Mutex<[LiveJSON.Author: Set<String>]>([:])
    private static let form = Array(#"{"time":"0000-00-00T00:00:00.000000000Z","seq":"#.utf8)

    static func contains(_ record: ArraySlice<UInt8>, by author: LiveJSON.Author) -> Bool {
        guard let rest = rest(of: record) else { return false }
        return known.withLock { $0[author]?.contains(rest) ?? false }
    }

    static func insert(_ record: ArraySlice<UInt8>, by author: LiveJSON.Author) {
        guard let rest = rest(of: record) else { return }
        known.withLock { _ = $0[author, default: []].insert(rest) }
    }

    /// What follows a time and a number that are themselves as declared.
    private static func rest(of record: ArraySlice<UInt8>) -> String? {
        guard record.count > form.count else { return nil }
        var index = record.startIndex
        for byte in form {
            guard byte == UInt8(ascii: "0") ? isDigit(record[index]) : record[index] == byte else { return nil }
            index += 1
        }
        guard record[index] != UInt8(ascii: "0"), isDigit(record[index]) else { return nil }
        while index < record.endIndex, isDigit(record[index]) { index += 1 }
        return String(decoding: record[index...], as: UTF8.self)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
