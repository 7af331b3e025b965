// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink
internal import PathModel

/// What messages of nl80211 say (linux/nl80211.h).
enum WirelessMessage {
    /// An interface: `NL80211_ATTR_IFINDEX` (3), `WIPHY` (1), `IFTYPE` (5), `SSID` (52) and `WIPHY_FREQ` (38).
    static func interface(_ message: GenericMessage) -> (index: Int, facts: WirelessFacts)? {
        guard let index = message.attributes.word(3), let mode = message.attributes.word(5) else { return nil }
        let name = message.attributes[52].flatMap { $0.isEmpty || $0.count > 32 ? nil : $0 }
        let frequency = message.attributes.word(38).map(Int.init)
        var facts = WirelessFacts(mode: mode, ssid: name, frequency: frequency)
        facts.device = message.attributes.word(1).map(Int.init)
        return (Int(index), facts)
    }

    /// A station's signal in dBm: in `NL80211_ATTR_STA_INFO` (21) the average (13), or else the last one (7).
    static func signal(_ message: GenericMessage) -> (index: Int, signal: Int)? {
        guard let index = message.attributes.word(3), let signal = signal(in: message.attributes.nested(21)) else {
            return nil
        }
        return (Int(index), signal)
    }

    private static func signal(in information: GenericMessage.Attributes) -> Int? {
        (information[13] ?? information[7])?.first.map { Int(Int8(bitPattern: $0)) }
    }

    /// The access point that an interface is a station of: its address in `NL80211_ATTR_MAC` (6), the rest in
    /// `STA_INFO` (21).
    /// - Returns: `nil` for one that it is not associated with yet, and for a peer of a direct link (TDLS).
    static func station(_ message: GenericMessage) -> (index: Int, station: WirelessStation)? {
        guard let index = message.attributes.word(3), let address = message.attributes[6], address.count == 6 else {
            return nil
        }
        let information = message.attributes.nested(21)
        // In NL80211_STA_INFO_STA_FLAGS (17), struct nl80211_sta_flag_update: which flags are known, and which are set.
        let flags = information[17].flatMap { $0.count == 8 ? $0 : nil }
        func flag(_ number: UInt32) -> Bool? {
            guard let flags, flags.span.host32(at: 0) & 1 << number != 0 else { return nil }
            return flags.span.host32(at: 4) & 1 << number != 0
        }
        // NL80211_STA_FLAG_ASSOCIATED, _TDLS_PEER, _AUTHORIZED.
        guard flag(7) ?? true, !(flag(6) ?? false) else { return nil }
        let station = WirelessStation(
            address: address,
            signal: signal(in: information),
            receiveRate: rate(information.nested(14)),
            transmitRate: rate(information.nested(8)),
            isAuthorized: flag(1),
            // NL80211_STA_INFO_TX_PACKETS, _TX_RETRIES, _TX_FAILED, _BEACON_LOSS.
            counters: RadioCounters(
                accessPoint: address,
                signal: signal(in: information),
                sent: information.word(10),
                retries: information.word(11),
                failures: information.word(12),
                beaconLosses: information.word(18)
            )
        )
        return (Int(index), station)
    }

    private static func number(_ bytes: [UInt8]?) -> UInt16? {
        bytes.flatMap { $0.count == 2 ? $0.span.host16(at: 0) : nil }
    }

    /// A rate in bit/s: `NL80211_RATE_INFO_BITRATE32` (5), or the older `BITRATE` (1), in 100 kbit/s.
    private static func rate(_ attributes: GenericMessage.Attributes) -> Int? {
        if let rate = attributes.word(5) { return Int(rate) * 100_000 }
        return number(attributes[1]).map { Int($0) * 100_000 }
    }

    /// An entry of the scan's results, in `NL80211_ATTR_BSS` (47): `BSSID` (1), `FREQUENCY` (2), `STATUS` (9).
    static func network(_ message: GenericMessage) -> (index: Int, network: WirelessNetwork)? {
        guard let index = message.attributes.word(3) else { return nil }
        let entry = message.attributes.nested(47)
        guard let bssid = entry[1], bssid.count == 6 else { return nil }
        let network = WirelessNetwork(
            bssid: bssid,
            ssid: (entry[6] ?? entry[11]).flatMap(name),
            frequency: entry.word(2).map(Int.init),
            isAssociated: entry.word(9) == 1
        )
        return (Int(index), network)
    }

