// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
@testable import Network
import PathModel
import Testing

/// A machine with a cable, a radio and itself, and what its forwarding table answers.
private struct Machine {
    var state = KernelState()
    /// By destination: the index of the interface; a destination that is not there has no route.
    var outputs: [Addressing.IPAddress: Int] = [:]
    var flags: NexthopFlags = []
    private var links: [Link] = []
    private var addresses: [InterfaceAddress] = []

    init() {
        add(Link(index: 1, name: "lo", flags: [.up, .loopback, .lowerUp], hardwareType: 772, carrier: true))
        add("127.0.0.1", 8, on: 1)
        add("::1", 128, on: 1)
        link("eth0", 2)
        add("192.0.2.10", 24, on: 2)
        add("fe80::10", 64, on: 2)
        link("wlan0", 3)
        add("198.51.100.10", 24, on: 3)
    }

    mutating func link(_ name: String, _ index: Int, isUp: Bool = true, carrier: Bool = true) {
        links.removeAll { $0.index == index }
        add(
            Link(
                index: index,
                name: name,
                flags: isUp ? [.up] : [],
                carrier: carrier,
                operationalState: carrier ? .up : .down
            )
        )
    }

    mutating func add(_ link: Link) {
        links.append(link)
        refresh()
    }

    mutating func add(_ text: String, _ length: Int, on index: Int) {
        addresses.append(InterfaceAddress(index: index, address: address(text), prefixLength: length))
        refresh()
    }

    mutating func remove(_ text: String) {
        addresses.removeAll { $0.address == address(text) }
        refresh()
    }

    private mutating func refresh() {
        state = KernelState()
        _ = state.replace(links: links, addresses: addresses, at: .zero)
    }

    var judge: FlowRouteEvaluator {
        FlowRouteEvaluator(state: state, classifier: InterfaceClassifier(state: state)) { [outputs, flags] query in
            guard let index = outputs[query.destination] else { return .failure(.noRoute) }
            if let bound = query.outputInterface, bound != index { return .failure(.unreachable) }
            return .success(RouteAnswer(nexthops: [RouteNexthop(index: index, flags: flags)]))
        }
    }
}

private func address(_ text: String) -> Addressing.IPAddress { Addressing.IPAddress(text) ?? .v4(0) }

private func end(_ text: String, scope: UInt32 = 0) -> SocketEnd {
    SocketEnd(address: address(text), scope: scope, port: 80)
}

@Suite struct FlowRouteEvaluatorTests {
    private let remote = end("203.0.113.1")
    private let cable = PathInterface(name: "eth0", index: 2, type: .wiredEthernet)

    private func machine(by index: Int? = 2) -> Machine {
        var machine = Machine()
        if let index { machine.outputs[remote.address] = index }
        return machine
    }

    @Test func `a flow whose address, link and route are there is viable`() {
        let route = machine().judge.route(local: end("192.0.2.10"), remote: remote)
        #expect(route == FlowRoute(interface: cable, isViable: true, hasBetterPath: false))
    }

    @Test func `a flow without its address is not`() {
        var machine = machine()
        machine.remove("192.0.2.10")
        let route = machine.judge.route(local: end("192.0.2.10"), remote: remote)
        #expect(route == FlowRoute(interface: nil, isViable: false, hasBetterPath: false))
    }

    @Test(arguments: [(false, true), (true, false), (false, false)])
    func `a flow whose link is down is not`(isUp: Bool, carrier: Bool) {
        var machine = machine()
        machine.link("eth0", 2, isUp: isUp, carrier: carrier)
        let route = machine.judge.route(local: end("192.0.2.10"), remote: remote)
        #expect(route == FlowRoute(interface: cable, isViable: false, hasBetterPath: false))
    }

    @Test func `a flow without a route is not, nor one whose route is dead`() {
        #expect(!machine(by: nil).judge.route(local: end("192.0.2.10"), remote: remote).isViable)
        var dead = machine()
        dead.flags = .linkDown
        #expect(!dead.judge.route(local: end("192.0.2.10"), remote: remote).isViable)
    }

    @Test func `another interface that would be chosen is a better path`() {
        let route = machine(by: 2).judge.route(local: end("198.51.100.10"), remote: remote)
        #expect(route.isViable && route.hasBetterPath && route.interface?.name == "wlan0")
        let same = machine(by: 3).judge.route(local: end("198.51.100.10"), remote: remote)
        #expect(same.isViable && !same.hasBetterPath)
    }

