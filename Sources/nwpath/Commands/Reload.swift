// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// `nwpath reload`: the service reads its configuration again.
struct Reload: Command {
    static let specification = Specification<Reload>(
        "reload",
        "Reads the service's configuration again, and prints what changed.",
        discussion: "A configuration that is not valid changes nothing. For root, the service's own user and group "
            + "through the unix socket, and for the token.",
        examples: [CommandExample("nwpath reload", "after the configuration was edited")],
        exits: ServiceExits.all + [ExitNote(.negative, "the configuration is invalid; the previous one stays in use")]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var connection = try ServiceConnection(common)
            let answer = try connection.reload()
            if common.isJSON {
                try Screen(common).print(answer)
            } else {
                Terminal.print(Self.sentence(answer.value))
            }
            return .success
        }
    }

    /// What a reload changed, in one line.
    static func sentence(_ answer: JSONValue) -> String {
        let later = answer.texts("restart_needed")
        let changed = answer.texts("changed").filter { !later.contains($0) }
        guard !changed.isEmpty || !later.isEmpty else { return "configuration reloaded: nothing changed" }
        let now = changed.isEmpty ? [] : ["changed: " + changed.joined(separator: ", ")]
        let rest = later.isEmpty ? [] : ["restart the service for: " + later.joined(separator: ", ")]
        return "configuration reloaded; " + (now + rest).joined(separator: "; ")
    }
}

extension ServiceConnection {
    /// Has the service read its configuration again.
    ///
    /// - Returns: `changed` and `restart_needed`.
    /// - Throws: Why it did not; a configuration that is not valid with its problems, one a line.
    mutating func reload() throws(CommandFailure) -> Answer {
        try post("/-/reload") { error in
            switch error {
            case .problem(400, "/problems/config-invalid", let problems):
                CommandFailure("\(problems)\nthe previous configuration stays in use", .negative)
            case .refused:
                CommandFailure("\(error)\nbecome root (`sudo nwpath reload`), or give --token-file", .refused)
            default: CommandFailure(error)
            }
        }
    }
}
