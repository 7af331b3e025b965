// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

/// The words for reasons and changes.
@Suite struct TextTests {
    private static let eth0 = ReasonSubject(interface: "eth0", family: .ipv4, table: 254, alternative: "wlan0")

    @Test(
        arguments: [
            (.noInterface, "there is no interface eth0"),
            (.linkDown, "eth0 is administratively down"),
            (.noCarrier, "eth0 has no carrier"),
            (.dormant, "eth0 is waiting for authentication"),
            (
                .wifiAuthenticationFailed, "eth0 is rejected by the access point: wrong passphrase or credentials"
            ),
            (.noAddress, "eth0 has no address"),
            (.dadPending, "eth0 is checking its address for duplicates"),
            (.configuring, "eth0 is up and waiting for an address"),
            (.noDefaultRoute, "no IPv4 default route"),
            (.routeUnreachable, "the IPv4 default route is of type unreachable"),
            (.routeProhibited, "the IPv4 default route or a rule is of type prohibit"),
            (.routeBlackhole, "the IPv4 default route is a black hole"),
            (
                .preferredRouteLinkDown,
                "the kernel prefers the IPv4 default route via eth0, which is down, over the one via wlan0"
            ),
            (.noSourceAddress, "eth0 has an IPv4 default route but no address to send from"),
            (.rfkillWifi, "Wi-Fi is disabled by rfkill"),
            (.rfkillWwan, "cellular is disabled by rfkill"),
            (.policy, "the configuration requires another interface"),
            (.gatewayUnreachable, "the IPv4 gateway on eth0 does not answer"),
        ] as [(UnsatisfiedReason, String)]
    )
    func `every reason has a clause that names the subject (S22)`(reason: UnsatisfiedReason, clause: String) {
        #expect(ReasonText(reason, Self.eth0).clause == clause)
    }

    @Test(arguments: UnsatisfiedReason.allCases)
    func `every reason has words without a subject too (S22)`(reason: UnsatisfiedReason) {
        let text = ReasonText(reason)
        #expect(!text.clause.isEmpty)
        #expect(!text.clause.contains("nil") && !text.clause.contains("Optional"))
        let waits: Set<UnsatisfiedReason> = [.dadPending, .configuring]
        #expect((text.hint == nil) == waits.contains(reason))
    }

    @Test(arguments: [
        ("require_vpn", "a VPN"), ("required_type wifi", "an interface of type wifi"),
        ("prohibited_type cellular", "an interface of a type other than cellular"), ("", "another interface"),
    ])
    func `a demand is put into words (S22)`(requirement: String, words: String) {
        let text = ReasonText(.policy, ReasonSubject(requirement: requirement))
        #expect(text.clause == "the configuration requires \(words)")
    }

    @Test(
        arguments: [
            (.linkDown, .ipv4, "`ip link set eth0 up`"),
            (.noDefaultRoute, .ipv6, "`ip -6 route show default`, then `ip -6 route add default via GATEWAY`"),
            (
                .preferredRouteLinkDown, .ipv4,
                "`sysctl net.ipv4.conf.all.ignore_routes_with_linkdown=1` (and the same for ipv6), "
                    + "or `ip link set eth0 down`"
            ),
            (
                .preferredRouteLinkDown, .ipv6,
                "`sysctl net.ipv6.conf.all.ignore_routes_with_linkdown=1` (and the same for ipv4), "
                    + "or `ip link set eth0 down`"
            ),
            (.noSourceAddress, .ipv4, "add an address: `ip address add ADDRESS/LENGTH dev eth0`"),
            (.rfkillWifi, .ipv4, "`rfkill unblock wifi`"),
        ] as [(UnsatisfiedReason, AddressFamily, String)]
    )
    func `a hint names the command that mends it (S22)`(reason: UnsatisfiedReason, family: AddressFamily, hint: String)
    {
        #expect(ReasonText(reason, ReasonSubject(interface: "eth0", family: family)).hint == hint)
    }

    // MARK: - Sentences

    @Test func `a state is told with the interface or the cause`() {
        var world = World.ordinary()
        #expect(PathSentence.state(of: world.path(), monitor: "default") == "Path default is satisfied via eth0")
        world.unplug("eth0")
        let sentence = PathSentence.state(of: world.path(), monitor: "default")
        #expect(sentence == "Path default is unsatisfied: eth0 has no carrier")
        world.facts.isConnecting = true
        let connecting = PathSentence.state(of: world.path(), monitor: "wifi")
        #expect(connecting == "Path wifi requires a connection: eth0 has no carrier")
    }

    @Test func `an expensive state says so`() {
        var world = World()
        world.link("wwan0", 5, kind: "wwan")
        world.add("10.0.0.2/30", on: "wwan0")
        world.route("0.0.0.0/0", "wwan0")
        let sentence = PathSentence.state(of: world.path(), monitor: "default")
        #expect(sentence == "Path default is satisfied via wwan0 (expensive)")
    }

