// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

struct CommonOptions: Defaulted, Hashable {
    /// The unix socket of the service; `nil` is the standard one.
    var socket: String?
    /// The address of the service in place of the socket.
    var url: String?
    var tokenFile: String?
    /// The file of the authorities that may vouch for the service; `nil` is those of the system.
    var authorityFile: String?
    /// How long to wait for the service; `nil` is the default.
    var timeout: Duration?
    var isJSON = false
    /// Whether to print results and errors only.
    var isQuiet = false
    /// How much to explain on standard error.
    var verbosity = 0
    var hasNoColour = false

    struct Group: OptionSet, Sendable {
        let rawValue: Int

        /// `--socket`, `--url`, `--token-file`, `--cacert`, `--timeout` and `-v`: for commands that ask the service.
        static let connection = Group(rawValue: 1)
        /// `--json`: for commands that print results.
        static let output = Group(rawValue: 2)
        /// `-q` and `--no-color`.
        static let messages = Group(rawValue: 4)
        static let all: Group = [.connection, .output, .messages]
    }

    static func arguments(in group: Group) -> [Argument<CommonOptions>] {
        var arguments: [Argument<CommonOptions>] = []
        if group.contains(.connection) { arguments += connection }
        if group.contains(.output) { arguments += output }
        if group.contains(.messages) { arguments += messages }
        return arguments
    }

    private static let connection: [Argument<CommonOptions>] = [
        .option("--socket", value: "PATH", into: \.socket, .path, help: "The unix socket of the service."),
        .option("--url", value: "URL", into: \.url, .text, help: "The address of the service, instead of a socket."),
        .option("--token-file", value: "FILE", into: \.tokenFile, .path, help: "The token that the service requires."),
        .option(
            "--cacert",
            value: "FILE",
            into: \.authorityFile,
            .path,
            help: "Certificate authorities trusted to identify the service."
        ),
        .option(
            "--timeout",
            value: "DUR",
            into: \.timeout,
            .duration,
            help: "How long to wait for the service (5s)."
        ),
        .count("-v", "--verbose", into: \.verbosity, help: "Log each request on standard error."),
    ]

    private static let output: [Argument<CommonOptions>] = [
        .flag("--json", into: \.isJSON, help: "Print JSON.")
    ]

    private static let messages: [Argument<CommonOptions>] = [
        .flag("-q", "--quiet", into: \.isQuiet, help: "Print only errors, and JSON with --json."),
        .flag("--no-color", into: \.hasNoColour, help: "Print without colours."),
    ]
}
