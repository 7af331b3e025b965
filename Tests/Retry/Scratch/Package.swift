// swift-tools-version: 6.3
// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(name: "Scratch", targets: [.testTarget(name: "ScratchTests")])
