// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// One thing that can be asked of the API: how, with what, what comes, and who answers.
///
/// ``Router``, the metrics and the OpenAPI document follow from the table of all routes.
struct Route: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    /// Who may use a route that changes something.
    enum Access: Sendable {
        /// Those who may change things.
        case change
        /// The same, and a session of the page.
        case test
        /// A page that has the secret of a link.
        case link
    }

    /// Answers now, or later through the call's responder when it returns `nil`.
    typealias Handler = @Sendable (StatusAPI, Call) throws -> HTTPResponse?

    /// What OpenAPI calls the operation.
    let name: String
    let method: Method
    /// The path, with parameters in braces.
    let path: String
    /// What it is, in a sentence.
    let summary: String
    let parameters: [Parameter]
    let answers: [Answer]
    /// The statuses that it has besides those of every route, as ``Answer/problems`` describes them.
    let problems: [Int]
    /// What more is to be said.
    let details: String?
    /// Whether pages of other sites may show the answer where the configuration says so.
    let isEmbeddable: Bool
    let access: Access
    let handler: Handler

    init(
        _ method: Method,
        _ path: String,
        _ name: String,
        _ summary: String,
        _ parameters: [Parameter] = [],
        _ answers: Answer...,
        problems: [Int] = [],
        details: String? = nil,
        isEmbeddable: Bool = false,
        access: Access = .change,
        handler: @escaping Handler
    ) {
        self.name = name
        self.method = method
        self.path = path
        self.summary = summary
        self.parameters = parameters
        self.answers = answers
        self.problems = problems
        self.details = details
        self.isEmbeddable = isEmbeddable
        self.access = access
        self.handler = handler
    }

    /// The query parameters that it knows.
    var queryNames: [String] { parameters.filter { $0.place == .query }.map(\.name) }

    /// What may be read answers OPTIONS too: load balancers ask by it whether there is anybody (HAProxy's plain
    /// `option httpchk`).
    var methods: [String] {
        switch method {
        case .post: ["POST"]
        // An upgrade has no head of its own.
        case .get: answers.contains { $0.status == 101 } ? ["GET", "OPTIONS"] : ["GET", "HEAD", "OPTIONS"]
        }
    }

    /// A request that found its route.
    struct Call {
        let route: Route
        /// The path's parameters, in the order of the pattern.
        let arguments: [String]
        let request: HTTPRequest
        let responder: any HTTPResponder

        /// The query, checked against what the route knows.
        /// - Throws: ``Problem`` with status 400 for an unknown parameter or one that is given twice.
        func query(without others: Set<String> = []) throws(Problem) -> QueryParameters {
            try QueryParameters(request.query, allowed: route.queryNames.filter { !others.contains($0) })
        }
    }
}

/// Finds the route of a request.
struct Router {
    enum Match {
        case found(Route, arguments: [String])
        /// Somebody may ask at this path, but not so: what the routes there answer, as the field `Allow` says it.
        case wrongMethod(path: String, allowed: HTTPField)
        /// A question for what may be asked (RFC 9110 section 9.3.7).
        case options(path: String, allowed: HTTPField)
        case notFound
    }

    private let table: [(path: String, pattern: [Substring], routes: [Route])]

    init(_ routes: [Route] = Route.all) {
        var table: [(path: String, pattern: [Substring], routes: [Route])] = []
        for route in routes {
            if let known = table.firstIndex(where: { $0.path == route.path }) {
                table[known].routes.append(route)
            } else {
                table.append((route.path, route.path.dropFirst().split(separator: "/"), [route]))
            }
        }
        self.table = table
    }

    /// The patterns of all paths that can be read.
    var readable: [String] { table.filter { $0.routes.contains { $0.method == .get } }.map(\.path) }

    /// Matches a method and decoded path segments.
    func match(method: String, path: [String]) -> Match {
        for (place, pattern, routes) in table {
            guard let arguments = Self.match(path, pattern) else { continue }
            let methods = routes.flatMap(\.methods)
            let allowed = HTTPField("Allow", methods.joined(separator: ", "))
            guard methods.contains(method) else { return .wrongMethod(path: place, allowed: allowed) }
            guard let route = routes.first(where: { $0.methods.contains(method) }), method != "OPTIONS" else {
                return .options(path: place, allowed: allowed)
            }
            return .found(route, arguments: arguments)
        }
        return .notFound
    }

    private static func match(_ path: [String], _ pattern: [Substring]) -> [String]? {
        guard path.count == pattern.count else { return nil }
        var arguments: [String] = []
        for (segment, expected) in zip(path, pattern) {
            if expected.hasPrefix("{") {
                // A parameter may be followed by a suffix, as in `{monitor}.svg`.
                let suffix = expected.split(separator: "}", omittingEmptySubsequences: false).last ?? ""
                guard segment.hasSuffix(suffix), segment.utf8.count > suffix.utf8.count else { return nil }
                arguments.append(String(segment.dropLast(suffix.count)))
            } else if segment != expected {
                return nil
            }
        }
        return arguments
    }
}
