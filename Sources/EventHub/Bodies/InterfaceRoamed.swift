// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Documents
public import OrderedJSON

/// `interface.roamed`: a Wi-Fi interface went from one access point of a network to another one, within three seconds.
public struct InterfaceRoamed: EventBody {
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

    public func write(to object: inout JSONObjectWriter) {
        object.write("interface", interface)
        object.write("wifi", wifi)
        object.write("previous", previous)
        object.write("cause", cause)
    }
}

extension InterfaceRoamed {
    public static var form: Form {
        .object()
            .member("interface", InterfaceReference.form)
            .member("wifi", WirelessDocument.form, "The Wi-Fi now.")
            .member("previous", WirelessDocument.form, "The Wi-Fi before.")
            .added("cause", EventCause.form)
    }
}
