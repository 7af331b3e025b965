// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import OrderedJSON

/// The parts of a bug report, as JSON lines.
struct ReportContents {
    struct Section: Equatable {
        let name: String
        let summary: String
        let value: JSONValue
        /// Why it is missing; `nil` when it is there.
        var problem: String?

        /// Such as `events: the last 200 events`.
        var line: String { "\(name): " + (problem.map { "missing, \($0)" } ?? summary) }
    }

    private(set) var sections: [Section] = []

    /// Adds a part that is there.
    mutating func add(_ name: String, _ summary: String, _ value: JSONValue) {
        sections.append(Section(name: name, summary: summary, value: value))
    }

    /// Adds why a part is not there.
    mutating func miss(_ name: String, _ problem: String) {
        sections.append(Section(name: name, summary: "", value: .null, problem: problem))
    }

    /// The report: the head says what it holds, then comes a line for each part.
    func lines(_ redactor: Redactor, time: String) throws(CommandFailure) -> [UInt8] {
        var redactor = redactor
        if !redactor.isFull { for section in sections { redactor.learn(section.value) } }
        var head = JSONObject()
        head["schema"] = .string(DocumentSchema.name(of: "bugreport"))
        head["time"] = .string(time)
        head["redacted"] = .string(
            redactor.isFull
                ? "secrets only"
                : "secrets, hardware addresses, public addresses, URLs, names of services, hosts, Wi-Fi networks and search "
                    + "domains"
        )
        head["contents"] = .array(sections.map { .string(redactor.text($0.line)) })
        var bytes = try Screen.line(.object(head))
        for section in sections {
            var object = JSONObject()
            object["section"] = .string(section.name)
            if let problem = section.problem {
                object["problem"] = .string(redactor.text(problem))
            } else {
                object["value"] = redactor.redact(section.value)
            }
            bytes += try Screen.line(.object(object))
        }
        return bytes
    }
}

extension ReportContents {
    static var form: Form {
        .document("BugReport", "The head of a bug report; each of the lines after it is a part.")
            .member("time", .time)
            .member("redacted", .text, "What was taken out.")
            .member("contents", .list(of: .text))
    }
}
