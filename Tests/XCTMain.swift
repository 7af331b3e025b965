// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// Where the test program begins.
///
/// Without this file the package manager writes one, from an index of all sources that takes a quarter of the build, to
/// find tests of XCTest; there are none.
@main struct EntryPoint {
    static func main() async {
        guard CommandLine.arguments.contains("swift-testing") else {
            print("run the tests by `make test`, or by `swift test --disable-xctest --enable-swift-testing`")
            exit(EX_USAGE)
        }
        await Testing.__swiftPMEntryPoint() as Never
    }
}
