// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import FuzzKit
import Netlink

/// Whatever a recording holds: it is refused or understood, and a replay of it ends.
@main enum FuzzRecording {
    static func main() {
        unsafe Fuzzer.run { start, count in
            FuzzRecording.examine(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
            return 0
        }
    }

    private static func examine(_ bytes: [UInt8]) {
        guard let recording = try? NetlinkRecording(bytes: bytes) else { return }
        let kernel = RecordedKernel(recording)
        ask(kernel)
        var steps = 0
        var last = kernel.now
        while let step = kernel.next() {
            steps += 1
            require(steps <= recording.entries.count + 1, "the replay does not end")
            require(kernel.now >= last, "time runs backwards")
            last = kernel.now
            if case .resync = step { ask(kernel) }
        }
        ask(kernel)
    }

    private static func ask(_ kernel: RecordedKernel) {
        _ = (kernel.nextTime, kernel.nextLoss)
        _ = try? kernel.links()
        _ = try? kernel.addresses()
        _ = try? kernel.rules()
        _ = try? kernel.nexthops()
        _ = try? kernel.neighbors()
        for family in AddressFamily.allCases { _ = try? kernel.defaultRoutes(family) }
    }
}
