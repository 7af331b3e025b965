// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import CLinuxShims
import Glibc
import LinuxIO
import TestSupport

/// A unix socket that gives every client the same bytes, whatever it asks, on a thread of its own.
final class ScriptedServer: Sendable {
    private let scratch: Scratch
    var path: String { scratch.file("socket") }
    private let namespace: Namespace
    private let listener: Int32

    /// Answers with `script`, a piece at a time, then closes the connection or leaves it open.
    init(_ script: [String], closes: Bool = true) throws {
        namespace = try Namespace()
        scratch = try Scratch()
        listener = unsafe nwp_unix_listen(scratch.file("socket"), 0o600, 16)
        guard listener >= 0 else { throw Errno(listener) }
        let (loop, listener, requests) = (namespace.loop, listener, scratch.file("requests"))
        loop.perform {
            _ = try? loop.register(listener, for: .readable) { _ in
                let client = nwp_accept(listener)
                guard client >= 0 else { return }
                // What a client asks is small and comes at once; it is kept for the test.
                loop.schedule(after: .milliseconds(20)) {
                    var bytes = [UInt8](repeating: 0, count: 65_536)
                    let count = unsafe recv(client, &bytes, bytes.count, Int32(MSG_DONTWAIT))
                    if let file = try? FileDescriptor(opening: requests, flags: O_WRONLY | O_CREAT | O_APPEND) {
                        bytes.removeLast(bytes.count - max(0, count))
                        try? file.writeAll(bytes.span)
                    }
                    Self.send(script[...], to: client, closes: closes, loop)
                }
            }
        }
    }

    deinit { close(listener) }

    /// What clients asked so far.
    var requests: String { scratch.read("requests") }

    private static func send(_ script: ArraySlice<String>, to client: Int32, closes: Bool, _ loop: EventLoop) {
        guard let piece = script.first else {
            if closes { close(client) }
            return
        }
        var rest = Array(piece.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe nwp_send(client, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EAGAIN { break }
        }
        loop.schedule(after: .milliseconds(5)) { send(script.dropFirst(), to: client, closes: closes, loop) }
    }
}
