// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import FuzzKit
import OrderedJSON

/// Whatever a log file or an answer holds: it is refused, or what was understood is written in a form that stays.
@main enum FuzzJSON {
    static func main() {
        unsafe Fuzzer.run { start, count in
            FuzzJSON.examine(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
            return 0
        }
    }

    private static func examine(_ bytes: [UInt8]) {
        guard let value = try? JSONValue(parsing: bytes) else { return }
        guard let encoded = try? OrderedJSONEncoder().encode(value) else { fatalError("cannot write what it read") }
        guard let again = try? JSONValue(parsing: encoded) else { fatalError("cannot read what it wrote") }
        // 1.0 is written as 1 and so comes back as a whole number; the second text shows whether anything else changed.
        require((try? OrderedJSONEncoder().encode(again)) == encoded, "the value changed on the way")
    }
}
