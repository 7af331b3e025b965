// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

@testable import StatusServer

@Suite(.inNamespace) struct ProbeHistoryRouteTests {
    private let route = "/api/v1/probes/web/history"

    @Test(arguments: [
        // A day in hours, since so long is kept in hours only.
        ("", 24...25, 3600), ("?since=1h", 60...61, 60), ("?since=1h&step=1s", 60...61, 60),
        ("?since=1h&step=90s", 30...31, 120), ("?since=2h&until=1h&step=1h", 1...2, 3600),
        ("?since=0s", 0...0, 60), ("?since=7d", 168...169, 3600), ("?since=30d", 180...181, 14_400),
        ("?since=30d&step=1h", 720...721, 3600),
    ])
    func `a history has steps of what is kept`(query: String, count: ClosedRange<Int>, step: Int) throws {
        let answer = try APIFixture().get(route + query)
        #expect(answer.status == 200 && answer.field("Cache-Control") == "no-store")
        #expect(answer.field("Content-Type") == "application/json")
        let document = try JSONValue(parsing: answer.text)
        #expect(document["of"]?.int == step)
        #expect(count.contains(try #require(document["steps"]?.int)), "\(answer.text)")
    }

    @Test(arguments: [
        ("?since=yesterday", "Parameter 'since' is 'yesterday'; expected a duration such as 24h"),
        ("?since=1h&until=2h", "expected a time before 'until'."),
        ("?until=2999-01-01T00:00:00Z", "Parameter 'until' is "),
        ("?since=1678-01-01T00:00:00Z", "Parameter 'since' is "),
        ("?step=0s", "Parameter 'step' is '0s'; expected a duration of whole seconds such as 10m."),
        ("?step=1500ms", "expected a duration of whole seconds"),
        ("?since=365d&step=1h", "Parameter 'step' is '1h'; expected at least 5h: an answer has at most 2000 steps."),
        ("?stpe=1h", "did you mean 'step'?"), ("?step=1h&step=2h", "is given twice"), ("?wait=1s", "Unknown parameter"),
    ])
    func `what cannot be asked is refused with what can`(query: String, word: String) throws {
        let answer = try APIFixture().get(route + query)
        let problem = try JSONValue(parsing: answer.text)
        #expect(answer.status == 400 && problem["type"]?.string == "/problems/bad-parameter")
        #expect(problem["detail"]?.string?.contains(word) == true, "\(answer.text)")
    }

    @Test func `a probe that is not there has no history`() throws {
        let answer = try APIFixture().get("/api/v1/probes/nope/history?since=1h")
        let problem = try JSONValue(parsing: answer.text)
        #expect(answer.status == 404 && problem["type"]?.string == "/problems/unknown-probe")
        #expect(problem["detail"]?.string == "There is no probe 'nope'.")
    }

    @Test func `what fails inside is told as such`() throws {
        let fixture = APIFixture()
        fixture.provider.failure = Breakdown()
        #expect(try fixture.get(route).status == 500)
    }

    @Test func `history of 348 years is refused too`() throws {
        #expect(try APIFixture().get("/api/v1/history?since=1678-01-01T00:00:00Z").status == 400)
    }
}
