// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import MulticastDNS
internal import Netlink
internal import PathEngine
internal import PathModel
internal import PathService
internal import Spelling

/// Chooses the interfaces on which a command speaks multicast DNS itself, and decides what to do without any.
struct DirectLinks: Equatable {
    enum Start: Equatable {
        case ready
        /// Goes on until there is one; the text says so.
        case waiting(String)
        /// The text says why.
        case failed(String)
    }

    /// The one interface to use, by any of its names; `nil` for all.
    let wanted: String?
    /// Whether the command has all the time there is.
    let waits: Bool

    /// Those that are up, can multicast, are no ports, and have an address.
    func interfaces(of core: EngineCore) -> [MulticastInterface] {
        core.multicastInterfaces { link in wanted.map(link.isNamed) ?? true }.filter { !$0.addresses.isEmpty }
    }

    /// What to do at the start.
    func start(of core: EngineCore) -> Start {
        guard interfaces(of: core).isEmpty else { return .ready }
        guard let wanted else {
            return waits
                ? .waiting("no interface is up yet; waiting for one")
                : .failed("no interface to use: no interface is up")
        }
        let exists = core.state.link(named: wanted) != nil
        if exists && waits { return .waiting("\(wanted) is down or has no address yet; waiting for it") }
        var reason = "no interface to use: \(wanted) does not exist, is down, or has no address"
        let names = core.state.links.values.flatMap(\.names).sorted()
        if !exists, let nearest = NearestSpelling.nearest(to: wanted, among: names) {
            reason += "; did you mean '\(nearest)'?"
        }
        return .failed(reason)
    }
}
