// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// Connections to a real nginx, plain and by TLS.
@Suite(.inNamespace) struct NginxPeerTests {
    private let loop = Namespace.current.loop
    private let certificates: Certificates
    private let folder: Scratch
    private let server: RunningCommand

    init() throws {
        certificates = try Certificates.shared.get()
        folder = try Scratch()
        try folder.write(String(repeating: "0123456789", count: 100_000), to: "page")
        let file = try folder.write(
            """
            daemon off; master_process off; pid \(folder.path)/pid; error_log stderr;
            events {}
            http {
                access_log off; client_body_temp_path \(folder.path)/body;
                server {
                    listen 127.0.0.1:8080; listen 127.0.0.1:8443 ssl; root \(folder.path);
                    ssl_certificate \(certificates.path("server"));
                    ssl_certificate_key \(certificates.key("server"));
                }
            }
            """,
            to: "nginx.conf"
        )
        server = try RunningCommand([
            "nsenter", "--net=\(Namespace.current.path)", "nginx", "-e", "stderr", "-c", file,
        ])
    }

    @Test(arguments: [false, true]) func `a megabyte comes whole, and then the end`(isSecure: Bool) async throws {
        let parameters: NWParameters = isSecure ? certificates.client() : .tcp
        let client = Watched(to: "localhost", isSecure ? 8443 : 8080, parameters).start()
        await loop.eventually("ready, but \(client.state)") {
            if case .waiting = client.state { client.connection.restart() }
            return client.state == .ready
        }
        client.receiveMessage()
        client.send("GET /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        await loop.eventually("the page") { client.received.values.count == 1 }
        let parts = try #require(client.received.values.first?.text).components(separatedBy: "\r\n\r\n")
        #expect(parts.count == 2 && parts[0].hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(parts.last == String(repeating: "0123456789", count: 100_000))
        #expect(client.received.values.first?.isComplete == true && client.received.values.first?.isFinal == true)
    }

    @Test func `two requests go by one connection`() async throws {
        let client = Watched(to: "localhost", 8443, certificates.client()).start()
        await loop.eventually("ready, but \(client.state)") {
            if case .waiting = client.state { client.connection.restart() }
            return client.state == .ready
        }
        for number in 1...2 {
            client.send("HEAD /page HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.receive()
            await loop.eventually("answer \(number)") { client.received.values.count == number }
            #expect(client.received.values.last?.text?.hasPrefix("HTTP/1.1 200 OK\r\n") == true)
        }
    }
}
