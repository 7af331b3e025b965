// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO
internal import Metrics

/// Answers the routes from what the provider says; knows nothing of sockets.
final class StatusAPI {
    let provider: any StatusProviding
    var limits: StatusLimits
    var hosts = HostPolicy(names: [])
    /// Whether pages of other sites may show the badge.
    var embedsBadge = false
    let streams: EventStreams
    let polls: LongPolls
    /// Pages for which the archive is read.
    var pages: [UInt64: EventPage] = [:]
    var lastPage: UInt64 = 0
    private let registry: MetricRegistry
    private let router: Router
    private(set) lazy var page = StatusPage()
    let description: APIDescription
    let clock: any TimeSource
    private var scraped: [MetricFormat: Scrape] = [:]
    private var lastInstance: UInt64
    private var pageLinks = PageLinks()

    init(
        loop: EventLoop,
        provider: any StatusProviding,
        limits: StatusLimits,
        router: Router = Router(),
        registry: MetricRegistry,
        streamMetrics: EventStreamMetrics,
        onListening: @escaping (Bool) -> Void = { _ in }
    ) {
        self.provider = provider
        self.limits = limits
        self.router = router
        description = APIDescription { [unowned provider] in provider.forms }
        self.registry = registry
        clock = loop.clock
        lastInstance = UInt64.random(in: 0...UInt64.max)
        streams = EventStreams(
            provider: provider,
            limit: limits.stream,
            metrics: streamMetrics,
            onListening: onListening,
            afterGrace: { [weak loop] work in loop?.schedule(after: limits.farewell, handler: work) }
        )
        polls = LongPolls(loop: loop, provider: provider, metrics: streamMetrics)
    }

    /// Answers one request, now or later.
    func handle(_ request: HTTPRequest, _ responder: any HTTPResponder) {
        switch router.match(method: request.method, path: request.path) {
        case .notFound:
            let problem = Problem(status: 404, detail: "No such path.")
            responder.respond(HTTPResponse(problem), route: "unknown")
        case .wrongMethod(let path, let allowed):
            let problem = Problem(status: 405, detail: "This route answers \(allowed.value).")
            responder.respond(HTTPResponse(problem, fields: [allowed]), route: path)
        case .options(let path, let allowed):
            // It is about the route alone: nothing is looked up, and nothing changes.
            responder.respond(.empty(status: 204, fields: [allowed]), route: path)
        case .found(let route, let arguments):
            let call = Route.Call(route: route, arguments: arguments, request: request, responder: responder)
            do {
                try checkSite(request, at: route)
                if route.method == .post { try checkRights(request, at: route) }
                guard let response = try route.handler(self, call) else { return }
                responder.respond(ContentCoding.apply(to: response, for: request), route: route.path)
            } catch {
                responder.respond(failure(error), route: route.path)
            }
        }
    }

    /// Refuses what a page of another site embeds, unless it is meant for that, or the page's host is configured.
    private func checkSite(_ request: HTTPRequest, at route: Route) throws(Problem) {
        if EmbeddingPolicy.allows(request) || route.isEmbeddable && embedsBadge { return }
        if let origin = request.field("Origin"), OriginPolicy(hosts: hosts).allows(origin, at: request.field("Host")) {
            return
        }
        throw Problem(.originNotAllowed, status: 403, detail: "Pages of other sites may not embed this resource.")
    }

    /// Refuses whoever may not change anything, and pages of others.
    private func checkRights(_ request: HTTPRequest, at route: Route) throws(Problem) {
        guard OriginPolicy(hosts: hosts).allows(request.field("Origin"), at: request.field("Host")) else {
            let detail = "A page from '\(request.field("Origin") ?? "")' is not allowed to make changes."
            throw Problem(.originNotAllowed, status: 403, detail: detail)
        }
        if route.access == .link { return }
        if route.access == .test, let token = request.field("X-NWPath-Session"),
            pageLinks.isSession(token, at: clock.boot)
        {
            return
        }
        guard ChangeRights(user: geteuid(), group: getegid()).allow(request.peer, as: request.identity) else {
            let detail = "Only root, the service's user and group (through the unix socket) and the token may do this."
            throw Problem(.unauthorized, status: 403, detail: detail)
        }
    }

    func failure(_ error: any Error) -> HTTPResponse {
        guard let problem = error as? Problem else {
            lastInstance &+= 0x9E37_79B9_7F4A_7C15
            let instance = "urn:nwpath:" + String(lastInstance, radix: 16)
            provider.internalError(error, instance: instance)
            let detail = "Internal error; search the journal for the instance."
            return HTTPResponse(Problem(status: 500, detail: detail, instance: instance))
        }
        switch problem.status {
        case 429: return HTTPResponse(problem, fields: [HTTPField("Retry-After", "10")])
        case 503: return HTTPResponse(problem, fields: [HTTPField("Retry-After", "1")])
        default: return HTTPResponse(problem)
        }
    }
}

