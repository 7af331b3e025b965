// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import OrderedJSON
public import PathModel

/// The Wi-Fi of an interface that is a member of a network, as nl80211 reports it.
public struct WirelessDocument: JSONObjectWritable, Equatable, Sendable {
    public var associated: Bool
    public var ssid: String?
    /// The bytes of a name that is not UTF-8 or has control characters.
    public var ssidHex: String?
    public var bssid: String?
    /// The channel's centre in MHz.
    public var frequency: Int?
    /// `2.4`, `5`, `6` or `60`.
    public var band: String?
    /// In dBm.
    public var signal: Int?
    /// In bit/s.
    public var receiveRate: Int?
    /// In bit/s.
    public var transmitRate: Int?
    public var authorized: Bool?

    public func write(to object: inout JSONObjectWriter) {
        object.write("associated", associated)
        object.write("ssid", ssid)
        object.writeIfPresent("ssid_hex", ssidHex)
        object.write("bssid", bssid)
        object.write("frequency_mhz", frequency)
        object.write("band", band)
        object.write("signal_dbm", signal)
        object.write("rx_bits_per_second", receiveRate)
        object.write("tx_bits_per_second", transmitRate)
        object.write("authorized", authorized)
    }

    public init(_ facts: WirelessFacts) {
        associated = facts.isAssociated
        ssid = facts.ssid.flatMap(WirelessFacts.name)
        ssidHex = ssid == nil ? facts.ssid?.hexadecimal() : nil
        bssid = facts.bssid?.hexadecimal(separator: ":")
        frequency = facts.frequency
        band = facts.band
        signal = facts.signal
        receiveRate = facts.receiveRate
        transmitRate = facts.transmitRate
        authorized = facts.isAuthorized
    }

    /// The network's name for people; `nil` when there is none, or it is kept back.
    public var network: String? { ssid ?? ssidHex.map { "0x" + $0 } }
}

// MARK: - Forms

extension WirelessDocument {
    public static var form: Form {
        .named("Wifi", "The Wi-Fi of an interface; names and addresses are `null` with `wifi.redact`.")
            .member("associated", .truth, "Whether it has an access point.")
            .member("ssid", .text.orNull, "The network's name; `null` where it is not UTF-8.")
            .optional("ssid_hex", .pattern("^([0-9a-f]{2})+$"), "The bytes of a name that is not UTF-8.")
            .member("bssid", bssid.orNull, "The access point's hardware address.")
            .member("frequency_mhz", .count.orNull)
            .member("band", .words("2.4", "5", "6", "60").orNull, "In GHz.")
            .member("signal_dbm", .integer(from: -128, to: 127).orNull, "The average signal of the access point.")
            .member("rx_bits_per_second", .count.orNull, "What the access point last sent with.")
            .member("tx_bits_per_second", .count.orNull)
            .member("authorized", .truth.orNull, "Whether the access point lets data pass.")
    }

    static var bssid: Form { .pattern("^[0-9a-f]{2}(:[0-9a-f]{2}){5}$") }
}
