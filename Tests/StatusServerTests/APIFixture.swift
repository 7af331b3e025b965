// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import Metrics
import TestSupport
import Testing

@testable import StatusServer

/// Takes answers in place of a connection.
final class FakeResponder: HTTPResponder {
    private(set) var answers: [(response: HTTPResponse, route: String)] = []
    var onCancelled: (() -> Void)?

    func respond(_ response: HTTPResponse, route: String) { answers.append((response, route)) }

    /// The one answer.
    var answer: HTTPResponse {
        get throws {
            try #require(answers.count == 1)
            return answers[0].response
        }
    }
}

extension HTTPResponse {
    /// The value of a header field.
    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    /// The content of an answer that is there as a whole.
    var text: String {
        guard case .bytes(let bytes) = body else { return "" }
        return String(decoding: bytes.bytes, as: UTF8.self)
    }
}

/// The routes without a socket.
final class APIFixture {
    let provider = FakeProvider()
    let metrics = EventStreamMetrics()
    let api: StatusAPI

    init(_ change: (inout StatusLimits) -> Void = { _ in }) {
        var limits = StatusLimits()
        change(&limits)
        api = StatusAPI(
            loop: Namespace.current.loop,
            provider: provider,
            limits: limits,
            registry: MetricRegistry(),
            streamMetrics: metrics
        )
    }

    /// Asks, and gives back who gets the answer, now or later.
    func ask(
        _ target: String,
        method: String = "GET",
        _ fields: [String: String] = [:],
        peer: HTTPPeer = .tcp
    ) throws -> FakeResponder {
        let parsed = try #require(RequestTarget(Array(target.utf8)))
        let responder = FakeResponder()
        let fields = fields.map { HTTPField($0.key, $0.value) }
        let request = HTTPRequest(method: method, path: parsed.path, query: parsed.query, fields: fields, peer: peer)
        api.handle(request, responder)
        return responder
    }

    /// Asks for what is answered at once.
    func get(_ target: String, method: String = "GET", _ fields: [String: String] = [:]) throws -> HTTPResponse {
        try ask(target, method: method, fields).answer
    }
}

extension OutgoingStream {
    /// Reads until there is nothing, in pieces of `size` bytes; `limit` pieces at most.
    func text(size: Int = 4096, limit: Int = .max) -> String {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: size)
        for _ in 0..<limit {
            guard case .bytes(let count) = unsafe buffer.withUnsafeMutableBytes({ unsafe read(into: $0) }) else {
                break
            }
            content += buffer[..<count]
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// What a reader finds next, which must not be bytes.
    var end: Read {
        var buffer = [UInt8](repeating: 0, count: 64)
        return unsafe buffer.withUnsafeMutableBytes { unsafe read(into: $0) }
    }
}
