// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import Documents
@testable import Probes

@Suite struct ProbeHistoryDocumentTests {
    private let clock = ManualClock()

    private func text(_ record: ProbeRecord) throws -> String {
        let document = ProbeHistoryDocument(
            record,
            of: ProbeSample.gateway.definition,
            since: clock.wall,
            until: clock.wall + .seconds(1200),
            step: .seconds(600),
            at: clock.wall + .seconds(1200)
        )
        return try OrderedJSONEncoder().string(shown(document, ProbeHistoryDocument.form))
    }

    @Test func `a probe of which nothing is known has no steps`() throws {
        #expect(
            try text(ProbeRecord())
                == #"{"schema":"nwpath.probehistory/1","probe":"gateway","method":"icmp","target":"gateway","#
                + #""since":"2026-11-20T12:00:00.000000000Z","until":"2026-11-20T12:20:00.000000000Z","#
                + #""step_seconds":600,"sent":0,"lost":0,"loss_percent":null,"min_seconds":null,"#
                + #""median_seconds":null,"p95_seconds":null,"steps":[]}"#
        )
    }

    @Test func `durations are shown to the microsecond, and steps without an answer have none`() throws {
        var record = ProbeRecord()
        record.append(ProbeResult(.success, duration: .nanoseconds(400_400)), at: clock.wall)
        record.append(ProbeSample.timeout, at: clock.wall + .seconds(1))
        record.append(ProbeSample.timeout, at: clock.wall + .seconds(700))
        let text = try text(record)
        #expect(text.contains(#""sent":3,"lost":2,"loss_percent":66.67,"min_seconds":0.0004,"#), "\(text)")
        #expect(
            text.contains(
                #""steps":[{"start":"2026-11-20T12:00:00.000000000Z","sent":2,"lost":1,"min_seconds":0.0004,"#
                    + #""median_seconds":0.0004"#
            )
        )
        #expect(
            text.hasSuffix(
                #"{"start":"2026-11-20T12:10:00.000000000Z","sent":1,"lost":1,"min_seconds":null,"#
                    + #""median_seconds":null,"p95_seconds":null}]}"#
            )
        )
    }
}
