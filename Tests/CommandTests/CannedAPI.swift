// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import CLinuxShims
import Glibc
import LinuxIO
import Spelling
import TestSupport

/// A unix socket that answers by route, each with its documents one after the other; the last one stays.
///
/// A route without documents is not found, as with an older service. A long poll gets the next document, or 304 after its limit.
final class CannedAPI {
    let path: String
    /// What the loop calls is no task of the test, so it is kept.
    private let loop = Namespace.current.loop
    private let listener: FileDescriptor
    private var watches: [EventLoop.Registration] = []
    private var connections: [Int32] = []
    private var documents: [String: [String]]
    /// What was requested, with the query.
    private(set) var targets: [String] = []

    init(_ scratch: Scratch, _ documents: [String: [String]]) throws {
        self.documents = documents
        path = scratch.file("canned.sock")
        listener = FileDescriptor(owning: unsafe nwp_unix_listen(path, 0o600, 8))
        try watch(listener.rawValue) { [unowned self] in
            let connection = accept(listener.rawValue, nil, nil)
            guard connection >= 0 else { return }
            connections.append(connection)
            try? watch(connection) { [unowned self] in answer(connection) }
        }
    }

    deinit {
        for watch in watches { loop.unregister(watch) }
        for connection in connections { close(connection) }
    }

    private func watch(_ descriptor: Int32, _ handler: @escaping () -> Void) throws {
        watches.append(try loop.register(descriptor, for: .readable) { _ in handler() })
    }

    private func answer(_ connection: Int32) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(connection, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        let words = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        guard words.count > 1 else {
            // Whoever closes is watched no more.
            if count == 0, let index = connections.firstIndex(of: connection) {
                loop.unregister(watches.remove(at: index + 1))
                close(connections.remove(at: index))
            }
            return
        }
        let target = String(words[1])
        targets.append(target)
        let route = String(target.prefix { $0 != "?" })
        guard var rest = documents[route], !rest.isEmpty else {
            return Self.send(CannedServer.problem("404 Not Found", "There is no \(route)."), to: connection)
        }
        if let limit = Self.limit(of: target), rest.count == 1 {
            let answer = "HTTP/1.1 304 Not Modified\r\nETag: \"7f3a.1\"\r\n\r\n"
            loop.schedule(after: limit) { [weak self] in
                // Its number may be that of a descriptor of another test by now.
                guard let self, connections.contains(connection) else { return }
                Self.send(answer, to: connection)
            }
            return
        }
        if Self.limit(of: target) != nil { rest.removeFirst() }
        documents[route] = rest
        let tag = "ETag: \"7f3a.\(rest.count)\"\r\nContent-Type: application/json\r\n"
        Self.send("HTTP/1.1 200 OK\r\n\(tag)Content-Length: \(rest[0].utf8.count)\r\n\r\n\(rest[0])", to: connection)
    }

    /// How long a long poll may take.
    private static func limit(of target: String) -> Duration? {
        target.split(separator: "=").last.flatMap { target.contains("wait=") ? DurationText.parse(String($0)) : nil }
    }

    private static func send(_ text: String, to connection: Int32) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe nwp_send(connection, $0.baseAddress, $0.count) }
    }
}
