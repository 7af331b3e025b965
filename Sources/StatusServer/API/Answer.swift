// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// One status with which a route answers.
struct Answer: Sendable {
    let status: Int
    let sentence: String
    var contents: [(type: String, form: Form)] = []
    /// Header fields that come with it.
    var fields: [String] = []
}

// MARK: - What many routes answer

extension Answer {
    /// A document in JSON.
    static func json(_ sentence: String, _ form: Form) -> Answer {
        Answer(status: 200, sentence: sentence, contents: [("application/json", form)])
    }

    /// Something that has an entity tag, and so 304 for who has it.
    static func tagged(_ sentence: String, _ type: String, _ form: Form = .text) -> Answer {
        Answer(status: 200, sentence: sentence, contents: [(type, form)], fields: ["ETag"])
    }

    static func ok(_ sentence: String) -> Answer {
        Answer(status: 200, sentence: sentence, contents: [("text/plain", .constant("ok\n"))])
    }

    static let unsatisfied = Answer(
        status: 503,
        sentence: "It is not, or the service has no room.",
        contents: [("application/json", .truth), problem],
        fields: ["Retry-After"]
    )

    static let problem: (type: String, form: Form) = ("application/problem+json", .reference(to: "Problem"))

    /// The statuses of every route.
    static let common = [400, 401, 403, 405, 414, 421, 431, 500, 503]

    /// What else comes, with the names that OpenAPI gives these answers.
    static let problems: [(name: String, answer: Answer)] = [
        ("BadRequest", .problem(400, "`/problems/bad-parameter`, or a malformed request.")),
        (
            "Unauthorized",
            .problem(
                401,
                "`/problems/unauthorized`: credentials are missing or wrong; on TCP only.",
                fields: ["WWW-Authenticate"]
            )
        ),
        ("Forbidden", .problem(403, "`/problems/origin-not-allowed`: another site's page; `/problems/unauthorized`.")),
        (
            "NotFound",
            .problem(
                404,
                """
                `/problems/unknown-monitor`, `unknown-interface`, `unknown-service`, `unknown-probe`, or nothing is at \
                this path.
                """
            )
        ),
        ("MethodNotAllowed", .problem(405, "Another method.", fields: ["Allow"])),
        ("NotAcceptable", .problem(406, "None of the representations is accepted.")),
        ("Misdirected", .problem(421, "`/problems/host-not-allowed`; on TCP only.")),
        ("TooOld", .problem(410, "`/problems/since-too-old`.")),
        ("TooMany", .problem(429, "`/problems/too-many-streams` or `/problems/too-soon`.", fields: ["Retry-After"])),
        ("Failed", .problem(500, "Something failed inside; `instance` is in the journal.")),
        ("NotReady", .problem(503, "`/problems/not-ready`, or no room.", fields: ["Retry-After"])),
        ("ContentTooLarge", .problem(413, "The body is too large.")),
        ("TargetTooLong", .problem(414, "The request target is too long.")),
        ("FieldsTooLarge", .problem(431, "The header fields are too large.")),
        ("NotModified", Answer(status: 304, sentence: "The client has it.", fields: ["ETag"])),
    ]

    private static func problem(_ status: Int, _ sentence: String, fields: [String] = []) -> Answer {
        Answer(status: status, sentence: sentence, contents: [problem], fields: fields)
    }

    /// What each header field of an answer says.
    static let fields: [(name: String, form: Form)] = [
        ("ETag", .text.about("The state that is shown; gzip has its own.")),
        ("Retry-After", Form.integer(from: 0).about("Seconds.")),
        ("Allow", .text.about("The methods of the route.")),
        ("Location", .text.about("Where the result will be.")),
        ("WWW-Authenticate", .text.about("`Basic` or `Bearer`.")),
        ("Sec-WebSocket-Version", .text.about("The version that is spoken.")),
    ]
}

extension Form {
    /// A form among the components of the OpenAPI document, where it is declared.
    static func reference(to name: String) -> Form { object().named(name) }
}
