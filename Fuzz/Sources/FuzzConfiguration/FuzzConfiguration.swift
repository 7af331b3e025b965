// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Configuration
import FuzzKit

/// Whatever an operator writes: it is refused with places, or its dump reads back to the same configuration.
@main enum FuzzConfiguration {
    static func main() {
        unsafe Fuzzer.run { start, count in
            FuzzConfiguration.examine(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
            return 0
        }
    }

    private static let paths = StandardPaths(userID: 0, environment: [:])

    private static func examine(_ bytes: [UInt8]) {
        guard let configuration = read(bytes) else { return }
        require(read(Array(configuration.yaml.utf8)) == configuration, "the dump reads back differently")
    }

    private static func read(_ bytes: [UInt8]) -> Configuration? {
        try? Configuration.read([.init(name: "nwpath.yaml", bytes: bytes)], paths: paths, environment: [:])
    }
}
