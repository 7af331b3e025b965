// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import LinuxIO

/// Finds the addresses to which packets of this process do not leave this machine.
public enum LocalDestinations {
    /// Finds those that the forwarding table delivers locally (`RTN_LOCAL`), rules included; nothing is sent.
    ///
    /// - Parameters:
    ///   - addresses: Addresses of this and other machines.
    ///   - transport: What the packets are, for rules that match protocol or port.
    /// - Returns: Those of this machine; none where the kernel cannot be queried.
    public static func among(_ addresses: Set<IPAddress>, as transport: Transport) -> Set<IPAddress> {
        guard !addresses.isEmpty, let kernel = try? LiveKernel() else { return [] }
        let bound = SocketBinding.inherited().flatMap(InterfaceLookup.index)
        return addresses.filter { address in
            // Which interface a link-local address belongs to is not known here.
            guard address.family == .ipv4 || !address.isLinkLocal else { return false }
            let query = RouteQuery(address, kind: .decision, outputInterface: bound, transport: transport)
            guard case .success(let answer) = kernel.lookup(query) else { return false }
            return answer.type == .local
        }
    }

    /// Finds the IPv6 link-local addresses that some interface of this machine has; where packets to one go depends on the
    /// interface, which is not known here.
    public static func linkLocal(among addresses: Set<IPAddress>) -> Set<IPAddress> {
        let wanted = addresses.filter { $0.family == .ipv6 && $0.isLinkLocal }
        guard !wanted.isEmpty, let dump = try? LiveKernel().addresses() else { return [] }
        return wanted.intersection(dump.values.map(\.address))
    }

    /// The indexes of the interfaces that packets to an address of this machine count as arriving by.
    static func interfaces(of address: IPAddress) -> Set<Int> {
        let bound = SocketBinding.inherited().flatMap(InterfaceLookup.index)
        let query = RouteQuery(address, kind: .entry, outputInterface: bound)
        guard let answer = try? LiveKernel().lookup(query).get(), answer.type == .local else { return [] }
        return Set([answer.onlyInterface, bound].compactMap(\.self))
    }
}
