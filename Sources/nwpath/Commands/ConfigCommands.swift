// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Documents
internal import Glibc
internal import OrderedJSON

/// `nwpath config check`: whether the service would take the configuration.
struct ConfigCheck: Command {
    var file: String?

    static let specification = Specification<ConfigCheck>(
        "config check",
        "Checks the configuration without starting anything.",
        examples: [
            CommandExample("nwpath config check", "the file that the service reads"),
            CommandExample("nwpath config check --config nwpath.yaml", "another one"),
        ],
        arguments: [.option("--config", "--file", value: "FILE", into: \.file, .path, help: "The configuration file.")],
        common: [.output, .messages],
        exits: [ExitNote(.success, "it is valid"), ExitNote(.negative, "it is not valid"), ExitNote(.usage)]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            let source = ConfigurationSource(file: file)
            var problems: [ConfigurationProblem] = []
            do throws(ConfigurationError) {
                _ = try source.load()
            } catch {
                problems = error.problems
            }
            if common.isJSON {
                try Screen(common).print(Self.members.value(of: (source, problems)))
            } else {
                for problem in problems {
                    common.isQuiet ? Terminal.complain("\(problem)") : Terminal.print("\(problem)")
                }
                if problems.isEmpty { Terminal.print(source.praise) }
            }
            return problems.isEmpty ? .success : .negative
        }
    }

    static let members = Members<(source: ConfigurationSource, problems: [ConfigurationProblem])>
        .document("ConfigCheck", "What a configuration breaks.")
        .member("file") { $0.source.files.file }
        .member("exists") { $0.source.exists }
        .member("valid") { $0.problems.isEmpty }
        .member(
            "problems",
            each: .object()
                .member("place") { "\($0.origin)" }
                .member("message") { String("\($0)".dropFirst("\($0.origin): ".count)) }
        ) { $0.problems }
}

/// `nwpath config show`: what is set, or everything that is in force.
struct ConfigShow: Command {
    var file: String?
    var isEffective = false

    static let specification = Specification<ConfigShow>(
        "config show",
        "Shows the settings that differ from the defaults.",
        discussion: "Files, drop-ins and the environment are merged as the service does.",
        examples: [
            CommandExample("nwpath config show", "settings that were changed"),
            CommandExample("nwpath config show --effective", "all settings in use, as YAML"),
        ],
        arguments: [
            .option("--config", "--file", value: "FILE", into: \.file, .path, help: "The configuration file."),
            .flag("--effective", into: \.isEffective, help: "Show the defaults as well."),
        ],
        common: [.output, .messages],
        exits: [ExitNote(.success), ExitNote(.negative, "the configuration is not valid"), ExitNote(.usage)]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            let source = ConfigurationSource(file: file)
            let configuration: Configuration
            do {
                configuration = try source.load()
            } catch {
                throw CommandFailure("\(error)", .negative)
            }
            let standard = Configuration(paths: source.paths).tree
            let tree = isEffective ? configuration.tree : configuration.tree.differences(from: standard)
            if common.isJSON {
                try Screen(common).print(tree.json)
            } else if case .map(let fields) = tree, fields.isEmpty {
                Terminal.print("# all settings have their default values")
            } else {
                Terminal.print(tree.yaml)
            }
            return .success
        }
    }
}

/// `nwpath config schema`: the JSON Schema of the configuration, for editors.
struct ConfigSchema: Command {
    static let specification = Specification<ConfigSchema>(
        "config schema",
        "Prints the JSON Schema of the configuration, for editors.",
        examples: [CommandExample("nwpath config schema > nwpath.schema.json", "for the YAML language server")],
        common: [.output, .messages],
        exits: [ExitNote(.success), ExitNote(.usage)]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            let paths = StandardPaths(userID: geteuid(), environment: Environment.variables)
            try Screen(common).print(Configuration.schema(paths: paths).json)
            return .success
        }
    }
}

struct ConfigurationSource {
    let paths: StandardPaths
    let files: ConfigurationFiles
    private let environment: [String: String]

    /// The named file, or the standard one.
    init(file: String?) {
        environment = Environment.variables
        paths = StandardPaths(userID: geteuid(), environment: environment)
        files = file.map { ConfigurationFiles(file: Environment.absolute($0)) } ?? ConfigurationFiles(standard: paths)
    }

    var exists: Bool { unsafe access(files.file, F_OK) == 0 }

    func load() throws(ConfigurationError) -> Configuration {
        try Configuration.load(files, paths: paths, environment: environment)
    }

    /// What is said of a configuration without problems.
    var praise: String {
        exists ? "\(files.file): configuration OK" : "\(files.file) does not exist; using the defaults"
    }
}

extension ConfigurationTree {
    /// The fields whose value is another than in `standard`, maps field by field.
    func differences(from standard: ConfigurationTree) -> ConfigurationTree {
        guard case .map(let fields) = self, case .map = standard else { return self }
        return .map(
            fields.compactMap { field in
                guard let old = standard[field.name] else { return field }
                guard field.value != old else { return nil }
                return Field(field.name, field.value.differences(from: old))
            }
        )
    }

    var json: JSONValue {
        switch self {
        case .null: return .null
        case .boolean(let value): return .bool(value)
        case .integer(let value): return .integer(Int64(value))
        case .text(let value): return .string(value)
        case .list(let items): return .array(items.map(\.json))
        case .map(let fields):
            var object = JSONObject()
            for field in fields { object[field.name] = field.value.json }
            return .object(object)
        }
    }
}
