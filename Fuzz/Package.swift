// swift-tools-version: 6.3
// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
//
// A package of its own, because a fuzz target links only with -sanitize=fuzzer. Built and run by Fuzz/run.
// The directory above must not be called "fuzz": SwiftPM takes two packages of one name for one.

import PackageDescription

/// The fuzz targets, and the product of nwpath each is about.
let subjects = [
    "FuzzDNS": "DNSWire", "FuzzJSON": "OrderedJSON", "FuzzConfiguration": "Configuration", "FuzzRecording": "Netlink",
    "FuzzNetlink": "Netlink", "FuzzHTTP": "StatusServer", "FuzzWebSocket": "WebSocketWire",
    "FuzzEventLog": "EventLog", "FuzzMulticast": "MulticastDNS", "FuzzResponder": "MulticastDNS",
    "FuzzReplies": "Probes", "FuzzPeerEngine": "PeerEngine",
]

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .strictMemorySafety(), .enableExperimentalFeature("Lifetimes"),
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "Fuzz",
    dependencies: [.package(name: "nwpath", path: "..")],
    targets: [
        .target(name: "CFuzzer"),
        .target(name: "FuzzKit", dependencies: ["CFuzzer"], swiftSettings: settings),
        .target(
            name: "FuzzScripts",
            dependencies: ["FuzzKit", .product(name: "MulticastDNS", package: "nwpath")],
            swiftSettings: settings
        ),
    ]
        + subjects.sorted { $0.key < $1.key }.map { name, subject in
            .executableTarget(
                name: name,
                dependencies: ["FuzzKit", .product(name: subject, package: "nwpath")]
                    + (subject == "MulticastDNS" ? ["FuzzScripts"] : [])
                    // The last record of a log has a position.
                    + (subject == "EventLog" ? [.product(name: "EventHub", package: "nwpath")] : [])
                    // An announcement is read from the text of a record.
                    + (subject == "PeerEngine" ? [.product(name: "DNSWire", package: "nwpath")] : []),
                swiftSettings: settings
            )
        }
)