/// Metrics that are served again: too short for anybody to see, long enough to bound the work.
private struct Scrape {
    let time: Duration
    let content: SharedBytes
    /// How often they were asked for since.
    var count = 0

    /// How long they hold; longer for a crowd, which sees no difference.
    var lifetime: Duration { .milliseconds(count < 16 ? 20 : 100) }
}

public struct StatusLimits: Equatable, Sendable {
    /// The most event streams of all TCP sockets at a time, and as many of all unix sockets; more get 429.
    public var streams = 256
    /// The most requests that wait for a change at a time, likewise; more get 429.
    public var longPolls = 256
    /// The longest `wait`.
    public var longestWait = Duration.seconds(60)
    public var stream = OutgoingStream.Limit()
    /// How long a dropped stream has to read its last event.
    public var farewell = Duration.seconds(5)
    /// How often an idle stream is written to.
    public var pingInterval = Duration.seconds(15)
}

// MARK: - Documents

extension StatusAPI {
    /// A document from memory, now or when it changes.
    func document(
        _ document: StatusDocument,
        missing: Problem,
        _ query: QueryParameters,
        _ call: Route.Call
    ) throws -> HTTPResponse? {
        let (request, wait) = (call.request, try query.duration("wait", limit: limits.longestWait))
        guard let snapshot = try provider.snapshot(of: document) else { throw missing }
        let condition = request.field("If-None-Match")
        let isKnown = snapshot.matches(condition)
        guard isKnown, let wait, wait > .zero, let condition, request.method == "GET" else {
            return .document(snapshot, isKnown: isKnown)
        }
        guard polls.count(isUnix: request.peer.isUnix) < limits.longPolls else {
            throw Problem(.tooManyStreams, status: 429, detail: "Too many requests are waiting.")
        }
        polls.park(document, condition: condition, limit: wait, call)
        return nil
    }

