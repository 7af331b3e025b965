// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Configuration

/// Whatever an operator writes: it is refused with places, or its dump reads back to the same configuration.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let paths = StandardPaths(userID: 0, environment: [:])
    func read(_ bytes: [UInt8]) -> Configuration? {
        try? Configuration.read([.init(name: "nwpath.yaml", bytes: bytes)], paths: paths, environment: [:])
    }
    guard let configuration = read(bytes) else { return 0 }
    precondition(read(Array(configuration.yaml.utf8)) == configuration, "the dump reads back differently")
    return 0
}
