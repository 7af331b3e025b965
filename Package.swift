// swift-tools-version: 6.3
// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
//
// This is the only table of layers: data flows from top to bottom, and a target imports only targets above it.
// Tests/LayeringTests holds every import line against it, both ways; docs/architecture.md lists the layers.

import PackageDescription

let package = Package(
    name: "nwpath",
    products: [
        .executable(name: "nwpath", targets: ["nwpath"]),
        .library(name: "Network", targets: ["Network"]),
        .library(name: "FoundationBonjour", targets: ["FoundationBonjour"]),
        .library(name: "FoundationWebSocket", targets: ["FoundationWebSocket"]),
        .library(name: "MultipeerConnectivity", targets: ["MultipeerConnectivity"]),
    ],
    targets: [
        // C libraries from Debian, module maps only, and what of C is our own.
        .systemLibrary(name: "CNetlink", path: "Sources/CLibraries/CNetlink", pkgConfig: "libnl-3.0"),
        .systemLibrary(
            name: "CNetlinkGeneric",
            path: "Sources/CLibraries/CNetlinkGeneric",
            pkgConfig: "libnl-genl-3.0"
        ),
        .systemLibrary(
            name: "CNetlinkRoute",
            path: "Sources/CLibraries/CNetlinkRoute",
            pkgConfig: "libnl-route-3.0"
        ),
        .systemLibrary(name: "CYAML", path: "Sources/CLibraries/CYAML", pkgConfig: "yaml-0.1"),
        .systemLibrary(name: "CSystemd", path: "Sources/CLibraries/CSystemd", pkgConfig: "libsystemd"),
        .systemLibrary(name: "CMicrohttpd", path: "Sources/CLibraries/CMicrohttpd", pkgConfig: "libmicrohttpd"),
        .systemLibrary(name: "CZlib", path: "Sources/CLibraries/CZlib", pkgConfig: "zlib"),
        .systemLibrary(name: "CNettle", path: "Sources/CLibraries/CNettle", pkgConfig: "nettle"),
        .systemLibrary(name: "CWslay", path: "Sources/CLibraries/CWslay"),
        .systemLibrary(name: "CGnuTLS", path: "Sources/CLibraries/CGnuTLS", pkgConfig: "gnutls"),
        .systemLibrary(name: "CCrypt", path: "Sources/CLibraries/CCrypt", pkgConfig: "libcrypt"),
        .systemLibrary(name: "COpenSSL", path: "Sources/CLibraries/COpenSSL", pkgConfig: "openssl"),
        .target(name: "CLinuxShims", path: "Sources/CLibraries/CLinuxShims"),
        .target(
            name: "CMicrohttpdShims",
            dependencies: ["CMicrohttpd", "CGnuTLS"],
            path: "Sources/CLibraries/CMicrohttpdShims"
        ),
        .target(name: "CCurl", path: "Sources/CLibraries/CCurl"),
        .target(name: "CNetworkShims", path: "Sources/CLibraries/CNetworkShims"),
        .target(
            name: "CStatusPage",
            path: "Sources/CLibraries/CStatusPage",
            exclude: [
                "page.html", "page.css", "text.js", "headline.js", "lanes.js", "traffic.js", "happened.js", "nearby.js",
                "live.js",
            ]
        ),
        .target(name: "CTLSShims", dependencies: ["COpenSSL"], path: "Sources/CLibraries/CTLSShims"),

        // Values and the event loop.
        .target(name: "Addressing"),
        .target(name: "OrderedJSON"),
        .target(name: "Spelling"),
        .target(name: "LinuxIO", dependencies: ["CLinuxShims", "Addressing"]),

        // Multicast DNS.
        .target(name: "DNSWire", dependencies: ["Addressing"]),
        .target(
            name: "MulticastDNS",
            dependencies: ["Addressing", "LinuxIO", "DNSWire"]
        ),

        // The kernel's truth and the path.
        .target(name: "Netlink", dependencies: ["CNetlink", "CLinuxShims", "Addressing", "LinuxIO"]),
        .target(name: "Traffic", dependencies: ["Addressing", "Netlink"]),
        .target(name: "PathModel", dependencies: ["Addressing", "Spelling", "Netlink"]),
        .target(
            name: "Providers",
            dependencies: [
                "CSystemd", "CNetlinkGeneric", "CNetlinkRoute", "CLinuxShims", "Addressing", "LinuxIO", "Netlink",
                "PathModel",
            ]
        ),
        .target(
            name: "PathEngine",
            dependencies: ["Addressing", "LinuxIO", "MulticastDNS", "Netlink", "PathModel", "Providers"]
        ),

        // WebSocket, both ends.
        .target(name: "WebSocketWire", dependencies: ["CNettle", "CWslay"]),

        // What is wrong, from what was found out, and the headline of the machine's connection as a whole.
        .target(name: "Diagnosis", dependencies: ["Addressing", "PathModel"]),

        // Active probes.
        .target(
            name: "Probes",
            dependencies: [
                "CCurl", "CLinuxShims", "Addressing", "OrderedJSON", "LinuxIO", "Netlink", "PathModel", "DNSWire",
                "MulticastDNS",
            ]
        ),

        // Finds out what a diagnosis judges.
        .target(
            name: "Examination",
            dependencies: [
                "Addressing", "LinuxIO", "Netlink", "PathModel", "PathEngine", "Probes", "Diagnosis", "WebSocketWire",
            ]
        ),

        // What is published, and where it goes.
        .target(
            name: "Documents",
            dependencies: [
                "Addressing", "OrderedJSON", "LinuxIO", "Netlink", "Traffic", "PathModel", "DNSWire", "MulticastDNS",
                "Probes", "Diagnosis",
            ]
        ),
        .target(
            name: "EventHub",
            dependencies: [
                "Addressing", "OrderedJSON", "LinuxIO", "Traffic", "PathModel", "MulticastDNS", "Probes", "Diagnosis",
                "Documents", "Spelling",
            ]
        ),
        .target(name: "EventLog", dependencies: ["CZlib", "OrderedJSON", "LinuxIO", "EventHub"]),
        .target(name: "Metrics", dependencies: ["LinuxIO"]),
        .target(
            name: "StatusServer",
            dependencies: [
                "CMicrohttpdShims", "CLinuxShims", "CGnuTLS", "CCrypt", "CZlib", "CStatusPage", "Addressing",
                "OrderedJSON", "LinuxIO", "Documents", "EventHub", "Metrics", "Spelling", "WebSocketWire",
            ]
        ),
        .target(
            name: "Configuration",
            dependencies: [
                "CYAML", "Addressing", "Spelling", "LinuxIO", "PathModel", "DNSWire", "MulticastDNS", "Probes",
                "Diagnosis",
            ]
        ),
        .target(
            name: "PathService",
            dependencies: [
                "CSystemd", "CLinuxShims", "Addressing", "OrderedJSON", "Spelling", "LinuxIO", "Netlink", "Traffic",
                "PathModel", "Providers", "PathEngine", "DNSWire", "MulticastDNS", "Diagnosis", "Probes", "Examination",
                "Documents", "EventHub", "EventLog", "Metrics", "StatusServer", "Configuration",
            ]
        ),

        // The one executable.
        .executableTarget(
            name: "nwpath",
            dependencies: [
                "CCurl", "Addressing", "OrderedJSON", "Spelling", "LinuxIO", "Netlink", "PathModel", "PathEngine",
                "DNSWire", "MulticastDNS", "Diagnosis", "Probes", "Examination", "Documents", "EventHub",
                "EventLog", "Configuration", "PathService", "Traffic",
            ]
        ),

        // Libraries for other programs; the daemon links none of them.
        .target(
            name: "Network",
            dependencies: [
                "CNetworkShims", "CTLSShims", "CLinuxShims", "Addressing", "LinuxIO", "Netlink", "PathModel",
                "Providers", "PathEngine", "DNSWire", "MulticastDNS", "WebSocketWire",
            ]
        ),
        .target(
            name: "FoundationBonjour",
            dependencies: ["Addressing", "LinuxIO", "DNSWire", "MulticastDNS", "Network"]
        ),
        .target(name: "FoundationWebSocket", dependencies: ["Network"]),
        .target(
            name: "PeerEngine",
            dependencies: [
                "CNetworkShims", "CTLSShims", "CLinuxShims", "Addressing", "OrderedJSON", "LinuxIO", "DNSWire",
                "MulticastDNS",
            ]
        ),
        .target(
            name: "MultipeerConnectivity",
            dependencies: ["LinuxIO", "Network", "FoundationBonjour", "PeerEngine"]
        ),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: ["CLinuxShims", "OrderedJSON", "LinuxIO"],
            path: "Tests/TestSupport"
        ),
        .target(
            name: "ServiceSupport",
            dependencies: [
                "OrderedJSON", "LinuxIO", "EventHub", "StatusServer", "PathService", "nwpath", "TestSupport",
            ],
            path: "Tests/ServiceSupport"
        ),
        .testTarget(name: "LayeringTests", dependencies: ["TestSupport"]),
        .testTarget(name: "AddressingTests", dependencies: ["Addressing"]),
        .testTarget(name: "LinuxIOTests", dependencies: ["Addressing", "LinuxIO", "TestSupport"]),
        .testTarget(name: "OrderedJSONTests", dependencies: ["OrderedJSON", "TestSupport"]),
        .testTarget(
            name: "DocumentsTests",
            dependencies: [
                "Documents", "EventHub", "Addressing", "DNSWire", "LinuxIO", "MulticastDNS", "Netlink", "OrderedJSON",
                "PathModel", "Probes", "Diagnosis", "TestSupport", "Traffic",
            ]
        ),
        .testTarget(name: "EventHubTests", dependencies: ["OrderedJSON", "LinuxIO", "EventHub", "TestSupport"]),
        .executableTarget(
            name: "EventLogWriter",
            dependencies: ["LinuxIO", "EventHub", "EventLog"],
            path: "Tests/EventLogWriter"
        ),
        .testTarget(
            name: "EventLogTests",
            dependencies: ["OrderedJSON", "LinuxIO", "EventHub", "EventLog", "EventLogWriter", "TestSupport"],
            exclude: ["Fixtures/examples.jsonl", "Fixtures/check_events.py", "Fixtures/failing.py"]
        ),
        .testTarget(name: "DiagnosisTests", dependencies: ["Addressing", "PathModel", "Diagnosis"]),
        .testTarget(name: "SpellingTests", dependencies: ["Spelling"]),
        .testTarget(
            name: "ConfigurationTests",
            dependencies: [
                "Configuration", "Addressing", "DNSWire", "PathModel", "Probes", "Diagnosis", "Spelling",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "ProvidersTests",
            dependencies: ["Addressing", "LinuxIO", "Netlink", "PathModel", "Providers", "TestSupport"],
            exclude: ["Fixtures"]
        ),
        .testTarget(
            name: "PathEngineTests",
            dependencies: [
                "PathEngine", "Addressing", "LinuxIO", "Netlink", "PathModel", "TestSupport",
            ]
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "nwpath", "CLinuxShims", "Addressing", "OrderedJSON", "Spelling", "LinuxIO", "Netlink", "PathModel",
                "PathEngine", "DNSWire", "MulticastDNS", "Diagnosis", "Probes", "Examination", "Documents",
                "EventHub", "Metrics", "StatusServer", "Configuration", "TestSupport", "ServiceSupport",
            ]
        ),
        .testTarget(name: "LabTests", dependencies: ["nwpath", "OrderedJSON", "TestSupport", "ServiceSupport"]),
        .testTarget(
            name: "NetlinkTests",
            dependencies: ["CLinuxShims", "Addressing", "LinuxIO", "Netlink", "TestSupport"]
        ),
        .testTarget(name: "TrafficTests", dependencies: ["Addressing", "Netlink", "Traffic", "TestSupport"]),
        .testTarget(name: "PathModelTests", dependencies: ["Addressing", "Netlink", "PathModel", "TestSupport"]),
        .testTarget(
            name: "ReplayTests",
            dependencies: [
                "nwpath", "OrderedJSON", "LinuxIO", "Netlink", "PathModel", "PathEngine", "EventHub", "PathService",
                "TestSupport", "ServiceSupport",
            ],
            exclude: ["Fixtures", "record"]
        ),
        .testTarget(
            name: "ExplanationTests",
            dependencies: ["nwpath", "OrderedJSON", "TestSupport", "ServiceSupport"]
        ),
        .testTarget(name: "DNSWireTests", dependencies: ["DNSWire", "Addressing", "TestSupport"]),
        .testTarget(
            name: "MulticastDNSTests",
            dependencies: ["MulticastDNS", "DNSWire", "Addressing", "LinuxIO", "TestSupport"]
        ),
        .testTarget(
            name: "ServiceTests",
            dependencies: [
                "Addressing", "OrderedJSON", "LinuxIO", "Configuration", "EventHub", "EventLog", "PathService",
                "nwpath",
                "TestSupport", "ServiceSupport",
                "DNSWire", "MulticastDNS", "Spelling", "StatusServer",
                "Diagnosis", "Documents", "Examination", "Metrics", "Netlink", "PathEngine", "PathModel", "Probes",
                "Providers",
            ],
            exclude: ["Fixtures"]
        ),
        .testTarget(
            name: "NetworkTests",
            dependencies: [
                "Network", "CNetworkShims", "Addressing", "DNSWire", "LinuxIO", "MulticastDNS", "Netlink", "PathEngine",
                "PathModel", "WebSocketWire", "TestSupport",
            ]
        ),
        .testTarget(
            name: "FoundationBonjourTests",
            dependencies: [
                "FoundationBonjour", "Addressing", "DNSWire", "LinuxIO", "TestSupport",
            ]
        ),
        .testTarget(
            name: "FoundationWebSocketTests",
            dependencies: ["FoundationWebSocket", "LinuxIO", "Network", "TestSupport"]
        ),
        .testTarget(
            name: "PeerEngineTests",
            dependencies: ["PeerEngine", "Addressing", "DNSWire", "LinuxIO", "MulticastDNS", "TestSupport"]
        ),
        .testTarget(
            name: "MultipeerConnectivityTests",
            dependencies: ["MultipeerConnectivity", "LinuxIO", "Network", "PeerEngine", "TestSupport"]
        ),
        .executableTarget(
            name: "ArticlePrograms",
            dependencies: ["Network", "FoundationBonjour", "FoundationWebSocket", "MultipeerConnectivity"],
            path: "Tests/ArticlePrograms"
        ),
        .testTarget(name: "ArticleTests", dependencies: ["ArticlePrograms", "nwpath", "LinuxIO", "TestSupport"]),
        .testTarget(
            name: "ProbesTests",
            dependencies: ["Probes", "DNSWire", "PathModel", "Addressing", "LinuxIO", "CLinuxShims", "TestSupport"]
        ),
        .testTarget(name: "WebSocketWireTests", dependencies: ["WebSocketWire"]),
        .executableTarget(
            name: "WebSocketEcho",
            dependencies: [
                "WebSocketWire", "StatusServer", "CLinuxShims", "Addressing", "LinuxIO", "Metrics", "Network",
            ],
            path: "Tests/WebSocketEcho"
        ),
        .testTarget(name: "MetricsTests", dependencies: ["Metrics", "TestSupport"]),
        .testTarget(
            name: "StatusServerTests",
            dependencies: [
                "StatusServer", "OrderedJSON", "CLinuxShims", "Addressing", "LinuxIO", "Metrics", "TestSupport",
                "EventHub", "WebSocketWire",
            ]
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

let shims = ["CLinuxShims", "CMicrohttpdShims", "CCurl", "CNetworkShims", "CTLSShims"]
for target in package.targets where target.type != .system && !shims.contains(target.name) {
    target.swiftSettings = swiftSettings
}

// The program is built without the regular expression engine (packaging/build-release): what needs it fails to compile
// here. In the libraries only where Tests/run checks them: others could not depend on a package with flags of this kind.
var ofLibraries = Set(["Network", "FoundationBonjour", "FoundationWebSocket", "MultipeerConnectivity"])
for target in package.targets.reversed() where ofLibraries.contains(target.name) {
    for case .byNameItem(let name, _) in target.dependencies { ofLibraries.insert(name) }
}
if Context.environment["NWPATH_TEST_AS_RELEASE"] != nil { ofLibraries = [] }
for target in package.targets where target.path == nil && !target.isTest && !ofLibraries.contains(target.name) {
    target.swiftSettings? += [.unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])]
}

// Programs as they were written before Swift 6, without a setting.
for target in package.targets where target.name == "ArticlePrograms" {
    target.swiftSettings = [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]
}

// What the fuzz targets, a package of their own, can link; one by one, so that each counts the edges of its own only.
let fuzzed = [
    "DNSWire", "OrderedJSON", "Configuration", "Netlink", "MulticastDNS", "EventHub", "EventLog", "StatusServer",
    "WebSocketWire", "Probes", "PeerEngine",
]
package.products += fuzzed.map { .library(name: $0, targets: [$0]) }

// `make test ONLY=…`: the test targets it names with what they depend on, and nothing else.
if let named = Context.environment["NWPATH_TEST_TARGETS"] {
    var needed = Set(named.split(separator: ",").map(String.init))
    for target in package.targets.reversed() where needed.contains(target.name) {
        for case .byNameItem(let name, _) in target.dependencies { needed.insert(name) }
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products = []
}