    func badge(_ call: Route.Call) throws -> HTTPResponse {
        _ = try call.query()
        let monitor = call.arguments[0]
        guard let state = try provider.badge(of: monitor) else { throw Problem.unknownMonitor(monitor) }
        var fields = [
            HTTPField("Cache-Control", "no-store"),
            HTTPField("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
        ]
        if embedsBadge { fields.append(HTTPField("Cross-Origin-Resource-Policy", "cross-origin")) }
        let picture = Badge(monitor: monitor, state: state).picture
        return HTTPResponse(status: 200, type: "image/svg+xml", text: picture, fields: fields)
    }

    func satisfied(_ call: Route.Call) throws -> HTTPResponse {
        _ = try call.query()
        let monitor = call.arguments[0]
        guard let isSatisfied = try provider.isSatisfied(monitor: monitor) else {
            throw Problem.unknownMonitor(monitor)
        }
        return Self.truth(isSatisfied)
    }

    func online(_ call: Route.Call) throws -> HTTPResponse {
        _ = try call.query()
        guard let level = try provider.badge(of: "default")?.level else { throw Problem.nothingKnown }
        return Self.truth(level == .good || level == .untested)
    }

    private static func truth(_ isTrue: Bool) -> HTTPResponse {
        HTTPResponse(
            status: isTrue ? 200 : 503,
            type: "application/json",
            text: isTrue ? "true\n" : "false\n",
            fields: [HTTPField("Cache-Control", "no-store")] + (isTrue ? [] : [HTTPField("Retry-After", "5")])
        )
    }

    func readiness(_ readiness: Readiness, _ call: Route.Call) throws -> HTTPResponse {
        _ = try call.query()
        guard case .notReady(let reason) = readiness else {
            return HTTPResponse(status: 200, type: "text/plain; charset=utf-8", text: "ok\n")
        }
        throw Problem(.notReady, status: 503, detail: reason)
    }

    func history(_ call: Route.Call) throws -> HTTPResponse {
        let query = try call.query()
        let now = clock.wall
        let since = try Self.moment("since", query, before: now) ?? now - .seconds(86_400)
        let until = try Self.moment("until", query, before: now) ?? now
        guard since <= until else { throw query.bad("since", query["since"] ?? "24h", "a time before 'until'") }
        var wanted = HistoryRequest(try historySubject(query), since: since, until: until)
        if query["step"] != nil {
            let grid = try StepGrid(query, since: since, until: until)
            (wanted.since, wanted.step) = (grid.since, grid.step)
        }
        let content = try provider.history(wanted)
        return HTTPResponse(
            status: 200,
            fields: [HTTPField("Content-Type", "application/json"), HTTPField("Cache-Control", "no-store")],
            body: .bytes(SharedBytes(content))
        )
    }

    private func historySubject(_ query: QueryParameters) throws -> HistoryRequest.Subject {
        let monitor = query["monitor"]
        if let monitor, try provider.isSatisfied(monitor: monitor) == nil { throw Problem.unknownMonitor(monitor) }
        let hasHeadline = monitor == nil || monitor == "default"
        switch query["state"] {
        case nil: return hasHeadline ? .headline : .path(monitor: monitor)
        case "path": return .path(monitor: monitor)
        case "headline":
            guard let monitor, !hasHeadline else { return .headline }
            throw query.bad("monitor", monitor, "default, the only one with a headline, beside state=headline")
        case let state?: throw query.bad("state", state, "path or headline")
        }
    }

    /// A moment of the past: how long ago, or when; not more than a hundred years ago.
    static func moment(
        _ name: String,
        _ query: QueryParameters,
        before now: WallTime
    ) throws(Problem) -> WallTime? {
        guard let text = query[name] else { return nil }
        if let age = QueryParameters.age(text) { return now - age }
        if let time = WallTime(text), time <= now, time >= now - .longestAge { return time }
        throw query.bad(name, text, "a duration such as 24h, or a past time such as 2026-11-20T13:00:00Z")
    }

    func startProbe(_ call: Route.Call) throws -> HTTPResponse {
        _ = try call.query()
        let name = call.arguments[0]
        guard let start = try provider.startProbe(name) else { throw Problem.unknownProbe(name) }
        return Self.response(to: start, of: "The probe '\(name)'", shownAt: "/api/v1/probes/\(name)")
    }

    func startDiagnosis(_ call: Route.Call) throws -> HTTPResponse {
        _ = try call.query()
        return Self.response(to: try provider.startDiagnosis(), of: "An examination", shownAt: call.route.path)
    }

    private static func response(to start: RunStart, of subject: String, shownAt location: String) -> HTTPResponse {
        guard case .tooSoon(let wait) = start else {
            return .empty(status: 202, fields: [HTTPField("Location", location)])
        }
        let seconds = max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0))
        let problem = Problem(.tooSoon, status: 429, detail: "\(subject) began less than a second ago.")
        return HTTPResponse(problem, fields: [HTTPField("Retry-After", "\(seconds)")])
    }

    func reload(_ call: Route.Call) throws -> HTTPResponse {
        _ = try call.query()
        return Self.unstored(try provider.reload())
    }

    /// JSON that no cache may keep.
    private static func unstored(_ content: [UInt8]) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            fields: [HTTPField("Content-Type", "application/json"), HTTPField("Cache-Control", "no-store")],
            body: .bytes(SharedBytes(content))
        )
    }

    /// A link to the page, for whoever may change things.
    func createPageLink(_ call: Route.Call) throws -> HTTPResponse {
        _ = try call.query()
        let secret = pageLinks.issue(at: clock.boot)
        return Self.secret("pagelink", "secret", secret, for: PageLinks.linkLifetime)
    }

    /// A session for the secret of a link.
    func createPageSession(_ call: Route.Call) throws -> HTTPResponse {
        _ = try call.query()
        let secret = call.request.field("X-NWPath-Link") ?? ""
        guard let token = pageLinks.redeem(secret, at: clock.boot) else {
            throw Problem(.unauthorized, status: 403, detail: "This link is invalid, expired or already used.")
        }
        return Self.secret("pagesession", "token", token, for: PageLinks.sessionLifetime)
    }

    private static func secret(
        _ schema: String,
        _ member: String,
        _ secret: String,
        for lifetime: Duration
    ) -> HTTPResponse {
        let seconds = lifetime.components.seconds
        let text = #"{"schema":"nwpath.\#(schema)/1","\#(member)":"\#(secret)","expires_seconds":\#(seconds)}"# + "\n"
        return unstored(Array(text.utf8))
    }

    /// The metrics as of now; clients that ask many times at once get the same ones.
    private func scrape(_ format: MetricFormat) -> SharedBytes {
        let now = clock.boot
        if let last = scraped[format], now - last.time < last.lifetime {
            scraped[format]?.count += 1
            return last.content
        }
        let content = SharedBytes(registry.scrape(format))
        scraped[format] = Scrape(time: now, content: content)
        return content
    }

    func metrics(_ call: Route.Call) throws -> HTTPResponse {
        _ = try call.query()
        let offers = MetricFormat.allCases.map(\.mediaType)
        let chosen = ContentNegotiation.choose(call.request.field("Accept"), among: offers)
        let format = MetricFormat.allCases.first { $0.mediaType == chosen } ?? .text
        return HTTPResponse(
            status: 200,
            fields: [
                HTTPField("Content-Type", format.contentType), HTTPField("Cache-Control", "no-store"),
                HTTPField("Vary", "Accept"),
            ],
            body: .bytes(scrape(format))
        )
    }
}
