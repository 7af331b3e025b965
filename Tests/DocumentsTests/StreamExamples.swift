// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import OrderedJSON

extension Example {
    /// What one reader of a stream alone is told.
    static let streams = [
        Example(
            body: StreamReset(.tooOld, snapshot: .object(JSONObject())),
            summary: "warning stream.reset Earlier events are no longer in the log; this is the current state",
            data: #""reset":{"reason":"too_old"},"snapshot":{}}"#
        ),
        Example(
            body: StreamReset(.otherStream, snapshot: nil),
            summary: "warning stream.reset A new log was started; this is the current state",
            data: #""reset":{"reason":"other_stream"},"snapshot":null}"#
        ),
        Example(
            body: StreamReset(.slowClient, snapshot: nil),
            summary: "warning stream.reset Events were dropped, because the client read too slowly",
            data: #""reset":{"reason":"slow_client"},"snapshot":null}"#
        ),
        Example(
            body: StreamClosed(reason: "daemon_stopping"),
            summary: "info stream.closed The stream ends: daemon_stopping",
            data: #""closed":{"reason":"daemon_stopping"}}"#
        ),
    ]
}
