// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

/// The table of docs/architecture.md: which module a target may import, besides Swift and Synchronization.
private let mayImport: [String: Set<String>] = [
    "Addressing": [],
    "OrderedJSON": [],
    "Spelling": [],
    "CommandLineKit": ["Spelling"],
    "LinuxIO": ["Glibc", "CLinuxShims", "Addressing"],
    "Netlink": ["Glibc", "CNetlink", "CLinuxShims", "Addressing", "LinuxIO"],
    "PathModel": ["Addressing", "Spelling", "Netlink"],
    "Providers": [
        "Glibc", "CSystemd", "CSystemdShims", "CNetlinkGeneric", "CLinuxShims", "Addressing", "LinuxIO", "Netlink",
        "PathModel",
    ],
    "PathEngine": ["Addressing", "LinuxIO", "Netlink", "PathModel", "Providers"],
    "DNSWire": ["Addressing"],
    "MulticastDNS": ["Glibc", "CLinuxShims", "Addressing", "LinuxIO", "PathModel", "DNSWire"],
    "Diagnosis": ["Addressing"],
    "Probes": [
        "Glibc", "CCurl", "CLinuxShims", "Addressing", "OrderedJSON", "LinuxIO", "PathModel", "DNSWire", "MulticastDNS",
    ],
    "Examination": [
        "Glibc", "Addressing", "LinuxIO", "Netlink", "PathModel", "Probes", "Diagnosis", "WebSocketWire",
    ],
    "Documents": [
        "Addressing", "OrderedJSON", "LinuxIO", "Netlink", "PathModel", "PathEngine", "DNSWire", "MulticastDNS",
        "Probes", "Diagnosis",
    ],
    "EventHub": [
        "Glibc", "Addressing", "OrderedJSON", "LinuxIO", "PathModel", "MulticastDNS", "Probes", "Diagnosis",
        "Documents",
    ],
    "EventLog": ["Glibc", "CLinuxShims", "CZlib", "OrderedJSON", "LinuxIO", "EventHub"],
    "Metrics": ["Glibc", "LinuxIO", "PathModel", "MulticastDNS", "Documents", "EventHub"],
    "WebSocketWire": ["CNettle", "CWslay"],
    "StatusServer": [
        "Glibc", "CMicrohttpd", "CMicrohttpdShims", "CLinuxShims", "CGnuTLS", "CCrypt", "CZlib", "Addressing",
        "OrderedJSON", "LinuxIO", "Documents", "EventHub", "EventLog", "Metrics", "Spelling",
        "WebSocketWire",
    ],
    "StatusClient": ["Glibc", "CCurl", "OrderedJSON", "LinuxIO", "Documents"],
    "Configuration": [
        "Glibc", "CYAML", "Addressing", "OrderedJSON", "LinuxIO", "PathModel", "DNSWire", "MulticastDNS", "Probes",
        "Diagnosis", "Spelling",
    ],
    "PathService": [
        "Glibc", "CSystemd", "CLinuxShims", "Addressing", "OrderedJSON", "LinuxIO", "Netlink", "PathModel", "Providers",
        "PathEngine", "DNSWire", "MulticastDNS", "Documents", "EventHub", "EventLog", "Metrics", "StatusServer",
        "Configuration", "Probes", "Diagnosis", "Examination", "Spelling",
    ],
    "Network": [
        "Glibc", "Dispatch", "FoundationEssentials", "CNetworkShims", "CTLSShims", "CLinuxShims", "Addressing",
        "LinuxIO", "Netlink", "PathModel", "Providers", "PathEngine", "DNSWire", "MulticastDNS", "WebSocketWire",
    ],
    "FoundationBonjour": [
        "Glibc", "Foundation", "Addressing", "LinuxIO", "DNSWire", "MulticastDNS", "Network",
    ],
    "FoundationWebSocket": ["Glibc", "Foundation", "FoundationNetworking", "Network"],
    "nwpath": [
        "Glibc", "CommandLineKit", "Spelling", "Addressing", "OrderedJSON", "LinuxIO", "Netlink", "PathModel",
        "PathEngine",
        "DNSWire", "MulticastDNS", "Documents", "EventHub", "EventLog", "StatusClient", "Configuration", "PathService",
        "Probes", "Diagnosis", "Examination",
    ],
]

@Suite struct LayeringTests {
    @Test(arguments: SourceTree.targets())
    func `a target imports only targets to its left`(target: String) throws {
        let allowed = try #require(mayImport[target], "\(target) is missing in the table of this test")
        for file in SourceTree.swiftFiles(in: "Sources/\(target)") {
            for (number, module) in file.imports where !["Swift", "Synchronization"].contains(module) {
                #expect(allowed.contains(module), "\(file.path):\(number): \(target) may not import \(module)")
            }
        }
    }

    @Test func `the table names no target that does not exist`() {
        #expect(Set(mayImport.keys).subtracting(SourceTree.targets()).isEmpty)
    }
}

@Suite struct HouseRulesTests {
    @Test(arguments: SourceTree.swiftFiles(in: "Sources") + SourceTree.swiftFiles(in: "Tests"))
    func `a file is short, has its header, and forces nothing`(file: SourceFile) {
        #expect(file.lines.first?.hasSuffix("SPDX-License-Identifier: Apache-2.0") == true, "\(file.path): header")
        #expect(file.lines.count <= 600, "\(file.path): \(file.lines.count) lines")
        guard !file.path.contains("LayeringTests") else { return }
        // Tests would wait for each other on the global queue (TestSupport/Queues.swift).
        let isOfTests = file.path.split(separator: "/").dropLast().contains { $0 != "Tests" && $0.hasSuffix("Tests") }
        let forbidden = ["try!", "as!", "@unchecked Sendable", "fatalError("] + (isOfTests ? [".global()"] : [])
        for (number, line) in file.lines.enumerated() {
            for word in forbidden {
                #expect(!line.contains(word), "\(file.path):\(number + 1): \(word)")
            }
        }
    }

    @Test(arguments: SourceTree.swiftFiles(in: "Sources"))
    func `a function has at most 80 lines`(file: SourceFile) {
        for (number, length) in file.functions {
            #expect(length <= 80, "\(file.path):\(number): \(length) lines")
        }
    }

    @Test func `half of the source files have at most 110 lines`() throws {
        let lengths = SourceTree.swiftFiles(in: "Sources").map(\.lines.count).sorted()
        let median = try #require(lengths.isEmpty ? nil : lengths[lengths.count / 2])
        #expect(median <= 110)
    }
}
