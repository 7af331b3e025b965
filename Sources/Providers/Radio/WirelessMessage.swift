// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel

/// What messages of nl80211 say (linux/nl80211.h).
enum WirelessMessage {
    /// An interface: `NL80211_ATTR_IFINDEX` (3), `IFTYPE` (5) and `SSID` (52).
    static func interface(_ message: GenericMessage) -> (index: Int, facts: WirelessFacts)? {
        guard let index = message.attributes.word(3), let mode = message.attributes.word(5) else { return nil }
        let name = message.attributes[52].flatMap { $0.isEmpty || $0.count > 32 ? nil : $0 }
        return (Int(index), WirelessFacts(mode: mode, ssid: name))
    }

    /// A station's signal in dBm: in `NL80211_ATTR_STA_INFO` (21) the average (13), or else the last one (7).
    static func signal(_ message: GenericMessage) -> (index: Int, signal: Int)? {
        guard let index = message.attributes.word(3) else { return nil }
        let values = message.attributes.nested(21)
        guard let byte = (values[13] ?? values[7])?.first else { return nil }
        return (Int(index), Int(Int8(bitPattern: byte)))
    }
}
