// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
import TestSupport
import Testing

/// Programs in language mode 5 that talk over WebSocket, each a process of its own.
@Suite(.inNamespace) struct WebSocketArticleTests {
    private let bridge: Bridge
    private let loop = Namespace.current.loop

    init() throws { bridge = try Bridge() }

    /// Waits until a program's last line is this one.
    private func expect(_ program: Program, last line: String) async {
        await loop.eventually("\(line), after \(program.lines)") { program.lines.last == line }
    }

    /// An echo server in Python, with a certificate for localhost that it has signed itself when it speaks TLS.
    private func echoServer(certificate folder: String?, in namespace: Namespace) async throws -> Program {
        let server = try Program(
            running: [
                try PythonEnvironment.python.get(), "-u", "-c",
                """
                import ssl, sys
                from websockets.exceptions import ConnectionClosed
                from websockets.sync.server import serve
                tls = None
                if len(sys.argv) > 1:
                    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    tls.load_cert_chain(sys.argv[1] + "/cert.pem", sys.argv[1] + "/key.pem")
                def handle(ws):
                    print("open", ws.subprotocol)
                    try:
                        for message in ws: ws.send(message)
                    except ConnectionClosed: pass
                    print("closed", ws.close_code, ws.close_reason)
                with serve(handle, "0.0.0.0", 8443, ssl=tls, subprotocols=["echo"] if tls else None) as server:
                    print("listening")
                    server.serve_forever()
                """,
            ] + (folder.map { [$0] } ?? []),
            in: namespace
        )
        await expect(server, last: "listening")
        return server
    }

    private func certificate() throws -> Scratch {
        let folder = try Scratch()
        try Command.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-keyout", "\(folder.path)/key.pem", "-out", "\(folder.path)/cert.pem", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost",
        ])
        return folder
    }

    @Test func `a delegate trusts localhost, and talks by a task of URLSession`() async throws {
        let folder = try certificate()
        let server = try await echoServer(certificate: folder.path, in: bridge.left)
        let url = "wss://localhost:8443/"
        let client = try Program("ArticlePrograms", "talk", url, "hello", "again", in: bridge.left)
        await expect(server, last: "closed 1001 that was all")
        await loop.eventually("the end, after \(client.lines)") {
            client.lines.count >= 6
        }
        #expect(
            client.lines.prefix(5) == ["trusting localhost", "open with echo", "pong", "heard hello", "heard again"]
        )
        await loop.eventually("closed, after \(client.lines)") { client.lines.contains("closed, going away") }
        #expect(server.lines == ["listening", "open echo", "closed 1001 that was all"])
        let elsewhere = try Program("ArticlePrograms", "talk", "wss://10.55.0.1:8443/", "hello", in: bridge.right)
        await loop.eventually("not trusted, after \(elsewhere.lines)") { elsewhere.lines.contains("failed with -1202") }
        #expect(!elsewhere.lines.contains("open with echo"))
    }

    @Test func `messages are sent and received in order, with await`() async throws {
        let server = try await echoServer(certificate: nil, in: bridge.right)
        let url = "ws://10.55.0.2:8443/"
        let client = try Program("ArticlePrograms", "talk-in-order", url, "hello", "again", in: bridge.left)
        await expect(client, last: "over: 1000, 107")
        #expect(client.lines == ["heard hello", "heard again", "over: 1000, 107"])
        await expect(server, last: "closed 1000 ")
    }

    @Test func `a room hands what one says to all who are there`() async throws {
        let room = try Program("ArticlePrograms", "open-room", "7071", in: bridge.right)
        await expect(room, last: "room open")
        let url = "ws://10.55.0.2:7071/"
        let guest = try Program("ArticlePrograms", "enter-room", url, "room", "hello", "again", in: bridge.left)
        await expect(room, last: "left with 4000: tired")
        await loop.eventually("all, after \(guest.lines)") { guest.lines.contains("heard again") }
        #expect(guest.lines.first == "entered room X-Headers=2" && guest.lines.contains("pong"))
        #expect(guest.lines.filter { $0.hasPrefix("heard") } == ["heard welcome", "heard hello", "heard again"])
        #expect(room.lines.filter { $0.hasPrefix("heard") } == ["heard hello", "heard again"])
        let stranger = try Program("ArticlePrograms", "enter-room", url, "other", in: bridge.left)
        let refused = "not let in: POSIXErrorCode(rawValue: 111): Connection refused"
        await expect(stranger, last: refused)
        await expect(room, last: "failed: POSIXErrorCode(rawValue: 103): Software caused connection abort")
    }
}
