// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Documents
import EventHub
import Diagnosis
import LinuxIO
import OrderedJSON
import PathModel

extension Example {
    static let headlines = [
        headline(
            Sample.unsatisfied,
            after: Sample.satisfied,
            "error headline.changed Offline: eth0 has no carrier"
        ),
        headline(
            Sample.satisfied,
            after: Sample.unsatisfied,
            "info headline.changed Connected after 9 s of Offline: the route via eth0 and 192.0.2.1 looks fine; "
                + "nothing beyond the gateway has been tested"
        ),
    ]

    private static func headline(_ path: Path, after old: Path, _ summary: String) -> Example {
        func judge(_ path: Path) -> Headline { HeadlineEvaluator(HeadlineFacts(host: "edge-17", path: path)).headline }
        var tracker = HeadlineTracker()
        tracker.apply(judge(old), at: .seconds(1))
        _ = tracker.dequeueChange(at: .seconds(5))
        tracker.apply(judge(path), at: .seconds(10))
        guard let change = tracker.dequeueChange(at: .seconds(11)) else { preconditionFailure("\(summary): no change") }
        let chain = change.headline.chain.map { text(ChainElementDocument($0)) }.joined(separator: ",")
        let shown = text(HeadlineDocument(change.headline, since: began))
        let previous = text(HeadlineDocument(judge(old), since: began - .seconds(9)))
        return Example(
            body: HeadlineChanged(change, since: began, previousSince: began - .seconds(9)),
            summary: summary,
            data: #""headline":"# + shown + #","chain":["# + chain + #"],"previous":"# + previous.dropLast()
                + #","duration_seconds":9}}"#
        )
    }

    private static let began = WallTime(nanoseconds: 1_795_176_000_000_000_000)

    private static func text(_ document: some JSONObjectWritable) -> String {
        (try? OrderedJSONEncoder().string(document)) ?? "?"
    }
}
