// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Netlink

extension InterfaceClassifier {
    /// Whether the interface is a client of a Wi-Fi network.
    func isStation(_ link: Link) -> Bool {
        facts.wireless[link.index]?.isStation ?? (facts.devices[link.index]?.role == .wifi)
    }

    /// Whether it is a client that the access point does not let send yet; one that is authorized sends whatever its
    /// operational state, which is set by a program.
    func isWaiting(_ link: Link) -> Bool {
        link.operationalState == .dormant && isStation(link) && facts.wireless[link.index]?.isAuthorized != true
    }

    /// What keeps the link itself from working (rule S12); `nil` when it is usable.
    ///
    /// A dormant client of a Wi-Fi network is associated and not authorized: the kernel drops all data.
    public func linkProblem(of link: Link) -> UnusableReason? {
        let problem = link.unusableReason
        switch problem {
        case nil where isWaiting(link), .noCarrier:
            if facts.wireless[link.index]?.refusal != nil { return .authenticationFailed }
            return problem ?? .dormant
        default: return problem
        }
    }

    /// What may be shown of the interface's Wi-Fi; `nil` for one that is no member of a network.
    public func wifi(of link: Link) -> WirelessFacts? {
        guard let facts = facts.wireless[link.index], facts.isMember else { return nil }
        return policy.redactsWifi ? facts.redacted : facts
    }

    /// The Wi-Fi behind a reason; `nil` for an interface that is no client.
    func radio(of link: Link) -> ReasonSubject.Radio? {
        guard isStation(link) else { return nil }
        let facts = wifi(of: link)
        return ReasonSubject.Radio(network: (facts?.refusal?.ssid ?? facts?.ssid).map(WirelessFacts.text))
    }

    /// What is said of an interface whose own radio rfkill blocks; `nil` where it does not.
    func blockedRadio(of link: Link) -> ReasonSubject? {
        let isAllBlocked = facts.radios.isWifiBlocked && type(of: link) == .wifi
        let ofAll = isAllBlocked ? facts.radios.isWifiBlockedByHardware : nil
        guard let isHard = facts.wireless[link.index]?.device.flatMap({ facts.radios.blockedDevices[$0] }) ?? ofAll
        else {
            return nil
        }
        return ReasonSubject(obstacle: isHard ? .hardware : nil)
    }

    /// An interface as the subject of a reason.
    func subject(_ link: Link, family: AddressFamily? = nil, obstacle: ReasonSubject.Obstacle? = nil) -> ReasonSubject {
        var subject = ReasonSubject(interface: link.name, family: family, obstacle: obstacle)
        subject.radio = radio(of: link)
        return subject
    }
}
