// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Targets of pure values and decisions: they see neither the system nor its clock, and of `Netlink` values only.
private let pure: Set = [
    "Addressing", "OrderedJSON", "Spelling", "PathModel", "Traffic", "DNSWire", "Diagnosis",
    "WebSocketWire",
]

/// Targets that see the system through `LinuxIO` alone: its event loop, its clock.
private let throughLinuxIO: Set = ["PathEngine", "Documents", "EventHub"]

/// What the libraries for other programs may import besides Glibc; no program of this package has Foundation.
private let foundation: [String: Set<String>] = [
    "Network": ["Dispatch", "FoundationEssentials"],
    "FoundationBonjour": ["Foundation"],
    "FoundationWebSocket": ["Foundation", "FoundationNetworking"],
    "MultipeerConnectivity": ["Foundation"],
]

/// `Package.swift` is the only table of layers; this holds every import line against it.
@Suite struct LayeringTests {
    private let manifest: [ManifestTarget]

    init() throws { manifest = try Manifest.targets() }

    @Test func `the manifest declares every folder of sources once`() {
        #expect(manifest.map(\.folder).filter { $0.hasPrefix("Sources/") }.sorted() == SourceTree.folders())
        #expect(Set(manifest.map(\.name)).count == manifest.count)
    }

    @Test func `a target depends only on targets above it`() {
        var above: Set<String> = []
        for target in manifest {
            for dependency in target.dependencies {
                #expect(above.contains(dependency), "Package.swift: \(target.name) depends on \(dependency)")
            }
            above.insert(target.name)
        }
    }

    @Test func `an import is of a module that the target depends on`() {
        let declared = Set(manifest.map(\.name))
        for target in manifest {
            var allowed = Set(target.dependencies)
            let isOfSources = target.folder.hasPrefix("Sources/")
            if isOfSources {
                allowed.formUnion(["Swift", "Synchronization"])
                if !pure.union(throughLinuxIO).contains(target.name) { allowed.insert("Glibc") }
                if pure.contains(target.name) { allowed.remove("LinuxIO") }
                allowed.formUnion(foundation[target.name] ?? [])
            }
            for file in SourceTree.swiftFiles(in: target.folder) {
                for (number, module) in file.imports where isOfSources || declared.contains(module) {
                    #expect(allowed.contains(module), "\(file.path):\(number): \(target.name) may not import \(module)")
                }
            }
        }
    }

    @Test func `a dependency is imported`() {
        let programs = Set(manifest.filter(\.isProgram).map(\.name))
        for target in manifest {
            let files = SourceTree.swiftFiles(in: target.folder)
            // What C includes is a header; tests run programs.
            guard !files.isEmpty else { continue }
            let imported = Set(files.flatMap(\.imports).map(\.module))
            for dependency in target.dependencies where !programs.contains(dependency) {
                #expect(imported.contains(dependency), "Package.swift: no file of \(target.name) imports \(dependency)")
            }
        }
    }

    @Test func `the rules name only targets that exist`() {
        #expect(pure.union(throughLinuxIO).union(foundation.keys).isSubset(of: manifest.map(\.name)))
    }
}

@Suite struct ManifestTests {
    @Test func `a declaration is read on one line and on many`() {
        let text = """
            // .target(name: "Gone", dependencies: ["A"]),
            .systemLibrary(name: "A", pkgConfig: "a"),
            .target(name: "B"),
            .executableTarget(
                name: "C",
                dependencies: [
                    "A", // why
                    "B",
                ],
                path: "Tests/C",
                resources: [.embedInCode("x.json")]
            ),
            .testTarget(name: "CTests", dependencies: ["C"]),
            """
        let targets = Manifest.targets(in: text)
        #expect(targets.map(\.name) == ["A", "B", "C", "CTests"])
        #expect(targets.map(\.dependencies) == [[], [], ["A", "B"], ["C"]])
        #expect(targets.map(\.folder) == ["Sources/A", "Sources/B", "Tests/C", "Tests/CTests"])
        #expect(targets.map(\.isProgram) == [false, false, true, false])
    }
}

@Suite(.computing) struct HouseRulesTests {
    private static let longestFile = 600
    private static let longestFunction = 80

    @Test func `CONTRIBUTING.md states the limits`() throws {
        let limits = "a file has at most \(Self.longestFile) lines, a function \(Self.longestFunction),"
        #expect(try SourceTree.text(of: "CONTRIBUTING.md").contains(limits))
    }

    @Test(arguments: SourceTree.swiftFiles(in: "Sources") + SourceTree.swiftFiles(in: "Tests"))
    func `a file is short, has its header, and forces nothing`(file: SourceFile) {
        #expect(file.lines.first?.hasSuffix("SPDX-License-Identifier: Apache-2.0") == true, "\(file.path): header")
        #expect(file.lines.count <= Self.longestFile, "\(file.path): \(file.lines.count) lines")
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
    func `a function is short`(file: SourceFile) {
        for (number, length) in file.functions {
            #expect(length <= Self.longestFunction, "\(file.path):\(number): \(length) lines")
        }
    }
}
