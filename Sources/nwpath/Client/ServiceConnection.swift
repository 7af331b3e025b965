// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Glibc
internal import LinuxIO
internal import OrderedJSON
internal import Spelling

/// Finds the daemon and asks it: `--socket`, `--url`, `NWPATH_URL`, then the usual sockets.
struct ServiceConnection {
    /// An answer: the object, and its bytes as they came.
    struct Answer {
        let value: JSONValue
        let bytes: [UInt8]
        /// The entity tag, for asking again; `nil` without one.
        let tag: String?
        /// The moment of the answer by the service's clock, to the second; `nil` where it tells none.
        let date: WallTime?
    }

    /// How long an answer may take unless the user says otherwise.
    static let standardTimeout = Duration.seconds(5)

    /// Where the daemon may be; the one that answered, once one has.
    private(set) var endpoints: [StatusClient.Endpoint]
    /// Where else to ask when a standard socket refuses; `nil` for root, whom it never refuses, and where somebody said
    /// whom to ask.
    private var standardURL: String?
    /// How long an answer may take; zero is for ever.
    let timeout: Duration
    /// What every request shows; empty without a token.
    private let credentials: [(name: String, value: String)]
    /// The file of the authorities that may vouch for the daemon.
    private let authorities: String?
    private let isVerbose: Bool
    /// Whether nobody said whom to ask.
    private(set) var isStandard = false

    /// Decides where to look.
    ///
    /// - Throws: A usage failure when the address makes no sense.
    init(
        _ common: CommonOptions,
        environment: [String: String] = Environment.variables,
        userID: UInt32 = geteuid()
    ) throws(CommandFailure) {
        timeout = common.timeout ?? Self.standardTimeout
        isVerbose = common.verbosity > 0
        func file(_ flag: String?, _ variable: String) -> String? {
            flag ?? environment[variable].flatMap { $0.isEmpty ? nil : $0 }
        }
        authorities = file(common.authorityFile, "NWPATH_CACERT")
        credentials = try file(common.tokenFile, "NWPATH_TOKEN_FILE").map(Self.credentials) ?? []
        guard common.socket == nil || common.url == nil else {
            throw CommandFailure("give --socket or --url, not both", .usage)
        }
        if let socket = common.socket {
            endpoints = [.unix(path: socket.hasPrefix("unix:") ? String(socket.dropFirst(5)) : socket)]
        } else if let url = common.url {
            endpoints = [try Self.endpoint(url, from: "--url")]
        } else if let url = environment["NWPATH_URL"], !url.isEmpty {
            endpoints = [try Self.endpoint(url, from: "NWPATH_URL")]
        } else {
            let paths = StandardPaths(userID: userID, environment: environment)
            endpoints = paths.clientSockets.map { .unix(path: $0) }
            standardURL = userID == 0 ? nil : Self.standardURL
            isStandard = true
        }
    }

    /// Where the service listens besides its socket unless it is told otherwise.
    private static let standardURL = "http://127.0.0.1:8353"

    private static func endpoint(_ url: String, from source: String) throws(CommandFailure) -> StatusClient.Endpoint {
        if url.hasPrefix("unix:/") { return .unix(path: String(url.dropFirst(5))) }
        let schemes = ["http://", "https://"]
        guard schemes.contains(where: { url.hasPrefix($0) && url.count > $0.count }),
            !url.unicodeScalars.contains(where: { $0.value <= 0x20 || $0.value == 0x7F })
        else {
            let expected = "expected http://HOST:PORT, https://HOST:PORT or unix:/PATH"
            throw CommandFailure("\(source) is \(PrintableText.quote(url)), \(expected)", .usage)
        }
        return .url(url)
    }

    /// The standard socket that is there first, where it belongs to another user; `nil` for root, who may use all.
    var foreignSocket: String? {
        guard isStandard, geteuid() != 0 else { return nil }
        for case .unix(let path) in endpoints {
            var facts = stat()
            guard unsafe stat(path, &facts) == 0 else { continue }
            return facts.st_uid == geteuid() ? nil : path
        }
        return nil
    }

    /// A client for the place that answered, or the first one.
    var client: StatusClient { client(endpoints[0]) }

    private func client(_ endpoint: StatusClient.Endpoint) -> StatusClient {
        StatusClient(endpoint, timeout: timeout, fields: credentials, authorities: authorities)
    }

