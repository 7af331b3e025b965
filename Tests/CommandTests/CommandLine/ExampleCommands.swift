// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Spelling

@testable import nwpath

/// A whole command as the executable declares them, one in a file.
struct ExampleWait: Command {
    enum Family: String, CaseIterable {
        case ipv4
        case ipv6
    }

    var conditions: [String] = []
    var any = false
    var hold = Duration.zero
    var timeout = Duration.zero
    var family: Family?
    var events: [Glob] = []
    var count = 1

    static let specification = Specification<ExampleWait>(
        "wait",
        "Waits until the path is as you want it.",
        discussion:
            "Conditions are words such as satisfied, ipv6 or interface=eth0.\n\nIt works before the service is up.",
        examples: [
            CommandExample("nwpath wait", "until there is a path"),
            CommandExample("nwpath wait ipv6 --timeout 30s", "at most half a minute for IPv6"),
        ],
        arguments: [
            .positionals("COND", into: \.conditions, .text, help: "What must be true."),
            .flag("-a", "--any", into: \.any, help: "One condition is enough."),
            .option("--for", value: "DUR", into: \.hold, .duration, help: "How long it must hold."),
            .option("--timeout", value: "DUR", into: \.timeout, .duration, help: "When to give up; 0 is never."),
            .option("--family", value: "FAMILY", into: \.family, .choice, help: "The address family."),
            .options("--event", value: "GLOB", into: \.events, .glob, help: "Events to show."),
            .option("-n", "--count", value: "COUNT", into: \.count, .integer(1...100), help: "How often."),
        ],
        exits: [ExitNote(.success, "it is so"), ExitNote(.timedOut, "timed out; what is missing is printed")],
        check: { $0.any && $0.conditions.isEmpty ? "--any needs conditions" : nil }
    )

    func run(_ common: CommonOptions) -> ExitStatus { any ? .success : .timedOut }
}

struct ExampleConfigCheck: Command {
    var file: String?

    static let specification = Specification<ExampleConfigCheck>(
        "config check",
        "Checks the configuration.",
        examples: [CommandExample("nwpath config check", "the file that the service would read")],
        arguments: [.positional("FILE", into: \.file, .path, help: "The file.")],
        common: [.output, .messages]
    )

    func run(_ common: CommonOptions) -> ExitStatus { .success }
}

struct ExampleConfigShow: Command {
    static let specification = Specification<ExampleConfigShow>(
        "config show",
        "Shows the configuration.",
        common: [.output]
    )

    func run(_ common: CommonOptions) -> ExitStatus { .success }
}

struct ExampleReplay: Command {
    var file = ""

    static let specification = Specification<ExampleReplay>(
        "replay",
        "Drives the service's own logic with recorded messages.",
        arguments: [.positional("FILE", into: \.file, .path, help: "The recording.")],
        common: [],
        helpStatus: .timedOut
    )

    func run(_ common: CommonOptions) -> ExitStatus { .success }
}

let exampleProgram = Program(
    "nwpath",
    "watches the network path of this machine",
    version: "0.1.0",
    examples: [CommandExample("nwpath wait", "until there is a path")],
    commands: [ExampleWait.self, ExampleConfigCheck.self, ExampleConfigShow.self, ExampleReplay.self]
)

/// The message for a wrong command line; `nil` when it is right.
func complaint(_ line: [String]) -> String? {
    do {
        _ = try exampleProgram.parse(line)
        return nil
    } catch {
        return error.description
    }
}

/// The command of a right command line.
func parsed<Root: Command>(_ type: Root.Type, _ line: [String]) throws -> (Root, CommonOptions)? {
    guard case .run(let command, let common) = try exampleProgram.parse(line), let command = command as? Root else {
        return nil
    }
    return (command, common)
}

/// The text and status of a line that asks for help or the version.
func shown(_ line: [String]) throws -> (text: String, status: ExitStatus)? {
    switch try exampleProgram.parse(line) {
    case .run: nil
    case .help(let text, let status), .version(let text, let status): (text, status)
    }
}
