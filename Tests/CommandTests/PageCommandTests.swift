// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

@Suite struct PageAddressTests {
    @Test(arguments: [
        (#"{"listen":["unix:/run/nwpath/api.sock","127.0.0.1:8353"]}"#, "http://127.0.0.1:8353"),
        (#"{"listen":["192.0.2.1:80","[::1]:8353"]}"#, "http://[::1]:8353"),
        (#"{"listen":["0.0.0.0:8353"],"tls_server_config":{"cert_file":"/x"}}"#, "https://localhost:8353"),
        (#"{"listen":["[::]:1"],"tls_server_config":{"cert_file":null}}"#, "http://localhost:1"),
        (#"{"listen":["unix:/run/nwpath/api.sock"]}"#, nil), (#"{"listen":["unix:/a:b"]}"#, nil),
    ])
    func `the page is where the service listens`(configuration: String, address: String?) throws {
        #expect(Page.address(in: try JSONValue(parsing: configuration)) == address)
    }
}

@Suite(.inNamespace) struct PageCommandTests {
    /// The status code of a POST.
    private func post(_ path: String, _ field: String = "X-None: 1") throws -> (code: String, body: JSONValue) {
        let words = ["curl", "-s", "-X", "POST", "-H", field, "-w", "\n%{http_code}", "http://127.0.0.1:8353\(path)"]
        let lines = try Namespace.current.run(words).split(separator: "\n")
        return (String(lines.last ?? ""), (try? JSONValue(parsing: String(lines.first ?? ""))) ?? .null)
    }

    @Test func `a link may start tests once it was redeemed, and counts once`() async throws {
        let service = try Service()
        try service.connect()
        try Namespace.current.set("lo", isUp: true)
        try await service.start("--listen=127.0.0.1:8353")
        let page = try await service.ask("page")
        let start = "http://127.0.0.1:8353/#link="
        #expect(page.status == 0 && page.output.hasPrefix(start), "\(page)")
        #expect(page.messages == "works once, within a minute; then the page may start tests for an hour\n")
        let secret = page.output.dropFirst(start.count).dropLast()
        #expect(secret.count == 32)
        #expect(try post("/api/v1/diagnosis").code == "403")
        #expect(try post("/api/v1/diagnosis", "X-NWPath-Session: \(secret)").code == "403", "a link is no session")
        #expect(try post("/api/v1/page/links").code == "403", "links are for those who may change something")
        let session = try post("/api/v1/page/sessions", "X-NWPath-Link: \(secret)")
        #expect(session.code == "200" && session.body["expires_seconds"]?.int == 3600)
        #expect(try post("/api/v1/page/sessions", "X-NWPath-Link: \(secret)").code == "403", "it was used")
        let field = "X-NWPath-Session: \(session.body.text("token"))"
        #expect(try post("/-/reload", field).code == "403", "a session starts tests, and nothing else")
        #expect(try post("/api/v1/diagnosis", field).code == "202")
        let json = try await service.ask("page", "--json").json
        #expect(json["url"]?.string?.hasPrefix(start) == true && json["expires_seconds"]?.int == 60)
        let other = try await service.tool.run("page", "--url", "http://127.0.0.1:8353")
        #expect(other.status == 5 && other.messages.contains("sudo nwpath page"), "\(other)")
    }

    @Test func `a service at unix sockets only has no page`() async throws {
        let service = try Service()
        try await service.start()
        let result = try await service.ask("page")
        #expect(result.status == 1 && result.messages.contains("it listens at unix sockets only"), "\(result)")
    }
}
