// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import Configuration

@Suite struct ConfigurationFilesTests {
    /// The names of the sources without their directory.
    private func names(_ files: ConfigurationFiles, in scratch: Scratch) throws(ConfigurationError) -> [String] {
        try files.sources().map { String($0.name.dropFirst(scratch.path.count + 1)) }
    }

    private func problems(_ files: ConfigurationFiles) -> [String] {
        do {
            _ = try files.sources()
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test(arguments: [
        ("/etc/nwpath/nwpath.yaml", "/etc/nwpath/conf.d"), ("nwpath.yaml", "conf.d"), ("/x.yaml", "/conf.d"),
        ("a/b/c.yaml", "a/b/conf.d"),
    ])
    func `drop-ins lie beside the file`(file: String, directory: String) {
        #expect(ConfigurationFiles(file: file).dropIns == directory)
        #expect(ConfigurationFiles(file: file).isRequired)
    }

    @Test func `the standard file is that of the user, and may be missing`() throws {
        let files = ConfigurationFiles(standard: StandardPaths(userID: 0, environment: [:]))
        #expect(files.file == "/etc/nwpath/nwpath.yaml" && !files.isRequired)
        #expect(files != ConfigurationFiles(file: files.file))
        let nowhere = ConfigurationFiles(
            standard: StandardPaths(userID: 0, environment: ["CONFIGURATION_DIRECTORY": "/nowhere/at/all"])
        )
        #expect(try nowhere.sources().isEmpty)
    }

    @Test func `the file comes first, then its drop-ins in the byte order of their names`() throws {
        let scratch = try Scratch()
        scratch.directory("conf.d")
        try scratch.write("", to: "nwpath.yaml")
        for name in ["b", "a", "B", "é", "10", "9", "a-b", "a.b"] { try scratch.write("", to: "conf.d/\(name).yaml") }
        let files = ConfigurationFiles(file: scratch.path + "/nwpath.yaml")
        #expect(
            try names(files, in: scratch) == [
                "nwpath.yaml", "conf.d/10.yaml", "conf.d/9.yaml", "conf.d/B.yaml", "conf.d/a-b.yaml", "conf.d/a.b.yaml",
                "conf.d/a.yaml", "conf.d/b.yaml", "conf.d/é.yaml",
            ]
        )
    }

    @Test func `drop-ins count even when the standard file is missing`() throws {
        let scratch = try Scratch()
        scratch.directory("conf.d")
        try scratch.write("log: {keep: 5}\n", to: "conf.d/a.yaml")
        let paths = StandardPaths(userID: 0, environment: ["CONFIGURATION_DIRECTORY": scratch.path])
        let configuration = try Configuration.load(
            ConfigurationFiles(standard: paths),
            paths: rootPaths,
            environment: [:]
        )
        #expect(configuration.log.keep == 5)
    }

    @Test func `other names are no drop-ins`() throws {
        let scratch = try Scratch()
        scratch.directory("conf.d")
        try scratch.write("", to: "nwpath.yaml")
        for name in [".a.yaml", "a.yml", "a.yaml~", "a.YAML", "yaml", "a.yaml.bak", "#a.yaml#"] {
            try scratch.write("nonsense", to: "conf.d/" + name)
        }
        #expect(try names(ConfigurationFiles(file: scratch.path + "/nwpath.yaml"), in: scratch) == ["nwpath.yaml"])
    }

    @Test func `a drop-in that is a directory, a pipe or a dangling link is told by name`() throws {
        let scratch = try Scratch()
        scratch.directory("conf.d")
        scratch.directory("conf.d/a.yaml")
        scratch.pipe("conf.d/b.yaml")
        try scratch.write("", to: "nwpath.yaml")
        unsafe symlink("/nowhere/at/all", scratch.path + "/conf.d/c.yaml")
        #expect(
            problems(ConfigurationFiles(file: scratch.path + "/nwpath.yaml")) == [
                "\(scratch.path)/conf.d/a.yaml: cannot be read: not a regular file",
                "\(scratch.path)/conf.d/b.yaml: cannot be read: not a regular file",
                "\(scratch.path)/conf.d/c.yaml: cannot be read: No such file or directory (ENOENT)",
            ]
        )
    }

    @Test func `a link to a file is a file`() throws {
        let scratch = try Scratch()
        try scratch.write("log: {keep: 8}\n", to: "real")
        unsafe symlink(scratch.path + "/real", scratch.path + "/nwpath.yaml")
        let sources = try ConfigurationFiles(file: scratch.path + "/nwpath.yaml").sources()
        #expect(sources.map { String(decoding: $0.bytes, as: UTF8.self) } == ["log: {keep: 8}\n"])
    }

    @Test func `a file in the place of the drop-ins' directory is no error`() throws {
        let scratch = try Scratch()
        try scratch.write("", to: "nwpath.yaml")
        try scratch.write("", to: "conf.d")
        #expect(try ConfigurationFiles(file: scratch.path + "/nwpath.yaml").sources().count == 1)
    }

    @Test func `more drop-ins than anybody needs are refused`() throws {
        let scratch = try Scratch()
        scratch.directory("conf.d")
        try scratch.write("", to: "nwpath.yaml")
        for number in 0..<ConfigurationFiles.mostDropIns { try scratch.write("", to: "conf.d/\(number).yaml") }
        let files = ConfigurationFiles(file: scratch.path + "/nwpath.yaml")
        #expect(try files.sources().count == ConfigurationFiles.mostDropIns + 1)
        try scratch.write("", to: "conf.d/one-more.yaml")
        #expect(problems(files) == ["\(scratch.path)/conf.d: the directory has more than 256 entries"])
    }

    @Test(arguments: [(1 << 20, []), ((1 << 20) + 1, ["larger than 1MiB"])])
    func `a file may have a mebibyte`(size: Int, expected: [String]) throws {
        let scratch = try Scratch()
        try scratch.write(String(repeating: "#", count: size), to: "nwpath.yaml")
        let found = problems(ConfigurationFiles(file: scratch.path + "/nwpath.yaml"))
        #expect(found == expected.map { "\(scratch.path)/nwpath.yaml: \($0)" })
    }

    @Test func `endless files end`() {
        #expect(problems(ConfigurationFiles(file: "/dev/zero")) == ["/dev/zero: cannot be read: not a regular file"])
    }

    @Test func `every file that cannot be read is told at once`() throws {
        let scratch = try Scratch()
        scratch.directory("conf.d")
        scratch.directory("conf.d/z.yaml")
        #expect(problems(ConfigurationFiles(file: scratch.path + "/missing.yaml")).count == 2)
    }

    @Test func `problems in several files are told in the order they are read`() throws {
        let scratch = try Scratch()
        scratch.directory("conf.d")
        try scratch.write("lgo: {}\n", to: "nwpath.yaml")
        try scratch.write("log: {kep: 1}\n", to: "conf.d/b.yaml")
        try scratch.write("insecure: maybe\n", to: "conf.d/a.yaml")
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(
                ConfigurationFiles(file: scratch.path + "/nwpath.yaml"),
                paths: rootPaths,
                environment: ["NWPATH_LOG_KEEP": "x"]
            )
        }
        let places = error?.problems.map { $0.description.split(separator: " ")[0] } ?? []
        #expect(
            places == [
                "\(scratch.path)/nwpath.yaml:1:1:", "\(scratch.path)/conf.d/a.yaml:1:11:",
                "\(scratch.path)/conf.d/b.yaml:1:7:", "environment",
            ]
        )
    }
}
