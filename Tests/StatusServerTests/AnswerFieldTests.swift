// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite(.inNamespace) struct AnswerFieldTests {
    @Test func `every answer forbids guessing what it is`() async throws {
        let fixture = try ServerFixture()
        let tag = "If-None-Match: \"7f3a.1\"\r\n"
        for (target, fields) in [
            ("/", ""), ("/api/v1/status", ""), ("/api/v1/status", tag), ("/metrics", ""), ("/-/ready", ""),
            ("/nowhere", ""), ("/api/v1/events?limit=0", "Accept: application/json\r\n"),
            ("/api/v1/events", "Accept: application/json\r\n"), ("/api/v1/openapi.json", ""),
            ("/api/v1/badge/default.svg", ""),
        ] {
            let response = try await fixture.get(target, fields: fields)
            #expect(response.fields["x-content-type-options"] == "nosniff", "\(target) \(response.status)")
            let policy = response.fields["cross-origin-resource-policy"]
            #expect(policy == "same-origin", "\(target) \(response.status)")
        }
        let stream = try await fixture.stream()
        #expect(stream.text.lowercased().contains("x-content-type-options: nosniff\r\n"))
        #expect(stream.text.lowercased().contains("cross-origin-resource-policy: same-origin\r\n"))
    }
}
