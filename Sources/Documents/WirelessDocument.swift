// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import OrderedJSON
public import PathModel

/// The Wi-Fi of an interface that is a member of a network, as nl80211 reports it.
public struct WirelessDocument: MemberDeclaring, Equatable, Sendable {
    public var associated: Bool
    public var ssid: String?
    public var ssidHex: String?
    public var bssid: String?
    /// The channel's centre in MHz.
    public var frequency: Int?
    public var band: String?
    /// In dBm.
    public var signal: Int?
    /// In bit/s.
    public var receiveRate: Int?
    /// In bit/s.
    public var transmitRate: Int?
    public var authorized: Bool?

    public static let members = Members<Self>
        .named("Wifi", "The Wi-Fi of an interface; names and addresses are `null` with `wifi.redact`.")
        .member("associated", "Whether it has an access point.") { $0.associated }
        .member("ssid", "The network's name; `null` where it is not UTF-8.") { $0.ssid }
        .optional("ssid_hex", as: .pattern("^([0-9a-f]{2})+$"), "The bytes of a name that is not UTF-8.") { $0.ssidHex }
        .member("bssid", as: bssid, "The access point's hardware address.") { $0.bssid }
        .member("frequency_mhz") { $0.frequency }
        .member("band", as: .words("2.4", "5", "6", "60"), "In GHz.") { $0.band }
        .member("signal_dbm", as: .integer(from: -128, to: 127), "The average signal of the access point.") {
            $0.signal
        }
        .member("rx_bits_per_second", "What the access point last sent with.") { $0.receiveRate }
        .member("tx_bits_per_second") { $0.transmitRate }
        .member("authorized", "Whether the access point lets data pass.") { $0.authorized }

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
    static var bssid: Form { .pattern("^[0-9a-f]{2}(:[0-9a-f]{2}){5}$") }
}
