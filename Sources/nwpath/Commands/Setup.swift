// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Glibc
internal import LinuxIO
internal import OrderedJSON
internal import Spelling

/// `nwpath setup`: what is tested all the time, written into the configuration.
struct Setup: Command {
    var isLocal = false
    var isPublic = false
    var isOff = false
    var needsNoAnswer = false
    var config: String?

    static let specification = Specification<Setup>(
        "setup",
        "Chooses what the service tests continuously.",
        discussion:
            "Sets connectivity.check in the configuration file, where every other byte stays as it is, shows the "
            + "change first, and has a running service read it. The file is /etc/nwpath/conf.d/setup.yaml where the service "
            + "reads /etc/nwpath/nwpath.yaml, which is the package's. --local: a query to each name server in use every "
            + "30 s, and the kernel's own test of the gateways. --public: also connections to three hosts of well-known "
            + "operators every 30 s and a page every 2 min. --off: nothing. Without any of them it explains them.",
        examples: [
            CommandExample("nwpath setup --public", "show the change, and confirm it"),
            CommandExample("nwpath setup --local --yes", "test the gateways and name servers in use"),
        ],
        arguments: [
            .flag("--local", into: \.isLocal, help: "Test the gateways and name servers in use."),
            .flag("--public", into: \.isPublic, help: "Test well-known hosts on the Internet as well."),
            .flag("--off", into: \.isOff, help: "Test nothing."),
            .flag("--yes", into: \.needsNoAnswer, help: "Do not prompt."),
            .option("--config", value: "FILE", into: \.config, .path, help: "The configuration file."),
        ],
        common: [.connection, .messages],
        exits: [
            ExitNote(.success, "written, or so already"),
            ExitNote(.negative, "nothing was written, or the service rejected it; the message says why"),
            ExitNote(.usage), ExitNote(.timedOut, "the service did not answer in time"), ExitNote(.refused),
        ],
        check: { setup in
            let count = [setup.isLocal, setup.isPublic, setup.isOff].count { $0 }
            return count > 1 ? "give one of --local, --public and --off" : nil
        }
    )

    private var named: ConnectivitySettings.Check? {
        isLocal ? .local : isPublic ? .public : isOff ? .off : nil
    }

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            let environment = Environment.variables
            let paths = StandardPaths(userID: geteuid(), environment: environment)
            let main = config.map(Environment.absolute) ?? paths.configurationFile
            let files = ConfigurationFiles(file: main, isRequired: false)
            let path = config == nil && files.isPackaged ? files.dropIns + "/setup.yaml" : files.file
            if config == nil, let socket = try ServiceConnection(common).foreignSocket {
                throw CommandFailure(
                    "the service at \(socket) belongs to another user and does not read \(path); "
                        + "run `sudo nwpath setup`, or give --config",
                    .refused
                )
            }
            let reader = SetupReader(path: path, files: files, paths: paths, environment: environment)
            let file = EditedFile(path: path)
            let old = try file.read()
            let sources = try reader.check(replacing: old?.bytes)
            let check = if let named { named } else { try SetupDialogue.choose() }
            let edit = try reader.edit(old?.bytes ?? [], to: check)
            let overriding = try reader.overriding(sources, edit, check)
            if let change = edit.change {
                guard needsNoAnswer || !common.isQuiet else { throw CommandFailure("--quiet needs --yes", .usage) }
                Terminal.print(SetupDialogue.text(change, of: path))
                if !needsNoAnswer { try SetupDialogue.confirm(path) }
                try file.write(edit.bytes, over: old)
            }
            let verb = edit.change == nil ? "already has" : "now has"
            Terminal.print("\(path) \(verb) connectivity.check: \(check.rawValue)")
            if let overriding { Terminal.complain("\(overriding) overrides it") }
            return try Self.reload(check, common)
        }
    }

    /// Has a running service read the file, and says what is in force.
    private static func reload(
        _ check: ConnectivitySettings.Check,
        _ common: CommonOptions
    ) throws(CommandFailure) -> ExitStatus {
        var connection = try ServiceConnection(common)
        let configuration: JSONValue
        do throws(CommandFailure) {
            let answer = try connection.reload()
            Terminal.print(Reload.sentence(answer.value))
            configuration = try connection.get("/api/v1/config").value
        } catch {
            guard error.status == .unreachable else { throw error }
            Terminal.print("the service is not running; the change takes effect when it starts")
            return .success
        }
        let actual = SetupDialogue.check(in: configuration)
        guard actual == check.rawValue else {
            let why = "it reads another file, or its environment or a flag overrides this one"
            throw CommandFailure("the service has connectivity.check: \(actual ?? "none") in use; \(why)", .negative)
        }
        Terminal.print("in use: \(SetupDialogue.meaning(of: check))")
        return .success
    }
}

/// Reads the files as the service does, one of them in its edited form.
struct SetupReader {
    let path: String
    let files: ConfigurationFiles
    let paths: StandardPaths
    let environment: [String: String]

    /// All sources in their order.
    ///
    /// - Parameter bytes: The edited file as it is; `nil` when there is none.
    /// - Returns: The edited file among them.
    /// - Throws: What is wrong with them before any edit.
    func check(replacing bytes: [UInt8]?) throws(CommandFailure) -> [Configuration.Source] {
        do throws(ConfigurationError) {
            var sources = try files.sources().filter { $0.name != path }
            let next = sources.firstIndex { $0.name != files.file && path.utf8.lexicographicallyPrecedes($0.name.utf8) }
            let index = path == files.file ? 0 : next ?? sources.endIndex
            sources.insert(Configuration.Source(name: path, bytes: bytes ?? []), at: index)
            _ = try Configuration.read(sources, paths: paths, environment: environment)
            return sources
        } catch {
            throw CommandFailure("\(error)\nnothing was written", .negative)
        }
    }

    func edit(
        _ bytes: [UInt8],
        to check: ConnectivitySettings.Check
    ) throws(CommandFailure) -> ConnectivityEdit {
        do throws(ConnectivityEditError) {
            return try ConnectivityEdit(of: Configuration.Source(name: path, bytes: bytes), to: check)
        } catch {
            throw CommandFailure("\(error)\nnothing was written", .negative)
        }
    }

    /// What counts more than the edited file; `nil` when nothing does.
    ///
    /// - Throws: What is wrong with the edited configuration.
    func overriding(
        _ sources: [Configuration.Source],
        _ edit: ConnectivityEdit,
        _ check: ConnectivitySettings.Check
    ) throws(CommandFailure) -> String? {
        let edited = sources.map { $0.name == path ? Configuration.Source(name: path, bytes: edit.bytes) : $0 }
        do throws(ConfigurationError) {
            let configuration = try Configuration.read(edited, paths: paths, environment: environment)
            guard configuration.connectivity.check != check else { return nil }
        } catch {
            throw CommandFailure("\(error)\nnothing was written", .negative)
        }
        let variable = Configuration.variable(forKey: "connectivity.check")
        if environment[variable] != nil { return "environment \(variable)" }
        return edited.compactMap(ConnectivityEdit.origin(in:)).last
    }
}
