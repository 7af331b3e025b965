// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// `Tests/Words/words` lists words of this project's own, with the field's term for each; new code uses the term.
@Suite struct WordTests {
    /// A failure names target, word, the count, the count before, and the term.
    @Test func `no target uses a word of this project's own more often than before`() throws {
        try Command.run(["python3", "-B", SourceTree.absolutePath(of: "Tests/Words/check")])
    }
}
