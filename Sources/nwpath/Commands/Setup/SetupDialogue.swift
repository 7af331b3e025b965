// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Glibc
internal import OrderedJSON
internal import Spelling

/// What `nwpath setup` prints and reads on a terminal.
enum SetupDialogue {
    static func meaning(of check: ConnectivitySettings.Check) -> String {
        switch check {
        case .local:
            "local: one query to each name server in use every 30 s; the kernel tests the gateways; nothing else is tested"
        case .public:
            "public: as local, plus connections to three well-known hosts every 30 s and one page every 2 min"
        case .off: "off: nothing is tested; service discovery stays on (mdns.enabled)"
        }
    }

    /// A change as in a unified diff.
    static func text(_ change: ConnectivityEdit.Change, of path: String) -> String {
        let lines = change.removed.map { "-" + $0 } + change.added.map { "+" + $0 }
        return (["\(path):\(change.line):"] + lines).joined(separator: "\n")
    }

    static func check(in configuration: JSONValue) -> String? {
        (configuration["config"] ?? configuration)["connectivity"]?["check"]?.string
    }

    private static var isOnTerminal: Bool { Terminal.isInteractive && isatty(STDIN_FILENO) == 1 }

    /// Lets somebody at a terminal choose.
    static func choose() throws(CommandFailure) -> ConnectivitySettings.Check {
        guard isOnTerminal else { throw CommandFailure("give --local, --public or --off", .usage) }
        let checks = ConnectivitySettings.Check.allCases
        for check in checks { Terminal.print(meaning(of: check)) }
        let words = checks.map(\.rawValue)
        while true {
            Terminal.print("Which one? [\(words.joined(separator: "/"))] ".utf8)
            guard let answer = readLine(), !answer.isEmpty else {
                throw CommandFailure("nothing was chosen; nothing was written", .negative)
            }
            if let check = ConnectivitySettings.Check(rawValue: answer) { return check }
            let nearest = NearestSpelling.nearest(to: answer, among: words).map { "; did you mean '\($0)'?" } ?? ""
            Terminal.complain("\(PrintableText.quote(answer)) is not one of them\(nearest)")
        }
    }

    /// Throws unless somebody at a terminal agrees.
    static func confirm(_ path: String) throws(CommandFailure) {
        guard isOnTerminal else { throw CommandFailure("nothing was written; use --yes", .negative) }
        Terminal.print("Write this to \(path)? [y/N] ".utf8)
        guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
            throw CommandFailure("nothing was written", .negative)
        }
    }
}
