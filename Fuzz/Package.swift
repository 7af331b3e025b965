// swift-tools-version: 6.3
// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
//
// A package of its own, because a fuzz target links only with -sanitize=fuzzer. Built and run by Fuzz/run.

import PackageDescription

let names = ["FuzzDNS", "FuzzJSON", "FuzzConfiguration", "FuzzRecording"]

let package = Package(
    name: "Fuzz",
    dependencies: [.package(name: "nwpath", path: "..")],
    targets: names.map { name in
        .executableTarget(
            name: name,
            dependencies: [.product(name: "NWPathParsers", package: "nwpath")],
            swiftSettings: [
                .swiftLanguageMode(.v6), .strictMemorySafety(),
                .unsafeFlags(["-parse-as-library"]),
            ]
        )
    }
)
