// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Netlink

/// Whatever a recording holds, and so whatever a kernel message holds: it is refused or understood.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let recording = try? NetlinkRecording(bytes: bytes) else { return 0 }
    let kernel = RecordedKernel(recording)
    while kernel.next() != nil {}
    _ = try? kernel.links()
    _ = try? kernel.addresses()
    _ = try? kernel.rules()
    return 0
}
