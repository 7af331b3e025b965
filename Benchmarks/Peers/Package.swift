// swift-tools-version: 6.3
// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
//
// A program that stands on the product MultipeerConnectivity as any other package does; built and run by Benchmarks/run.

import PackageDescription

let package = Package(
    name: "Peers",
    dependencies: [.package(name: "nwpath", path: "../..")],
    targets: [
        .executableTarget(name: "peers", dependencies: [.product(name: "MultipeerConnectivity", package: "nwpath")])
    ],
    swiftLanguageModes: [.v6]
)
