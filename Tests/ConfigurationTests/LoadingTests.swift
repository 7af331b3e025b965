// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import Spelling
import TestSupport
import Testing

@testable import Configuration

@Suite struct LoadingTests {
    private func load(
        _ files: ConfigurationFiles,
        environment: [String: String] = [:],
        overrides: [ConfigurationOverride] = []
    ) throws(ConfigurationError) -> Configuration {
        try Configuration.load(files, paths: rootPaths, environment: environment, overrides: overrides)
    }

    private func problems(_ body: () throws(ConfigurationError) -> Configuration) -> [String] {
        do {
            _ = try body()
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test func `drop-ins are merged in the order of their names`() throws {
        let scratch = try Scratch()
        scratch.directory("conf.d")
        try scratch.write("log: {keep: 1}\nhosts: [a]\n", to: "nwpath.yaml")
        try scratch.write("log: {keep: 20}\n", to: "conf.d/20-b.yaml")
        try scratch.write("log: {keep: 10, level: debug}\n", to: "conf.d/10-a.yaml")
        try scratch.write("nonsense", to: "conf.d/.hidden.yaml")
        try scratch.write("nonsense", to: "conf.d/30-c.yml")
        let configuration = try load(ConfigurationFiles(file: scratch.path + "/nwpath.yaml"))
        #expect(configuration.log.keep == 20)
        #expect(configuration.log.level == .debug)
        #expect(configuration.hosts == ["a"])
    }

    @Test func `a problem names the drop-in it is in`() throws {
        let scratch = try Scratch()
        scratch.directory("conf.d")
        try scratch.write("insecure: false\n", to: "nwpath.yaml")
        try scratch.write("\nlisten: [\"0.0.0.0:80\"]\n", to: "conf.d/10-open.yaml")
        let found = problems { () throws(ConfigurationError) in
            try load(ConfigurationFiles(file: scratch.path + "/nwpath.yaml"))
        }
        #expect(found.map { $0.contains("/conf.d/10-open.yaml:2:10: listen[0] 0.0.0.0:80 is reachable") } == [true])
    }

    @Test func `the standard file may be missing, a named one may not`() throws {
        let scratch = try Scratch()
        let paths = StandardPaths(userID: 0, environment: ["CONFIGURATION_DIRECTORY": scratch.path])
        let standard = try load(ConfigurationFiles(standard: paths))
        #expect(standard == Configuration(paths: rootPaths))
        let found = problems { () throws(ConfigurationError) in
            try load(ConfigurationFiles(file: scratch.path + "/absent.yaml"))
        }
        #expect(found == ["\(scratch.path)/absent.yaml: cannot be read: No such file or directory (ENOENT)"])
    }

    @Test func `a directory, a pipe and a huge file are refused without waiting`() throws {
        let scratch = try Scratch()
        scratch.directory("directory.yaml")
        scratch.pipe("pipe.yaml")
        try scratch.write(String(repeating: "# comment\n", count: 110_000), to: "huge.yaml")
        let expected = [
            "directory": "cannot be read: not a regular file", "pipe": "cannot be read: not a regular file",
            "huge": "larger than 1MiB",
        ]
        for (name, words) in expected {
            let path = "\(scratch.path)/\(name).yaml"
            let found = problems { () throws(ConfigurationError) in try load(ConfigurationFiles(file: path)) }
            #expect(found == ["\(path): \(words)"])
        }
    }

    @Test func `flags go before the environment, and that before files`() throws {
        let scratch = try Scratch()
        try scratch.write("log: {keep: 1, level: debug}\nmdns: {enabled: false}\nstate_dir: /a\n", to: "nwpath.yaml")
        let configuration = try load(
            ConfigurationFiles(file: scratch.path + "/nwpath.yaml"),
            environment: [
                "NWPATH_LOG_KEEP": "2", "NWPATH_STATE_DIR": "/b", "NWPATH_LISTEN": "127.0.0.1:1, unix:/run/x",
                "NWPATH_URL": "http://localhost", "NWPATH_PORT": "tcp://10.0.0.1:80",
                "NWPATH_PORT_8353_TCP_ADDR": "10.0.0.1", "NWPATH_SERVICE_HOST": "10.0.0.1",
            ],
            overrides: [
                ConfigurationOverride(flag: "--state-dir", key: "state_dir", values: ["/c"]),
                ConfigurationOverride(flag: "--debounce", key: "debounce.quiet", values: ["0"]),
                ConfigurationOverride(flag: "--listen", key: "hosts", values: ["x", "y"]),
            ]
        )
        #expect(configuration.log.keep == 2)
        #expect(configuration.log.level == .debug)
        #expect(configuration.stateDirectory == "/c")
        #expect(configuration.listen.map(\.description) == ["127.0.0.1:1", "unix:/run/x"])
        #expect(configuration.debounce.quiet == .zero)
        #expect(configuration.hosts == ["x", "y"])
        #expect(configuration.mdns.isEnabled == false)
    }

    @Test func `a bad flag or variable is named`() {
        let found = problems { () throws(ConfigurationError) in
            try Configuration.read(
                [],
                paths: rootPaths,
                environment: ["NWPATH_LOG_KEEP": "many", "NWPATH_INSECURE": "", "NWPATH_LOG_KEP": "1"],
                overrides: [
                    ConfigurationOverride(flag: "--listen", key: "listen", values: ["0.0.0.0:80"]),
                    ConfigurationOverride(flag: "--debounce", key: "debounce.quite", values: ["1s"]),
                ]
            )
        }
        #expect(
            found == [
                "environment NWPATH_LOG_KEP: unknown key 'NWPATH_LOG_KEP' (did you mean 'NWPATH_LOG_KEEP'?)",
                "environment NWPATH_INSECURE: insecure is empty, expected true or false",
                "environment NWPATH_LOG_KEEP: log.keep is 'many', expected a whole number from 0 to 1000",
                "--debounce: unknown key 'debounce.quite' (did you mean 'debounce.quiet'?)",
            ]
        )
    }

    @Test func `variables have one name each, derived from the key`() {
        let keys = Configuration.reference(paths: rootPaths).compactMap(\.variable)
        #expect(Set(keys).count == keys.count)
        #expect(keys.contains("NWPATH_GATEWAY_LIVENESS_INTERVAL"))
        #expect(!keys.contains { $0.contains("NAME") })
    }
}

@Suite struct StandardPathsTests {
    @Test(
        arguments: [
            (0, [:], "/run/nwpath/api.sock /var/lib/nwpath /var/log/nwpath/events.jsonl /etc/nwpath/nwpath.yaml"),
            (
                0, ["XDG_RUNTIME_DIR": "/run/user/0", "HOME": "/root"],
                "/run/nwpath/api.sock /var/lib/nwpath /var/log/nwpath/events.jsonl /etc/nwpath/nwpath.yaml"
            ),
            (
                7, ["XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/s/", "XDG_CONFIG_HOME": "/c"],
                "/run/user/7/nwpath/api.sock /s/nwpath /s/nwpath/events.jsonl /c/nwpath/nwpath.yaml"
            ),
            (
                7, ["HOME": "/home/u"],
                """
                /tmp/nwpath-7/api.sock /home/u/.local/state/nwpath /home/u/.local/state/nwpath/events.jsonl \
                /home/u/.config/nwpath/nwpath.yaml
                """
            ),
            (
                7, ["HOME": "/home/u", "XDG_STATE_HOME": "relative", "XDG_CONFIG_HOME": "", "XDG_RUNTIME_DIR": "x"],
                """
                /tmp/nwpath-7/api.sock /home/u/.local/state/nwpath /home/u/.local/state/nwpath/events.jsonl \
                /home/u/.config/nwpath/nwpath.yaml
                """
            ),
            (7, [:], "/tmp/nwpath-7/api.sock /tmp/nwpath-7 /tmp/nwpath-7/events.jsonl /tmp/nwpath-7/nwpath.yaml"),
            (
                7,
                [
                    "RUNTIME_DIRECTORY": "/run/nwpath", "STATE_DIRECTORY": "/var/lib/nwpath:/var/lib/other",
                    "LOGS_DIRECTORY": "/var/log/nwpath", "CONFIGURATION_DIRECTORY": "/etc/nwpath",
                ], "/run/nwpath/api.sock /var/lib/nwpath /var/log/nwpath/events.jsonl /etc/nwpath/nwpath.yaml"
            ),
        ] as [(UInt32, [String: String], String)]
    )
    func `follow from user and environment alone`(user: UInt32, environment: [String: String], expected: String) {
        let paths = StandardPaths(userID: user, environment: environment)
        let all = [paths.socket, paths.stateDirectory, paths.logFile, paths.configurationFile]
        #expect(all.joined(separator: " ") == expected)
    }

