// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Glibc
internal import LinuxIO
internal import PathService
internal import Spelling

/// `nwpath serve`: the daemon.
struct Serve: Command {
    var config: String?
    var listen: [String] = []
    var logFile: String?
    var stateDirectory: String?
    var hasNoMulticast = false
    var connectivity: ConnectivitySettings.Check?
    var debounce: String?
    var recording: String?
    var checksConfiguration = false
    var printsDefaults = false

    static let specification = Specification<Serve>(
        "serve",
        "Runs the service.",
        discussion: "SIGHUP reloads the configuration and reopens the log file, SIGUSR1 only reopens the log file, "
            + "SIGTERM stops.",
        examples: [
            CommandExample("nwpath serve", "with good defaults, as root or not"),
            CommandExample("nwpath serve --listen 127.0.0.1:8353 --log-file -", "on one address, log to the terminal"),
        ],
        arguments: [
            .option("--config", value: "FILE", into: \.config, .path, help: "The configuration file."),
            .options(
                "--listen",
                value: "ADDRESS",
                into: \.listen,
                .text,
                help: "unix:PATH or ADDRESS:PORT; replaces the defaults."
            ),
            .option("--log-file", value: "FILE", into: \.logFile, .path, help: "The event log; - is standard output."),
            .option("--state-dir", value: "DIR", into: \.stateDirectory, .path, help: "The state directory."),
            .flag("--no-mdns", into: \.hasNoMulticast, help: "Do not browse services."),
            .option(
                "--connectivity",
                value: "CHECK",
                into: \.connectivity,
                .choice,
                help: "What is tested continuously: local, public or off."
            ),
            .option(
                "--debounce",
                value: "DURATION",
                into: \.debounce,
                .text,
                help: "Quiet time before a change is reported."
            ),
            .option("--record", value: "FILE", into: \.recording, .path, help: "Record the messages of the kernel."),
            .flag("--check-config", into: \.checksConfiguration, help: "Check the configuration and exit."),
            .flag("--print-default-config", into: \.printsDefaults, help: "Print a commented default file and exit."),
        ],
        common: [],
        exits: [
            ExitNote(.success, "stopped by a signal"), ExitNote(.negative, "cannot run; the message says why"),
            ExitNote(.usage, "the command line or the configuration is not valid"),
        ]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        let environment = Environment.variables
        let paths = StandardPaths(userID: geteuid(), environment: environment)
        if printsDefaults {
            Terminal.print(Configuration.defaultFile(paths: paths))
            return .success
        }
        let files =
            config.map { ConfigurationFiles(file: Environment.absolute($0)) }
            ?? ConfigurationFiles(standard: paths)
        let configuration: Configuration
        do {
            configuration = try Configuration.load(
                files,
                paths: paths,
                environment: environment,
                overrides: overrides,
                verifying: ProtectionFiles.complaints(of:)
            )
        } catch {
            for problem in error.problems { Terminal.complain("\(problem)") }
            return .usage
        }
        if checksConfiguration {
            Terminal.print("\(files.file): configuration OK")
            return .success
        }
        let options = ServiceOptions(
            configuration: configuration,
            files: files,
            paths: paths,
            environment: environment,
            overrides: overrides,
            recording: recording.map(Environment.absolute),
            version: NWPath.version,
            report: { Terminal.complain($0) }
        )
        do {
            try serve(options)
            return .success
        } catch {
            Terminal.complain("\(error)")
            return .negative
        }
    }

    private var overrides: [ConfigurationOverride] {
        var overrides: [ConfigurationOverride] = []
        func add(_ flag: String, _ key: String, _ values: [String]) {
            overrides.append(ConfigurationOverride(flag: flag, key: key, values: values))
        }
        if !listen.isEmpty { add("--listen", "listen", listen.map(Self.absolute)) }
        if let logFile { add("--log-file", "log.file", [logFile == "-" ? "-" : Environment.absolute(logFile)]) }
        if let stateDirectory { add("--state-dir", "state_dir", [Environment.absolute(stateDirectory)]) }
        if hasNoMulticast { add("--no-mdns", "mdns.enabled", ["false"]) }
        if let connectivity { add("--connectivity", "connectivity.check", [connectivity.rawValue]) }
        if let debounce {
            add("--debounce", "debounce.quiet", [debounce])
            // A cap below the quiet time would be refused.
            if let quiet = DurationText.parse(debounce), quiet > .seconds(1) {
                add("--debounce", "debounce.cap", [debounce])
            }
        }
        return overrides
    }

    private static func absolute(_ address: String) -> String {
        guard address.hasPrefix("unix:"), !address.hasPrefix("unix:/") else { return address }
        return "unix:" + Environment.absolute(String(address.dropFirst(5)))
    }

    private func serve(_ options: ServiceOptions) throws(ServiceError) {
        try Daemon.checkDescriptorLimit()
        let loop: EventLoop
        do {
            loop = try EventLoop()
        } catch {
            throw .loop(error)
        }
        var daemon: Daemon?
        do {
            try loop.handleSignals([SIGTERM, SIGINT, SIGHUP, SIGUSR1]) { signal in
                switch signal {
                case SIGHUP: daemon?.reload()
                case SIGUSR1: daemon?.reopenLog()
                default: daemon?.stop(signal: signal == SIGINT ? "SIGINT" : "SIGTERM")
                }
            }
        } catch {
            throw .loop(error)
        }
        let running = try Daemon(loop: loop, options: options)
        daemon = running
        do throws(ServiceError) {
            try running.start { loop.stop() }
        } catch {
            // What the daemon has planned holds it: a loop that is over lets go of both.
            loop.stop()
            loop.run()
            throw error
        }
        loop.run()
        daemon = nil
    }
}
