// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// How connections, listeners and browsers use the network.
///
/// An object that was started keeps what it was given: later changes of the parameters do not concern it.
public final class NWParameters: Sendable {
    /// What kind of traffic it is, which sets the priority of packets (`SO_PRIORITY`, and DSCP of RFC 8622 and 4594).
    public enum ServiceClass: Hashable, Sendable, CaseIterable {
        /// Ordinary.
        case bestEffort
        /// Nobody waits for it.
        case background
        /// Video that people see each other by.
        case interactiveVideo
        /// Conversational voice.
        case interactiveVoice
        /// People wait for it.
        case responsiveData
        /// Control of calls.
        case signaling
    }

    /// Whether several paths are used at once; Linux ignores it.
    public enum MultipathServiceType: Hashable, Sendable, CaseIterable {
        /// One path.
        case disabled
        /// Another path when the first one fails.
        case handover
        /// The faster of them.
        case interactive
        /// Both.
        case aggregate
    }

    /// Whether answers of DNS are used that have expired; Linux leaves it to the resolver, which decides.
    public enum ExpiredDNSBehavior: Hashable, Sendable, CaseIterable {
        /// As the system has it.
        case systemDefault
        /// They are.
        case allow
        /// They are not.
        case prohibit
        /// They are, and kept.
        case persistent
    }

    /// Who wants the traffic; Linux ignores it.
    public enum Attribution: Hashable, Sendable, CaseIterable {
        /// The program.
        case developer
        /// The person in front of it.
        case user
    }

    /// Everything that can be set, as one value.
    struct Values: Sendable {
        var requiredInterface: NWInterface?
        var requiredInterfaceType: NWInterface.InterfaceType = .other
        var prohibitedInterfaces: [NWInterface]?
        var prohibitedInterfaceTypes: [NWInterface.InterfaceType]?
        var prohibitExpensivePaths = false
        var prohibitConstrainedPaths = false
        var allowUltraConstrainedPaths = false
        var requiredLocalEndpoint: NWEndpoint?
        var allowLocalEndpointReuse = false
        var acceptLocalOnly = false
        var includePeerToPeer = false
        var preferNoProxies = false
        var serviceClass = ServiceClass.bestEffort
        var multipathServiceType = MultipathServiceType.disabled
        var allowFastOpen = false
        var expiredDNSBehavior = ExpiredDNSBehavior.systemDefault
        var requiresDNSSECValidation = false
        var attribution = Attribution.developer
    }

    fileprivate let storage: Locked<Values>
    /// The protocols, from that of the program to that of the Internet.
    public let defaultProtocolStack: ProtocolStack

    private init(_ values: Values, _ stack: ProtocolStack) {
        storage = Locked(values)
        defaultProtocolStack = stack
    }

    /// Without a transport: for browsers, and for stacks of one's own.
    public convenience init() { self.init(Values(), ProtocolStack(transport: nil)) }

    /// TCP.
    public static var tcp: NWParameters { NWParameters(Values(), ProtocolStack(transport: NWProtocolTCP.Options())) }
    /// UDP.
    public static var udp: NWParameters { NWParameters(Values(), ProtocolStack(transport: NWProtocolUDP.Options())) }

    /// TCP, with TLS upon it unless there are no options for that.
    public convenience init(tls: NWProtocolTLS.Options?, tcp: NWProtocolTCP.Options = NWProtocolTCP.Options()) {
        let stack = ProtocolStack(transport: tcp)
        if let tls { stack.applicationProtocols = [tls] }
        self.init(Values(), stack)
    }

    /// TLS upon TCP.
    public static var tls: NWParameters { NWParameters(tls: NWProtocolTLS.Options()) }

    /// UDP, with DTLS upon it unless there are no options for that.
    ///
    /// Each message is a datagram of its own, of 16384 bytes at most and never empty. DTLS is version 1.2 (RFC 6347).
    public convenience init(dtls: NWProtocolTLS.Options?, udp: NWProtocolUDP.Options = NWProtocolUDP.Options()) {
        let stack = ProtocolStack(transport: udp)
        if let dtls { stack.applicationProtocols = [dtls] }
        self.init(Values(), stack)
    }

    /// DTLS upon UDP.
    public static var dtls: NWParameters { NWParameters(dtls: NWProtocolTLS.Options()) }

    /// Parameters of their own with the same values.
    public func copy() -> NWParameters { NWParameters(values, defaultProtocolStack.copy()) }

    /// A copy of all values.
    var values: Values { storage.value }
}

// MARK: - Paths

extension NWParameters {
    /// The one interface that may be used; `nil` is any.
    public var requiredInterface: NWInterface? {
        get { storage[\.requiredInterface] }
        set { storage[\.requiredInterface] = newValue }
    }

