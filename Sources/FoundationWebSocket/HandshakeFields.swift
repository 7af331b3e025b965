// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import FoundationNetworking

/// The header fields of a WebSocket's request, and of the answer.
enum HandshakeFields {
    /// The URL of a request with the schemes of HTTP: `ws` is `http`, and `wss` is `https`, for cookies.
    static func page(_ url: URL) -> URL? {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.scheme = url.scheme?.lowercased() == "wss" ? "https" : "http"
        return parts?.url
    }

    /// The fields that a client sends: those of the request, those of the configuration that it does not have, and cookies.
    static func fields(
        _ request: URLRequest,
        _ configuration: URLSessionConfiguration
    ) -> [(name: String, value: String)] {
        var fields = (request.allHTTPHeaderFields ?? [:]).map { (name: $0.key, value: $0.value) }
        for (name, value) in configuration.httpAdditionalHeaders ?? [:] {
            guard let name = name.base as? String, let value = value as? String else { continue }
            let isThere = fields.contains { $0.name.lowercased() == name.lowercased() }
            if !isThere { fields.append((name, value)) }
        }
        if request.httpShouldHandleCookies, configuration.httpShouldSetCookies, let page = request.url.flatMap(page),
            let cookies = configuration.httpCookieStorage?.cookies(for: page), !cookies.isEmpty,
            !fields.contains(where: { $0.name.lowercased() == "cookie" })
        {
            fields += HTTPCookie.requestHeaderFields(with: cookies).map { (name: $0.key, value: $0.value) }
        }
        return fields.sorted { $0.name < $1.name }
    }

    /// The answer of a server, whose cookies are kept where the request and the configuration want that.
    static func answer(
        _ status: Int,
        _ fields: [(name: String, value: String)],
        _ request: URLRequest,
        _ configuration: URLSessionConfiguration
    ) -> HTTPURLResponse? {
        guard let url = request.url, let page = page(url) else { return nil }
        var joined: [String: String] = [:]
        for (name, value) in fields { joined[name] = joined[name].map { "\($0), \(value)" } ?? value }
        if request.httpShouldHandleCookies, configuration.httpShouldSetCookies {
            let cookies = HTTPCookie.cookies(withResponseHeaderFields: joined, for: page)
            configuration.httpCookieStorage?.setCookies(cookies, for: page, mainDocumentURL: nil)
        }
        return HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: joined)
    }
}
