// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import PathModel
import Testing

@testable import Documents
@testable import EventHub

extension Example {
    static let roams = [
        Example(
            body: InterfaceRoamed(
                WirelessDocument(station(2, signal: -47)),
                previous: WirelessDocument(station(1, signal: -81)),
                on: InterfaceReference(named: "wlan0"),
                cause: cause
            ),
            summary:
                "info interface.roamed wlan0 roamed from 02:00:00:00:01:00 to 02:00:00:00:02:00 of office-7 (-47 dBm)",
            data: #""interface":{"name":"wlan0"},"wifi":"# + json(WirelessDocument(station(2, signal: -47)))
                + #","previous":"# + json(WirelessDocument(station(1, signal: -81))) + "," + causeText + "}"
        ),
        Example(
            body: InterfaceRoamed(
                WirelessDocument(station(2, signal: nil).redacted),
                previous: WirelessDocument(station(1, signal: nil).redacted),
                on: InterfaceReference(named: "wlan0"),
                cause: cause
            ),
            summary: "info interface.roamed wlan0 roamed to another access point",
            data: #""interface":{"name":"wlan0"},"wifi":"# + json(WirelessDocument(station(2, signal: nil).redacted))
                + #","previous":"# + json(WirelessDocument(station(1, signal: nil).redacted)) + "," + causeText + "}"
        ),
    ]
}
