// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire

/// Whatever arrives on port 5353: it is refused, or what was understood encodes and reads back the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let message = try? Message(parsing: bytes.span) else { return 0 }
    guard let encoded = message.encoded(limit: 9000) else { return 0 }
    guard let again = try? Message(parsing: encoded.span) else { preconditionFailure("cannot read what it wrote") }
    precondition(again.questions == message.questions, "questions changed on the way")
    return 0
}
