// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import EventHub
import Traffic

/// The events about this machine's own connections.
extension Example {
    private static func finding(_ destination: IPPrefix?, loss: Double? = nil) -> TrafficFinding {
        TrafficFinding(
            path: TrafficPath(
                index: 2,
                interface: "eth0",
                gateway: .v4(0xC000_0201),
                family: .ipv4,
                range: .public
            ),
            destination: destination,
            connections: 150,
            unanswered: 148,
            lastAnswer: .milliseconds(1400),
            loss: loss
        )
    }

    private static func findingText(_ scope: String, _ destination: String, loss: String) -> String {
        #""traffic":{"scope":""# + scope + #"","interface":{"name":"eth0"},"gateway":"192.0.2.1","family":"ipv4","#
            + #""range":"public","destination":"# + destination + #","connections":150,"unanswered":148,"#
            + #""last_answer_seconds":1.4,"retransmit_ratio":"# + loss + "}"
    }

    static let traffic = [
        Example(
            body: TrafficChanged(.stalled(finding(nil))),
            summary: "warning traffic.stalled 148 of 150 connections through 192.0.2.1 on eth0 unanswered for 1.4 s",
            data: findingText("path", "null", loss: "null") + "}"
        ),
        Example(
            body: TrafficChanged(.lossy(finding(IPPrefix(.v4(0xC633_6400), length: 24), loss: 0.0481))),
            summary: "warning traffic.lossy 4.8 % of segments to 198.51.100.0/24 sent again",
            data: findingText("destination", #""198.51.100.0/24""#, loss: "0.0481") + "}"
        ),
        Example(
            body: TrafficChanged(.resumed(finding(nil), duration: .milliseconds(12_345))),
            summary: "info traffic.resumed Connections through 192.0.2.1 on eth0 answered again after 12 s",
            data: findingText("path", "null", loss: "null") + #","duration_seconds":12.345}"#
        ),
        Example(
            body: TrafficChanged(.unknown(finding(nil), duration: .milliseconds(72_345))),
            summary: "info traffic.unknown No longer known whether connections through 192.0.2.1 on eth0 are answered",
            data: findingText("path", "null", loss: "null") + #","duration_seconds":72.345}"#
        ),
    ]
}