    /// The name in the information elements (`NL80211_BSS_INFORMATION_ELEMENTS` or `BEACON_IES`): element 0.
    ///
    /// A hidden network's beacon has an empty one, or one of zeros.
    private static func name(in elements: [UInt8]) -> [UInt8]? {
        var rest = elements[...]
        while rest.count >= 2, let kind = rest.popFirst(), let length = rest.popFirst() {
            guard rest.count >= length else { return nil }
            let body = rest.prefix(Int(length))
            if kind == 0 { return (1...32).contains(body.count) && body.contains { $0 != 0 } ? Array(body) : nil }
            rest = rest.dropFirst(Int(length))
        }
        return nil
    }

    /// What an event says of the association of an interface; `nil` for messages without an interface.
    static func event(_ message: GenericMessage) -> WirelessEvent? {
        guard let index = message.attributes.word(3) else { return nil }
        return WirelessEvent(index: Int(index), kind: kind(message), bssid: bssid(of: message))
    }

    private static func kind(_ message: GenericMessage) -> WirelessEvent.Kind {
        // NL80211_ATTR_FRAME (51): a management frame, whose fixed fields follow 24 bytes of header (IEEE 802.11 9.3.3).
        let fields = message.attributes[51].map { $0.dropFirst(24) } ?? []
        func field(_ position: Int) -> UInt16? {
            let bytes = Array(fields.dropFirst(2 * position).prefix(2))
            return bytes.count == 2 ? UInt16(bytes[0]) | UInt16(bytes[1]) << 8 : nil
        }
        func attribute(_ kind: UInt16) -> UInt16? { number(message.attributes[kind]) }
        switch message.command {
        // NL80211_CMD_AUTHENTICATE: algorithm, sequence, status.
        case 37:
            guard let algorithm = field(0), let sequence = field(1), let status = field(2) else { return .other }
            return .authenticated(algorithm: algorithm, sequence: sequence, status: status)
        // NL80211_CMD_CONNECT and _ROAM: NL80211_ATTR_STATUS_CODE (72).
        case 46: return .connected(status: attribute(72) ?? 0)
        case 47: return .connected(status: 0)
        // NL80211_CMD_DEAUTHENTICATE and _DISASSOCIATE: reason; _DISCONNECT: NL80211_ATTR_REASON_CODE (54).
        case 39, 40:
            let frame = message.attributes[51] ?? []
            let isRemote = frame.count >= 22 && frame[10..<16].elementsEqual(frame[16..<22])
            return .lost(reason: field(0), isChange: false, isRemote: isRemote)
        case 48:
            // Before it goes to another access point, mac80211 itself ends the association with reason 1; an end by the
            // access point has NL80211_ATTR_DISCONNECTED_BY_AP (71).
            let (reason, isRemote) = (attribute(54), message.attributes[71] != nil)
            return .lost(reason: reason, isChange: reason == 1 && !isRemote, isRemote: isRemote)
        // NL80211_CMD_PORT_AUTHORIZED.
        case 125: return .authorized
        default: return .other
        }
    }

    /// The network that a frame is about: its third address.
    private static func bssid(of message: GenericMessage) -> [UInt8]? {
        guard let frame = message.attributes[51], frame.count >= 24 else { return nil }
        return Array(frame[16..<22])
    }
}

/// The access point that an interface is a station of.
struct WirelessStation: Equatable {
    var address: [UInt8]
    var signal: Int?
    /// In bit/s.
    var receiveRate: Int?
    /// In bit/s.
    var transmitRate: Int?
    var isAuthorized: Bool?
    var counters: RadioCounters?
}

/// A network that a scan found.
struct WirelessNetwork: Equatable {
    var bssid: [UInt8]
    var ssid: [UInt8]?
    /// In MHz.
    var frequency: Int?
    var isAssociated: Bool
}

/// What happened to the association of an interface.
struct WirelessEvent: Equatable {
    enum Kind: Equatable {
        /// The access point answered an authentication frame: the algorithm (3 is SAE), which frame of it, and a status
        /// code of 802.11.
        case authenticated(algorithm: UInt16, sequence: UInt16, status: UInt16)
        /// An association came about, or was refused.
        case connected(status: UInt16)
        /// The keys are installed: data passes.
        case authorized
        /// An association, or an attempt at one, ended, with a reason code of 802.11; `isChange` where the kernel ended it in
        /// favour of another access point, and `isRemote` where the access point ended it.
        case lost(reason: UInt16?, isChange: Bool, isRemote: Bool)
        case other
    }

    var index: Int
    var kind: Kind
    var bssid: [UInt8]?
}
