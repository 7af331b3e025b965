// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// What nl80211 says about one Wi-Fi interface.
public struct WirelessFacts: Hashable, Sendable {
    /// The NL80211_IFTYPE_* number: 1 ad hoc, 2 station, 3 access point, 7 mesh point, 8 P2P client.
    public var mode: UInt32
    /// The number of its device (`NL80211_ATTR_WIPHY`), which may have several interfaces.
    public var device: Int?
    /// The network's name, when associated: up to 32 bytes of any kind, usually UTF-8.
    public var ssid: [UInt8]?
    /// The name of the network that it is associated with, or else was last.
    public var network: [UInt8]?
    /// The average signal of the access point in dBm, such as -61.
    public var signal: Int?
    /// The access point's hardware address, when associated.
    public var bssid: [UInt8]?
    /// The channel's centre in MHz, such as 5180.
    public var frequency: Int?
    /// What the access point last sent with, in bit/s.
    public var receiveRate: Int?
    /// What was last sent to the access point with, in bit/s.
    public var transmitRate: Int?
    /// Whether the access point lets data pass; `nil` when not associated, or not known.
    public var isAuthorized: Bool?
    /// How often it went from one access point of a network to another one within three seconds.
    public var roams: UInt64 = 0
    /// The access point that it came from with the last of these.
    public var roamedFrom: [UInt8]?
    /// The network that refuses this machine, as after a wrong passphrase, until one accepts it.
    public var refusal: Refusal?

    /// An access point that refuses this machine's passphrase or credentials.
    public struct Refusal: Hashable, Sendable {
        /// The network's name, when known.
        public var ssid: [UInt8]?

        public init(ssid: [UInt8]? = nil) { self.ssid = ssid }
    }

    public init(
        mode: UInt32,
        ssid: [UInt8]? = nil,
        signal: Int? = nil,
        bssid: [UInt8]? = nil,
        frequency: Int? = nil,
        receiveRate: Int? = nil,
        transmitRate: Int? = nil,
        isAuthorized: Bool? = nil
    ) {
        self.mode = mode
        self.ssid = ssid
        network = ssid
        self.signal = signal
        self.bssid = bssid
        self.frequency = frequency
        self.receiveRate = receiveRate
        self.transmitRate = transmitRate
        self.isAuthorized = isAuthorized
    }

    /// Whether the interface is a client of a network (`NL80211_IFTYPE_STATION` or `P2P_CLIENT`).
    public var isStation: Bool { mode == 2 || mode == 8 }

    /// Whether it is a member of a network of 802.11: a client, `ADHOC` or `MESH_POINT`.
    public var isMember: Bool { isStation || mode == 1 || mode == 7 }

    /// Whether it has an access point.
    public var isAssociated: Bool { bssid != nil }

    /// The band in GHz of 802.11: `2.4`, `5`, `6` or `60`; `nil` when the frequency is unknown or in another band.
    public var band: String? {
        switch frequency ?? 0 {
        case 2400..<2500: "2.4"
        case 4900..<5925: "5"
        case 5925...7125: "6"
        case 57_000..<71_000: "60"
        default: nil
        }
    }

    /// The network's name as text where it is UTF-8 without control characters, else its bytes such as `0xff41`.
    public static func text(of ssid: [UInt8]) -> String {
        name(of: ssid) ?? "0x" + ssid.hexadecimal()
    }

    /// The network's name as text; `nil` where it is not UTF-8, or has characters that are not shown as such.
    public static func name(of ssid: [UInt8]) -> String? {
        guard let text = String(validating: ssid, as: UTF8.self),
            !text.unicodeScalars.contains(where: { unsafeCategories.contains($0.properties.generalCategory) })
        else { return nil }
        return text
    }

    private static let unsafeCategories: Set<Unicode.GeneralCategory> = [
        .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned,
    ]

    /// The association as a clause: `associated with home on 2437 MHz, -47 dBm, not authorized`, or `not associated`.
    public var clause: String {
        guard isStation else { return "associated" }
        guard isAuthorized != nil || ssid != nil || bssid != nil else { return "not associated" }
        var text = "associated with " + (ssid.map(Self.text) ?? "an access point")
        if let frequency { text += " on \(frequency) MHz" }
        if let signal { text += ", \(signal) dBm" }
        if let isAuthorized { text += isAuthorized ? ", authorized" : ", not authorized" }
        return text
    }

    /// What documents, events, metrics and sentences may show where names are kept back (`wifi.redact`).
    public var redacted: WirelessFacts {
        var facts = self
        facts.ssid = nil
        facts.network = nil
        facts.bssid = nil
        facts.roamedFrom = nil
        facts.refusal?.ssid = nil
        return facts
    }
}
