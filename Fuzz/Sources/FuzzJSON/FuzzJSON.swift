// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON

/// Whatever a log file or an answer holds: it is refused, or what was understood encodes and reads back the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let value = try? JSONValue(parsing: bytes) else { return 0 }
    guard let encoded = try? OrderedJSONEncoder().encode(value) else {
        preconditionFailure("cannot write what it read")
    }
    guard let again = try? JSONValue(parsing: encoded) else { preconditionFailure("cannot read what it wrote") }
    precondition(again == value, "the value changed on the way")
    return 0
}
