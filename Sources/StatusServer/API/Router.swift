// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

enum Endpoint: String, CaseIterable {
    case page = "/"
    case status = "/api/v1/status"
    case paths = "/api/v1/paths"
    case path = "/api/v1/paths/{monitor}"
    case satisfied = "/api/v1/paths/{monitor}/satisfied"
    case badge = "/api/v1/badge/{monitor}.svg"
    case interfaces = "/api/v1/interfaces"
    case interface = "/api/v1/interfaces/{name}"
    case gateways = "/api/v1/gateways"
    case dns = "/api/v1/dns"
    case diagnosis = "/api/v1/diagnosis"
    case probes = "/api/v1/probes"
    case probe = "/api/v1/probes/{name}"
    case probeHistory = "/api/v1/probes/{name}/history"
    case services = "/api/v1/services"
    case serviceTypes = "/api/v1/services/types"
    case service = "/api/v1/services/{type}/{name}"
    case serviceHistory = "/api/v1/services/history"
    case scrapeTargets = "/api/v1/sd/prometheus"
    case events = "/api/v1/events"
    case eventSocket = "/api/v1/events/ws"
    case history = "/api/v1/history"
    case openAPI = "/api/v1/openapi.json"
    case eventSchema = "/api/v1/schema/event.json"
    case configurationSchema = "/api/v1/schema/config.json"
    case schema = "/api/v1/schema/{name}.json"
    case configuration = "/api/v1/config"
    case healthy = "/-/healthy"
    case ready = "/-/ready"
    case reload = "/-/reload"
    case metrics = "/metrics"

    /// The query parameters of a document that narrow it, besides `wait`.
    var filters: [String] {
        switch self {
        case .services, .serviceHistory: ["type", "name", "interface"]
        case .scrapeTargets: ["type", "name", "interface", "family"]
        default: []
        }
    }

    /// What may be read answers OPTIONS too: load balancers ask by it whether there is anybody (HAProxy's plain
    /// `option httpchk`).
    var methods: [String] {
        switch self {
        case .reload: ["POST"]
        case .probe, .diagnosis: ["GET", "HEAD", "OPTIONS", "POST"]
        case .eventSocket: ["GET", "OPTIONS"]
        default: ["GET", "HEAD", "OPTIONS"]
        }
    }

    /// The field that names the methods.
    var allow: HTTPField { HTTPField("Allow", methods.joined(separator: ", ")) }
}

struct Router {
    enum Match: Equatable {
        case found(Endpoint, parameters: [String])
        case wrongMethod(Endpoint)
        case notFound
    }

    private let table: [(endpoint: Endpoint, pattern: [Substring])] = Endpoint.allCases.map {
        ($0, $0.rawValue.dropFirst().split(separator: "/"))
    }

    /// Matches a method and decoded path segments; the parameters come in the pattern's order.
    func match(method: String, path: [String]) -> Match {
        for (endpoint, pattern) in table {
            guard let parameters = Self.match(path, pattern) else { continue }
            guard endpoint.methods.contains(method) else { return .wrongMethod(endpoint) }
            return .found(endpoint, parameters: parameters)
        }
        return .notFound
    }

    private static func match(_ path: [String], _ pattern: [Substring]) -> [String]? {
        guard path.count == pattern.count else { return nil }
        var parameters: [String] = []
        for (segment, expected) in zip(path, pattern) {
            if expected.hasPrefix("{") {
                // A parameter may be followed by a suffix, as in `{monitor}.svg`.
                let suffix = expected.split(separator: "}", omittingEmptySubsequences: false).last ?? ""
                guard segment.hasSuffix(suffix), segment.utf8.count > suffix.utf8.count else { return nil }
                parameters.append(String(segment.dropLast(suffix.count)))
            } else if segment != expected {
                return nil
            }
        }
        return parameters
    }
}
