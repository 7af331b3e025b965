// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import OrderedJSON

/// A failure in machine-readable form (RFC 9457, `application/problem+json`).
public struct Problem: Error, Equatable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        /// Nothing but what the status code says.
        case plain = "about:blank"
        case unknownMonitor = "/problems/unknown-monitor"
        case unknownInterface = "/problems/unknown-interface"
        /// There is no service of that type and name.
        case unknownService = "/problems/unknown-service"
        /// There is no active probe of that name.
        case unknownProbe = "/problems/unknown-probe"
        case tooSoon = "/problems/too-soon"
        /// A query parameter is unknown or has a bad value.
        case badParameter = "/problems/bad-parameter"
        /// The log no longer holds what was asked for.
        case sinceTooOld = "/problems/since-too-old"
        /// The `Host` is not served here.
        case hostNotAllowed = "/problems/host-not-allowed"
        /// The `Origin` may not use this route.
        case originNotAllowed = "/problems/origin-not-allowed"
        case tooManyStreams = "/problems/too-many-streams"
        /// The daemon cannot answer yet.
        case notReady = "/problems/not-ready"
        /// The new configuration is not valid; the old one stays.
        case configInvalid = "/problems/config-invalid"
        case unauthorized = "/problems/unauthorized"
    }

    public let kind: Kind
    public let status: Int
    /// What went wrong this time, for people.
    public let detail: String
    /// Names this occurrence, for looking it up in the journal.
    public let instance: String?

    public init(_ kind: Kind = .plain, status: Int, detail: String, instance: String? = nil) {
        self.kind = kind
        self.status = status
        self.detail = detail
        self.instance = instance
    }

    static var nothingKnown: Problem {
        Problem(.notReady, status: 503, detail: "No data yet; try again shortly.")
    }

    static func unknownMonitor(_ name: String) -> Problem {
        Problem(.unknownMonitor, status: 404, detail: "There is no monitor '\(name)'.")
    }

    static func unknownProbe(_ name: String) -> Problem {
        Problem(.unknownProbe, status: 404, detail: "There is no probe '\(name)'.")
    }

    /// The document, one line.
    var rendered: [UInt8] {
        var json = "{\"type\":\(JSONText.quote(kind.rawValue)),\"title\":\(JSONText.quote(title)),"
        json += "\"status\":\(status),\"detail\":\(JSONText.quote(detail))"
        if let instance { json += ",\"instance\":\(JSONText.quote(instance))" }
        return Array((json + "}\n").utf8)
    }

    private var title: String {
        switch kind {
        case .plain: Self.phrase(status)
        case .unknownMonitor: "Unknown monitor"
        case .unknownInterface: "Unknown interface"
        case .unknownService: "Unknown service"
        case .unknownProbe: "Unknown probe"
        case .tooSoon: "Too soon"
        case .badParameter: "Bad parameter"
        case .sinceTooOld: "Too old"
        case .hostNotAllowed: "Host not allowed"
        case .originNotAllowed: "Origin not allowed"
        case .tooManyStreams: "Too many streams"
        case .notReady: "Not ready"
        case .configInvalid: "Configuration not valid"
        case .unauthorized: "Not allowed"
        }
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 400: "Bad request"
        case 404: "Not found"
        case 405: "Method not allowed"
        case 406: "Not acceptable"
        case 408: "Request timeout"
        case 413: "Content too large"
        case 414: "URI too long"
        case 426: "Upgrade required"
        case 431: "Request header fields too large"
        case 500: "Internal error"
        case 503: "Service unavailable"
        case 505: "HTTP version not supported"
        default: "Error \(status)"
        }
    }
}

extension Problem {
    package static var form: Form {
        .named("Problem", "RFC 9457.")
            .member("type", .oneOf(Kind.self))
            .member("title", .text)
            .member("status", .integer(from: 400, to: 599))
            .member("detail", .text)
            .optional("instance", .text, "Names this occurrence in the journal; with status 500.")
    }
}
