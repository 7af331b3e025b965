// swift-tools-version: 6.3
// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
//
// Data flows left to right: a target imports only targets above it in this file. docs/architecture.md draws
// the picture and Tests/LayeringTests reads every import line against it.

import PackageDescription

let package = Package(
    name: "nwpath",
    products: [
        .executable(name: "nwpath", targets: ["nwpath"])
    ],
    targets: [
        // C libraries from Debian, module maps only.
        .systemLibrary(name: "CNetlink", pkgConfig: "libnl-route-3.0"),
        .systemLibrary(name: "CNetlinkGeneric", pkgConfig: "libnl-genl-3.0"),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1"),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd"),
        .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd"),
        .target(name: "CLinuxShims"),

        // Values and the event loop.
        .target(name: "Addressing"),
        .target(name: "OrderedJSON"),
        .target(name: "LinuxIO", dependencies: ["CLinuxShims", "Addressing"]),

        // The kernel's truth and the path.
        .target(name: "Netlink", dependencies: ["CNetlink", "CLinuxShims", "Addressing", "LinuxIO"]),
        .target(name: "PathModel", dependencies: ["Addressing", "Netlink"]),
        .target(
            name: "Providers",
            dependencies: ["CSystemd", "CNetlinkGeneric", "CLinuxShims", "Addressing", "LinuxIO", "Netlink", "PathModel"]
        ),
        .target(
            name: "PathEngine",
            dependencies: ["Addressing", "LinuxIO", "Netlink", "PathModel", "Providers"]
        ),

        // Multicast DNS.
        .target(name: "DNSWire", dependencies: ["Addressing"]),
        .target(
            name: "MulticastDNS",
            dependencies: ["CLinuxShims", "Addressing", "LinuxIO", "PathModel", "DNSWire"]
        ),

        // What is published, and where it goes.
        .target(name: "Documents", dependencies: ["Addressing", "OrderedJSON", "Netlink", "PathModel", "MulticastDNS"]),
        .target(
            name: "EventHub",
            dependencies: ["OrderedJSON", "LinuxIO", "PathModel", "MulticastDNS", "Documents"]
        ),
        .target(name: "EventLog", dependencies: ["OrderedJSON", "LinuxIO", "EventHub"]),
        .target(name: "Metrics", dependencies: ["LinuxIO", "PathModel", "MulticastDNS", "Documents", "EventHub"]),
        .target(
            name: "StatusServer",
            dependencies: [
                "CMicrohttpd", "CLinuxShims", "OrderedJSON", "LinuxIO", "Documents", "EventHub", "EventLog", "Metrics",
            ]
        ),
        .target(name: "Configuration", dependencies: ["CYAML", "Addressing", "OrderedJSON", "LinuxIO", "PathModel"]),
        .target(
            name: "PathService",
            dependencies: [
                "CSystemd", "Addressing", "OrderedJSON", "LinuxIO", "Netlink", "PathModel", "Providers", "PathEngine",
                "MulticastDNS", "Documents", "EventHub", "EventLog", "Metrics", "StatusServer", "Configuration",
            ]
        ),

        // The one executable.
        .target(name: "CommandLineKit"),
        .executableTarget(
            name: "nwpath",
            dependencies: [
                "CommandLineKit", "CLinuxShims", "Addressing", "OrderedJSON", "LinuxIO", "Netlink", "PathModel",
                "PathEngine", "MulticastDNS", "Documents", "EventHub", "EventLog", "Configuration", "PathService",
            ]
        ),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: ["CLinuxShims", "LinuxIO"],
            path: "Tests/TestSupport"
        ),
        .testTarget(name: "LinuxIOTests", dependencies: ["LinuxIO", "TestSupport"]),
        .testTarget(
            name: "ProvidersTests",
            dependencies: ["Addressing", "LinuxIO", "PathModel", "Providers", "TestSupport"],
            exclude: ["Fixtures"]
        ),
    ]
)

let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableExperimentalFeature("Lifetimes"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

for target in package.targets where target.type != .system && target.name != "CLinuxShims" {
    target.swiftSettings = swiftSettings
}