    @Test func `a client tries its own socket, then the system's`() {
        #expect(rootPaths.clientSockets == ["/run/nwpath/api.sock"])
        let user = StandardPaths(userID: 7, environment: ["XDG_RUNTIME_DIR": "/run/user/7"])
        #expect(user.clientSockets == ["/run/user/7/nwpath/api.sock", "/run/nwpath/api.sock"])
    }
}

@Suite struct ListenAddressTests {
    @Test(arguments: [
        "unix:/run/x.sock", "127.0.0.1:8353", "[::1]:0", "0.0.0.0:65535", "[2001:db8::1]:80", "[fe80::1%eth0]:1",
    ])
    func `is read and written alike`(text: String) throws {
        #expect(try #require(ListenAddress(text)).description == text)
    }

    @Test(arguments: [
        "", "unix:", "unix:/", "unix:relative", "unix:/dir/", "8353", ":8353", "localhost:8353", "::1:8353",
        "[127.0.0.1]:1",
        "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1", "[::1]", "[::1]8353", "[fe80::1%]:1",
        "127.1:80",
        "unix:/" + String(repeating: "x", count: 107),
    ])
    func `refuses everything else`(text: String) {
        #expect(ListenAddress(text) == nil)
    }

    @Test(arguments: [
        ("unix:/x", true), ("127.9.9.9:1", true), ("[::1]:1", true), ("0.0.0.0:1", false), ("[::]:1", false),
        ("[::ffff:127.0.0.1]:1", false),
    ])
    func `knows what others can reach`(text: String, isLocal: Bool) throws {
        #expect(try #require(ListenAddress(text)).isLocal == isLocal)
    }
}

@Suite struct WatchedServiceTests {
    @Test(arguments: ["_ipp._tcp", "_ssh._udp", "_ipp._tcp/Office Printer", "_a1-b._tcp/a/b", "_ipp._tcp/Büro"])
    func `is read and written alike`(text: String) throws {
        #expect(try #require(WatchedService(text)).description == text)
    }

    @Test(arguments: [
        "", "ipp._tcp", "_ipp._sctp", "_ipp", "_._tcp", "_-a._tcp", "_a-._tcp", "_sixteen-letters1._tcp", "_ipp._tcp/",
        "_ipp._tcp.local", "_ipp._tcp/" + String(repeating: "x", count: 64), "_ipp._tcp/a\nb", "_i_p._tcp",
    ])
    func `refuses everything else`(text: String) {
        #expect(WatchedService(text) == nil)
    }
}
