// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

struct StatusResponse: Equatable, Sendable {
    let status: Int
    /// The header fields; names are in lower case.
    let fields: [String: String]
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
}

/// Asks the daemon over its unix socket or a URL.
///
/// Calls block, which suits a command that does one thing. libcurl is loaded by the first call, so that the daemon,
/// which is the same executable, never pays for it.
struct StatusClient: Sendable {
    enum Endpoint: Equatable, Sendable, CustomStringConvertible {
        case unix(path: String)
        /// The part of a URL before the path, `http://` or `https://`.
        case url(String)

        var description: String {
            switch self {
            case .unix(let path): "unix:\(path)"
            case .url(let url): url
            }
        }
    }

    let endpoint: Endpoint
    /// How long an answer may take; a stream, until it begins.
    let timeout: Duration
    /// Header fields of every request, such as `Authorization`.
    let fields: [(name: String, value: String)]
    /// The PEM file of the authorities that may vouch for the daemon; `nil` is those of the system.
    let authorities: String?

    /// Makes a client; nothing is opened yet.
    init(
        _ endpoint: Endpoint,
        timeout: Duration = .seconds(5),
        fields: [(name: String, value: String)] = [],
        authorities: String? = nil
    ) {
        self.authorities = authorities
        self.endpoint = endpoint
        self.timeout = timeout
        self.fields = fields
    }

    /// Fetches a document; `target` is path and query, such as `/api/v1/status`.
    ///
    /// Status codes in `accepting` are answers, not errors: 503 of `/satisfied`, 304 of a long poll.
    func get(
        _ target: String,
        fields: [(name: String, value: String)] = [],
        accepting: Set<Int> = [],
        timeout: Duration? = nil
    ) throws(StatusClientError) -> StatusResponse {
        let request = try StatusRequest(self, target: target, fields: fields)
        return try request.run(timeout: timeout ?? self.timeout).checked(accepting: accepting)
    }

    /// Sends a request that changes something.
    func post(
        _ target: String,
        body: [UInt8] = [],
        fields: [(name: String, value: String)] = []
    ) throws(StatusClientError) -> StatusResponse {
        let request = try StatusRequest(self, target: target, fields: fields)
        request.post(body)
        return try request.run(timeout: timeout).checked(accepting: [])
    }

    /// Reads a stream line by line until it ends or `line` returns `false`.
    ///
    /// Lines come without their line feed; empty ones, which keep the stream alive, are left out. `tick` is called about
    /// once a second.
    /// - Returns: `true` when `line` ended it, `false` when the daemon did.
    @discardableResult
    func stream(
        _ target: String,
        fields: [(name: String, value: String)] = [("Accept", "application/x-ndjson")],
        tick: @escaping () -> Void = {},
        line: @escaping (String) -> Bool
    ) throws(StatusClientError) -> Bool {
        let request = try StatusRequest(self, target: target, fields: fields)
        return try request.stream(connecting: timeout, line: line, tick: tick)
    }
}

extension StatusResponse {
    func checked(accepting: Set<Int>) throws(StatusClientError) -> StatusResponse {
        guard !(200...299).contains(status), !accepting.contains(status) else { return self }
        let problem = try? JSONValue(parsing: body)
        let type = problem?["type"]?.string ?? "about:blank"
        let detail = problem?["detail"]?.string ?? "the service answered with status \(status)"
        guard status != 401, status != 403 else { throw .refused(status: status, detail: detail) }
        throw .problem(status: status, type: type, detail: detail)
    }
}
