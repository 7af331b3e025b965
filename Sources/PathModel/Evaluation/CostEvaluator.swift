// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink

/// Evaluates what traffic over an interface costs and whether it should be spared (rules S37, S38).
struct CostEvaluator {
    let classifier: InterfaceClassifier

    /// Whether traffic costs money; the first of operator, manager, type and DHCP hint decides.
    func isExpensive(_ link: Link) -> Bool { isExpensive(link, classifier.type(of: link)) }

    /// As above, for a link whose type is known.
    func isExpensive(_ link: Link, _ type: InterfaceType) -> Bool {
        if let decided = classifier.decision(for: link)?.isExpensive { return decided }
        let device = classifier.facts.devices[link.index]
        switch device?.metered {
        case .yes, .guessYes: return true
        case .no, .guessNo: return false
        case .unknown, nil: break
        }
        if type == .cellular || device?.role == .bluetooth { return true }
        return device?.hasAndroidMeteredHint ?? false
    }

    /// Whether programs should spare traffic: only the operator can say so on Linux.
    func isConstrained(_ link: Link) -> Bool { classifier.decision(for: link)?.isConstrained ?? false }

    /// Whether programs should send next to nothing: the operator's word, or a satellite modem.
    func isUltraConstrained(_ link: Link) -> Bool {
        classifier.decision(for: link)?.isUltraConstrained ?? classifier.facts.cellular[link.index]?.isSatellite
            ?? false
    }
}
