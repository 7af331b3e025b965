// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import OrderedJSON

/// `nwpath version`: which nwpath this is.
struct Version: Command {
    static let specification = Specification<Version>(
        "version",
        "Prints the version.",
        examples: [CommandExample("nwpath version", "such as nwpath \(NWPath.version)")],
        common: .output,
        exits: [ExitNote(.success), ExitNote(.usage)]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            guard common.isJSON else {
                Terminal.print("nwpath \(NWPath.version)")
                return .success
            }
            var object = JSONObject()
            object["schema"] = .string(DocumentSchema.name(of: "version"))
            object["name"] = .string("nwpath")
            object["version"] = .string(NWPath.version)
            try Screen(common).print(.object(object))
            return .success
        }
    }
}

extension Version {
    static var form: Form {
        .document("Version", "Which program this is.").member("name", .constant("nwpath")).member("version", .text)
    }
}