    /// The field that shows the token of a file; the token itself is in no message.
    private static func credentials(
        _ file: String
    ) throws(CommandFailure) -> [(name: String, value: String)] {
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor(opening: file, flags: O_RDONLY | O_NOCTTY).read(upTo: 4096)
        } catch {
            throw CommandFailure("\(file): cannot read the token: \(error)", .usage)
        }
        let token = bytes.filter { $0 > 32 }
        let words = bytes.split { $0 <= 32 }
        guard words.count == 1, token.allSatisfy({ $0 < 127 }) else {
            throw CommandFailure("\(file): expected a token on one line", .usage)
        }
        return [("Authorization", "Bearer \(String(decoding: token, as: UTF8.self))")]
    }

    /// Fetches a document; the places that nobody serves are passed over.
    ///
    /// - Parameters:
    ///   - target: Path and query, such as `/api/v1/status`.
    ///   - fields: Further header fields.
    ///   - accepting: Error statuses that are answers here.
    ///   - timeout: How long the answer may take; `nil` is the user's choice.
    /// - Returns: The answer.
    /// - Throws: Why there is none.
    mutating func get(
        _ target: String,
        fields: [(name: String, value: String)] = [],
        accepting: Set<Int> = [],
        timeout: Duration? = nil
    ) throws(CommandFailure) -> Answer {
        try answer(fetch(target, fields: fields, accepting: accepting, timeout: timeout))
    }

    /// Requests a change; the places that nobody serves are passed over.
    ///
    /// - Parameters:
    ///   - target: The path.
    ///   - explain: What to say of an error of the service.
    /// - Returns: The answer.
    /// - Throws: Why there is none.
    mutating func post(
        _ target: String,
        explaining explain: (StatusClientError) -> CommandFailure
    ) throws(CommandFailure) -> Answer {
        try answer(
            send(target, explaining: explain) { client throws(StatusClientError) in try client.post(target) }
        )
    }

    /// Fetches what need not be a document, such as metrics; otherwise as ``get(_:fields:accepting:timeout:)``.
    mutating func fetch(
        _ target: String,
        fields: [(name: String, value: String)] = [],
        accepting: Set<Int> = [],
        timeout: Duration? = nil
    ) throws(CommandFailure) -> StatusResponse {
        try send(target) { client throws(StatusClientError) in
            try client.get(target, fields: fields, accepting: accepting, timeout: timeout)
        }
    }

    private mutating func send(
        _ target: String,
        explaining explain: (StatusClientError) -> CommandFailure = { CommandFailure($0) },
        by request: (StatusClient) throws(StatusClientError) -> StatusResponse
    ) throws(CommandFailure) -> StatusResponse {
        var refusals: [String] = []
        var isDenied = false
        var rest = endpoints
        while !rest.isEmpty {
            let endpoint = rest.removeFirst()
            let started = KernelClock().boot
            do throws(StatusClientError) {
                let response = try request(client(endpoint))
                if isVerbose {
                    let time = AgeText.of(KernelClock().boot - started)
                    Terminal.complain("GET \(target) from \(endpoint): status \(response.status), \(time)")
                }
                endpoints = [endpoint]
                return response
            } catch .notReachable(let endpoint, let reason) {
                refusals.append("\(endpoint) (\(reason))")
            } catch .permissionDenied(let endpoint) {
                refusals.append("\(endpoint) (permission denied)")
                // Those who may not open the socket may ask the address that everybody on this machine can.
                if !isDenied, let standardURL { rest.append(.url(standardURL)) }
                isDenied = true
            } catch {
                throw explain(error)
            }
        }
        throw Self.failure(refusals, isDenied: isDenied)
    }

    /// Says where nobody answered and how to start the daemon, or who may ask it.
    static func failure(_ refusals: [String], isDenied: Bool) -> CommandFailure {
        let tried = refusals.joined(separator: " and ")
        if isDenied {
            let advice = "become root, or join the group that owns the socket"
            return CommandFailure("permission denied by the service; tried \(tried); \(advice)", .refused)
        }
        let advice = "see `systemctl status nwpath`, or start it with `nwpath serve`"
        return CommandFailure("the service cannot be reached; tried \(tried); \(advice)", .unreachable)
    }

    private func answer(_ response: StatusResponse) throws(CommandFailure) -> Answer {
        guard response.status != 304 else {
            return Answer(value: .null, bytes: [], tag: response.fields["etag"], date: response.date)
        }
        do throws(JSONError) {
            let value = try JSONValue(parsing: response.body, limits: JSONLimits(size: 64 << 20))
            return Answer(value: value, bytes: response.body, tag: response.fields["etag"], date: response.date)
        } catch {
            throw CommandFailure(.failed(endpoint: endpoints[0].description, reason: "\(error)"))
        }
    }
}

extension StatusResponse {
    /// When it was made, from its `Date` (IMF-fixdate, RFC 9110 section 5.6.7).
    fileprivate var date: WallTime? {
        let words = (fields["date"] ?? "").split(separator: " ")
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard words.count == 6, let month = months.firstIndex(of: String(words[2])) else { return nil }
        return WallTime("\(words[3])-\(month < 9 ? "0" : "")\(month + 1)-\(words[1])T\(words[4])Z")
    }
}

enum RequestText {
    /// A name as a path segment or query value, percent-encoded (RFC 3986 section 2.1).
    static func encode(_ text: some StringProtocol) -> String {
        let hexadecimal = Array("0123456789ABCDEF")
        return text.utf8.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: String(UnicodeScalar(byte))
            default: "%\(hexadecimal[Int(byte >> 4)])\(hexadecimal[Int(byte & 15)])"
            }
        }.joined()
    }

    /// A path with the parameters that have a value.
    static func target(_ path: String, _ query: [(name: String, value: String?)]) -> String {
        let items = query.compactMap { item in item.value.map { "\(item.name)=\(encode($0))" } }
        return items.isEmpty ? path : path + "?" + items.joined(separator: "&")
    }
}
