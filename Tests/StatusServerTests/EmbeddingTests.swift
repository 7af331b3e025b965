// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import StatusServer

private let targets = [
    "/", "/api/v1/status", "/api/v1/badge/default.svg", "/api/v1/badge/none.svg", "/api/v1/paths/default/satisfied",
    "/api/v1/online", "/metrics", "/-/ready",
]

/// What a browser sends for pages of other sites comes to nothing, so that they do not learn the state.
@Suite(.inNamespace) struct EmbeddingTests {
    private static func fields(_ site: String, _ mode: String, _ destination: String) -> [String: String] {
        ["Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": destination]
    }

    @Test(arguments: ["cross-site", "same-site", "unheard-of"], targets)
    func `a page of another site embeds nothing`(site: String, target: String) throws {
        for (mode, destination) in [
            ("no-cors", "image"), ("no-cors", "script"), ("cors", "empty"), ("navigate", "iframe"),
            ("navigate", "object"),
        ] {
            let answer = try APIFixture().get(target, Self.fields(site, mode, destination))
            #expect(answer.status == 403, "\(target) \(mode) \(destination)")
            #expect(answer.field("Content-Type") == "application/problem+json")
            #expect(answer.text.contains("/problems/origin-not-allowed"))
        }
    }

    @Test(arguments: targets)
    func `programs, the own page and who opens an address get what they got`(target: String) throws {
        let status = try APIFixture().get(target).status
        for fields in [
            Self.fields("same-origin", "cors", "empty"), Self.fields("same-origin", "no-cors", "image"),
            Self.fields("none", "navigate", "document"), Self.fields("cross-site", "navigate", "document"),
        ] {
            let answer = try APIFixture().get(target, fields)
            #expect(answer.status == status, "\(target) \(fields)")
        }
    }

    @Test func `the badge is for other sites where that is configured, and nothing else is`() throws {
        let fixture = APIFixture()
        #expect(try fixture.get("/api/v1/badge/default.svg").field("Cross-Origin-Resource-Policy") == nil)
        fixture.api.embedsBadge = true
        let embedded = Self.fields("cross-site", "no-cors", "image")
        let badge = try fixture.get("/api/v1/badge/default.svg", embedded)
        #expect(badge.status == 200 && badge.field("Cross-Origin-Resource-Policy") == "cross-origin")
        #expect(try fixture.get("/api/v1/status", embedded).status == 403)
    }

    @Test func `a page of a configured host may fetch`() throws {
        let fixture = APIFixture()
        fixture.api.hosts = HostPolicy(names: ["edge.example"])
        for (origin, status) in [("https://edge.example", 200), ("https://evil.example", 403)] {
            var fields = Self.fields("cross-site", "cors", "empty")
            fields["Origin"] = origin
            let answer = try fixture.get("/api/v1/status", fields)
            #expect(answer.status == status, "\(origin)")
        }
    }

    @Test func `the setting reaches the wire, and a reload changes it`() async throws {
        let fixture = try ServerFixture { $0.embedsBadge = true }
        let embedded = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n"
        let shown = try await fixture.get("/api/v1/badge/default.svg", fields: embedded, overTCP: true)
        #expect(shown.status == 200 && shown.fields["cross-origin-resource-policy"] == "cross-origin")
        try fixture.server.take(StatusServer.Configuration())
        let refused = try await fixture.get("/api/v1/badge/default.svg", fields: embedded, overTCP: true)
        #expect(refused.status == 403 && refused.fields["cross-origin-resource-policy"] == "same-origin")
    }
}
