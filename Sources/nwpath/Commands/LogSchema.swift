// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub

/// `nwpath log schema`: the JSON Schema of events, for validators.
struct LogSchema: Command {
    static let specification = Specification<LogSchema>(
        "log schema",
        "Prints the JSON Schema of the records of the event log.",
        examples: [CommandExample("nwpath log schema > event.json", "for a validator")],
        common: [.output, .messages],
        exits: [ExitNote(.success), ExitNote(.usage)]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            try Screen(common).print(EventSchema.document)
            return .success
        }
    }
}