    @Test func `what stays on the machine is viable`() {
        let machine = Machine()
        #expect(machine.judge.route(local: nil, remote: nil) == FlowRoute())
        let loopback = machine.judge.route(local: end("127.0.0.9"), remote: end("127.0.0.1"))
        #expect(loopback.isViable && loopback.interface?.type == .loopback)
        var own = machine
        own.outputs[address("192.0.2.10")] = 1
        let route = own.judge.route(local: end("192.0.2.10"), remote: end("192.0.2.10"))
        #expect(route == FlowRoute(interface: cable, isViable: true, hasBetterPath: false))
    }

    @Test func `a link-local address is looked for on its own link`() {
        var machine = Machine()
        machine.outputs[address("fe80::1")] = 2
        let route = machine.judge.route(local: end("fe80::10", scope: 2), remote: end("fe80::1", scope: 2))
        #expect(route.isViable && route.interface?.name == "eth0")
        let other = machine.judge.route(local: end("fe80::10", scope: 3), remote: end("fe80::1", scope: 3))
        #expect(!other.isViable && other.interface == nil)
    }

    // MARK: - Paths

    @Test func `the path of a viable flow is satisfied, whatever the default route`() {
        let route = FlowRoute(interface: cable, isViable: true)
        let path = route.path(from: Path(status: .unsatisfied, reason: .noDefaultRoute))
        #expect(path.status == .satisfied && path.reason == nil && path.interfaces == [cable])
    }

    @Test func `the path of a flow that is not viable is not satisfied`() {
        let wireless = PathInterface(name: "wlan0", index: 3, type: .wifi)
        let whole = Path(status: .satisfied, reason: nil, interfaces: [wireless, cable])
        let path = FlowRoute(interface: cable, isViable: false).path(from: whole)
        #expect(path.status == .unsatisfied && path.reason == .noDefaultRoute)
        #expect(path.interfaces == [cable, wireless], "its own interface comes first")
        #expect(FlowRoute(interface: nil, isViable: false).path(from: whole).reason == .noSourceAddress)
    }

    // MARK: - Limits

    private func filter(_ change: (NWParameters) -> Void) -> InterfaceFilter {
        let parameters = NWParameters.tcp
        change(parameters)
        return InterfaceFilter(parameters.values)
    }

    private func interface(_ name: String, _ index: Int) -> NWInterface {
        NWInterface(name: name, index: index, type: .wiredEthernet)
    }

    /// The answer in words.
    private func device(
        _ machine: Machine,
        _ filter: InterfaceFilter,
        _ costs: FlowRouteEvaluator.Costs = .init()
    ) -> String {
        guard let choice = machine.judge.device(to: remote, filter, sparing: costs) else { return "none" }
        return choice ?? "any"
    }

    @Test func `the kernel chooses when its choice is allowed`() {
        #expect(device(machine(by: 2), filter { $0.prohibitedInterfaceTypes = [.wifi] }) == "any")
        #expect(device(machine(by: 2), filter { $0.requiredInterfaceType = .wiredEthernet }) == "any")
        #expect(
            device(machine(by: 1), filter { $0.requiredInterfaceType = .wifi }) == "any",
            "it is the machine itself"
        )
    }

    @Test func `a required interface is bound to, where it is`() {
        #expect(device(machine(), filter { $0.requiredInterface = interface("wlan0", 3) }) == "wlan0")
        #expect(device(machine(), filter { $0.requiredInterface = interface("gone", 9) }) == "none")
    }

    @Test func `without an interface that is allowed there is none`() {
        let two = [interface("eth0", 2), interface("wlan0", 3)]
        #expect(device(machine(), filter { $0.prohibitedInterfaces = two }) == "none")
        #expect(device(machine(), filter { $0.prohibitedInterfaceTypes = [.wiredEthernet] }) == "none")
        #expect(device(machine(), filter { $0.requiredInterfaceType = .cellular }) == "none")
    }

    @Test func `costs are spared`() {
        let costs = FlowRouteEvaluator.Costs(expensive: [2])
        #expect(device(machine(by: 2), filter { _ in }, costs) == "none")
        #expect(device(machine(by: 3), filter { _ in }, costs) == "any")
        #expect(device(machine(by: 3), filter { _ in }, FlowRouteEvaluator.Costs(constrained: [3])) == "none")
    }

    @Test(
        arguments: [
            ("127.0.0.5", true), ("192.0.2.77", true), ("198.51.100.1", true), ("203.0.113.1", false),
            ("fe80::99", true), ("2001:db8::1", false), ("169.254.1.1", true),
        ]
    )
    func `hosts are on a link or not`(host: String, isOnLink: Bool) {
        #expect(Machine().judge.isOnLink(end(host)) == isOnLink)
    }
}
