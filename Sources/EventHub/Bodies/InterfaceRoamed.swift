// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Documents
public import OrderedJSON

/// `interface.roamed`: a Wi-Fi interface went from one access point of a network to another one, within three seconds.
public struct InterfaceRoamed: EventBody, MemberDeclaring {
    let interface: InterfaceReference
    let wifi: WirelessDocument
    let previous: WirelessDocument
    let cause: EventCause

    public init(
        _ wifi: WirelessDocument,
        previous: WirelessDocument,
        on interface: InterfaceReference,
        cause: EventCause
    ) {
        self.wifi = wifi
        self.previous = previous
        self.interface = interface
        self.cause = cause
    }

    public var name: EventName { .interfaceRoamed }
    public var severity: Severity { .info }
    public var message: String {
        let network = wifi.network.map { " of \($0)" } ?? ""
        let signal = wifi.signal.map { " (\($0) dBm)" } ?? ""
        guard let to = wifi.bssid, let from = previous.bssid else {
            return "\(interface.name) roamed to another access point\(network)\(signal)"
        }
        return "\(interface.name) roamed from \(from) to \(to)\(network)\(signal)"
    }

    public static let members = Members<Self>.object()
        .member("interface") { $0.interface }
        .member("wifi", "The Wi-Fi now.") { $0.wifi }
        .member("previous", "The Wi-Fi before.") { $0.previous }
        .added("cause") { $0.cause }
}
