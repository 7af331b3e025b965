// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import CLinuxShims
import Glibc
import LinuxIO
import TestSupport

/// A unix socket that gives everybody the same answer, or none.
final class CannedServer {
    let path: String
    private let listener: FileDescriptor
    private var watch: EventLoop.Registration?
    /// Connections stay open, so that a client waits for more.
    private var connections: [Int32] = []

    /// Listens; without an answer nobody is ever spoken to.
    init(_ scratch: Scratch, answer: String?) throws {
        path = scratch.file("canned.sock")
        listener = FileDescriptor(owning: unsafe nwp_unix_listen(path, 0o600, 8))
        guard let answer else { return }
        watch = try Namespace.current.loop.register(listener.rawValue, for: .readable) { [unowned self] _ in
            let connection = accept(listener.rawValue, nil, nil)
            guard connection >= 0 else { return }
            connections.append(connection)
            let bytes = Array(answer.utf8)
            // Without SIGPIPE where the client has gone.
            _ = unsafe bytes.withUnsafeBytes { unsafe nwp_send(connection, $0.baseAddress, $0.count) }
        }
    }

    deinit {
        if let watch { Namespace.current.loop.unregister(watch) }
        for connection in connections { close(connection) }
    }

    /// An answer in full.
    static func response(_ status: String, _ body: String, type: String = "application/json") -> String {
        "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// A problem document (RFC 9457).
    static func problem(_ status: String, _ detail: String) -> String {
        response(status, "{\"type\":\"about:blank\",\"detail\":\"\(detail)\"}", type: "application/problem+json")
    }
}