    /// The one type of interface that may be used; `.other` is any.
    public var requiredInterfaceType: NWInterface.InterfaceType {
        get { storage[\.requiredInterfaceType] }
        set { storage[\.requiredInterfaceType] = newValue }
    }

    /// Interfaces that may not be used.
    public var prohibitedInterfaces: [NWInterface]? {
        get { storage[\.prohibitedInterfaces] }
        set { storage[\.prohibitedInterfaces] = newValue }
    }

    /// Types of interfaces that may not be used.
    public var prohibitedInterfaceTypes: [NWInterface.InterfaceType]? {
        get { storage[\.prohibitedInterfaceTypes] }
        set { storage[\.prohibitedInterfaceTypes] = newValue }
    }

    /// Whether paths that cost money may not be used.
    public var prohibitExpensivePaths: Bool {
        get { storage[\.prohibitExpensivePaths] }
        set { storage[\.prohibitExpensivePaths] = newValue }
    }

    /// Whether paths may not be used on which traffic is to be spared.
    public var prohibitConstrainedPaths: Bool {
        get { storage[\.prohibitConstrainedPaths] }
        set { storage[\.prohibitConstrainedPaths] = newValue }
    }

    /// Whether paths may be used on which next to nothing is to be sent.
    public var allowUltraConstrainedPaths: Bool {
        get { storage[\.allowUltraConstrainedPaths] }
        set { storage[\.allowUltraConstrainedPaths] = newValue }
    }

    /// Whether Apple's wireless links between devices are used as well; Linux has none, and ignores it.
    public var includePeerToPeer: Bool {
        get { storage[\.includePeerToPeer] }
        set { storage[\.includePeerToPeer] = newValue }
    }
}

// MARK: - Endpoints

extension NWParameters {
    /// The address and port to come from, or to listen on.
    public var requiredLocalEndpoint: NWEndpoint? {
        get { storage[\.requiredLocalEndpoint] }
        set { storage[\.requiredLocalEndpoint] = newValue }
    }

    /// Whether others may have the same address and port (`SO_REUSEADDR`, `SO_REUSEPORT`).
    public var allowLocalEndpointReuse: Bool {
        get { storage[\.allowLocalEndpointReuse] }
        set { storage[\.allowLocalEndpointReuse] = newValue }
    }

    /// Whether a listener accepts connections of hosts on its links only.
    public var acceptLocalOnly: Bool {
        get { storage[\.acceptLocalOnly] }
        set { storage[\.acceptLocalOnly] = newValue }
    }
}

// MARK: - Traffic

extension NWParameters {
    /// Whether proxies are avoided; Linux has none system-wide, and ignores it.
    public var preferNoProxies: Bool {
        get { storage[\.preferNoProxies] }
        set { storage[\.preferNoProxies] = newValue }
    }

    /// What kind of traffic it is.
    public var serviceClass: ServiceClass {
        get { storage[\.serviceClass] }
        set { storage[\.serviceClass] = newValue }
    }

    /// Whether several paths are used at once; Linux ignores it.
    public var multipathServiceType: MultipathServiceType {
        get { storage[\.multipathServiceType] }
        set { storage[\.multipathServiceType] = newValue }
    }

    /// Whether the first bytes may go with the first packet of TCP (`TCP_FASTOPEN_CONNECT`, RFC 7413).
    public var allowFastOpen: Bool {
        get { storage[\.allowFastOpen] }
        set { storage[\.allowFastOpen] = newValue }
    }

    /// Whether answers of DNS are used that have expired; Linux leaves it to the resolver, which decides.
    public var expiredDNSBehavior: ExpiredDNSBehavior {
        get { storage[\.expiredDNSBehavior] }
        set { storage[\.expiredDNSBehavior] = newValue }
    }

    /// Whether answers of DNS must be signed; Linux leaves it to the resolver, which decides.
    public var requiresDNSSECValidation: Bool {
        get { storage[\.requiresDNSSECValidation] }
        set { storage[\.requiresDNSSECValidation] = newValue }
    }

    /// Who wants the traffic; Linux ignores it.
    public var attribution: Attribution {
        get { storage[\.attribution] }
        set { storage[\.attribution] = newValue }
    }
}

extension NWParameters: CustomDebugStringConvertible {
    /// The protocols and the limits, such as `tcp, required eth0`.
    public var debugDescription: String {
        let values = values
        var words = [defaultProtocolStack.transportProtocol?.name ?? "no transport"]
        if let interface = values.requiredInterface { words.append("required \(interface.name)") }
        if values.requiredInterfaceType != .other { words.append("required \(values.requiredInterfaceType)") }
        words += (values.prohibitedInterfaces ?? []).map { "prohibited \($0.name)" }
        words += (values.prohibitedInterfaceTypes ?? []).map { "prohibited \($0)" }
        if let local = values.requiredLocalEndpoint { words.append("from \(local)") }
        return words.joined(separator: ", ")
    }
}