    /// The sentence of the change from one path to another.
    private func told(_ previous: Path, _ change: (inout Path) -> Void) -> String {
        var tracker = PathTracker()
        var next = previous
        change(&next)
        _ = tracker.update(previous, at: .zero)
        guard let told = tracker.update(next, at: .seconds(1)) else { return "" }
        return PathSentence.change(told, monitor: "default")
    }

    @Test func `a move to another interface is told as such`() {
        let wwan = PathInterface(name: "wwan0", index: 5, type: .cellular)
        let path = World.ordinary().path()
        #expect(told(path) { $0.interfaces = [wwan] } == "Path default moved from eth0 to wwan0")
        let expensive = told(path) {
            $0.interfaces = [wwan]
            $0.isExpensive = true
        }
        #expect(expensive == "Path default moved from eth0 to wwan0 (expensive)")
        var costly = path
        costly.isExpensive = true
        let cheap = told(costly) {
            $0.interfaces = [wwan]
            $0.isExpensive = false
        }
        #expect(cheap == "Path default moved from eth0 to wwan0 (no longer expensive)")
    }

    @Test func `a change of status tells the new state`() {
        let path = World.ordinary().path()
        let lost = told(path) {
            $0.status = .unsatisfied
            $0.reason = .noDefaultRoute
        }
        #expect(lost == "Path default is unsatisfied: no default route")
        var offline = Path(reason: .noCarrier, subject: ReasonSubject(interface: "eth0"))
        #expect(told(offline) { $0 = path } == "Path default is satisfied via eth0 (was: eth0 has no carrier)")
        offline.interfaces = []
        let still = told(offline) { $0.reason = .linkDown }
        #expect(still == "Path default is still unsatisfied: eth0 is administratively down")
        let server = DNSServer(ScopedAddress(.v4(0xC000_0235)))
        let servers = told(offline) { $0.dns.servers = [server] }
        #expect(servers == "Path default is still unsatisfied: eth0 has no carrier; gained name server 192.0.2.53")
    }

    @Test func `smaller changes are told one by one`() {
        let path = World.ordinary().path()
        let wlan = PathInterface(name: "wlan0", index: 3, type: .wifi)
        #expect(told(path) { $0.interfaces.append(wlan) } == "Path default gained interface wlan0")
        #expect(told(path) { $0.isExpensive = true } == "Path default became expensive")
        #expect(told(path) { $0.isConstrained = true } == "Path default became constrained")
        #expect(told(path) { $0.isUltraConstrained = true } == "Path default became ultra-constrained")
        #expect(told(path) { $0.linkQuality = .minimal } == "Path default has minimal link quality")
        #expect(told(path) { $0.warnings = [.degraded, .expiring] } == "Path default has warnings: degraded, expiring")
        #expect(told(path) { $0.underlyingTypes = [.wifi] } == "Path default runs over wifi")
        #expect(
            told(path) { $0.ipv4?.source = .v4(0xC000_0299) }
                == "Path default uses source address 192.0.2.153 instead of 192.0.2.10"
        )
        #expect(told(path) { $0.ipv4?.gateways = [] } == "Path default lost gateway 192.0.2.1")
        #expect(told(path) { $0.dns.isUsable = true } == "Path default gained DNS")
        let silent = told(path) { $0.ipv4?.gateways[0].isReachable = false }
        #expect(silent == "Path default has no answer from gateway 192.0.2.1")
        var unresolved = path
        unresolved.ipv4?.gateways[0].isReachable = false
        let again = told(unresolved) { $0.ipv4?.gateways[0].isReachable = nil }
        #expect(again == "Path default has an answer from gateway 192.0.2.1 again")
        let answers = told(path) { $0.ipv4?.gateways[0].isReachable = true }
        #expect(answers == "Path default has an answer from gateway 192.0.2.1")
        let servers = told(path) { $0.dns.servers = [DNSServer(ScopedAddress(.v4(0x0808_0808)))] }
        #expect(servers == "Path default gained name server 8.8.8.8")
        let family = told(path) { $0.ipv6 = nil }
        #expect(family == "Path default lost IPv6, lost gateway fe80::1%eth0, lost source address 2001:db8::10")
    }

    @Test func `every difference between satisfied paths has words`() {
        var random = SeededRandom(seed: 31)
        for _ in 0..<500 {
            var (left, right) = (Path.random(using: &random), Path.random(using: &random))
            for path in [left, right] where path.status != .satisfied {
                left.status = .satisfied
                right.status = .satisfied
            }
            guard left != right else { continue }
            let sentence = told(left) { $0 = right }
            #expect(sentence.hasPrefix("Path default "))
            #expect(sentence.count > "Path default ".count)
        }
    }
}
