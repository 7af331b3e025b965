// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims
internal import Glibc
internal import Synchronization

/// What a protocol is called, so that its metadata can be requested.
public final class NWProtocolDefinition: Sendable {
    /// The name, such as `tcp`.
    public let name: String

    init(_ name: String) { self.name = name }
}

extension NWProtocolDefinition: Hashable {
    /// Whether both stand for the same protocol.
    public static func == (left: NWProtocolDefinition, right: NWProtocolDefinition) -> Bool { left === right }
    /// As `==` sees it.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension NWProtocolDefinition: CustomDebugStringConvertible {
    /// The name.
    public var debugDescription: String { name }
}

/// What a protocol knows of a connection, or says about a message.
///
/// On Apple's systems this is a class; only the library has types of it on either system.
public protocol NWProtocolMetadata: AnyObject, Sendable {
    /// The protocol.
    var definition: NWProtocolDefinition { get }
}

extension NWProtocolTCP {
    /// Identifies metadata of TCP.
    public static let definition = NWProtocolDefinition("tcp")

    /// What TCP knows of a connection.
    public final class Metadata: NWProtocolMetadata {
        private let socket: SharedDescriptor

        init(_ socket: SharedDescriptor) { self.socket = socket }

        /// The protocol.
        public var definition: NWProtocolDefinition { NWProtocolTCP.definition }
        /// How many bytes have come that were not read (`SIOCINQ`); 0 once the connection is closed.
        public var availableReceiveBuffer: UInt32 { queued(0) }
        /// How many bytes were sent that the peer has not acknowledged (`SIOCOUTQ`); 0 once the connection is closed.
        public var availableSendBuffer: UInt32 { queued(1) }

        private func queued(_ direction: Int32) -> UInt32 {
            UInt32(max(0, socket.withNumber { nwp_flow_queued($0, direction) } ?? 0))
        }
    }
}

extension NWProtocolUDP {
    /// Identifies metadata of UDP.
    public static let definition = NWProtocolDefinition("udp")

    /// Says that a message is a datagram.
    public final class Metadata: NWProtocolMetadata {
        /// Metadata that says nothing.
        public init() {}

        /// The protocol.
        public var definition: NWProtocolDefinition { NWProtocolUDP.definition }
    }
}

extension NWProtocolIP {
    /// Identifies metadata of IP.
    public static let definition = NWProtocolDefinition("ip")

    /// What the Internet Protocol says about a datagram that came.
    public final class Metadata: NWProtocolMetadata {
        /// The two bits of Explicit Congestion Notification (RFC 3168); `nonECT` when the kernel did not say.
        public let ecn: ECN
        /// The kind of traffic, by the DSCP of the datagram.
        public let serviceClass: NWParameters.ServiceClass
        /// When it came, in nanoseconds since 1970; 0 unless ``NWProtocolIP/Options/shouldCalculateReceiveTime`` is set.
        public let receiveTime: UInt64

        /// Metadata of a datagram of the best effort.
        public convenience init() { self.init(trafficClass: 0, receiveTime: 0) }

        init(trafficClass: Int32, receiveTime: UInt64) {
            let value = UInt8(truncatingIfNeeded: max(0, trafficClass))
            ecn = [.nonECT, .ect1, .ect0, .ce][Int(value & 3)]
            serviceClass = NWParameters.ServiceClass(codePoint: value >> 2)
            self.receiveTime = receiveTime
        }

        /// The protocol.
        public var definition: NWProtocolDefinition { NWProtocolIP.definition }
    }

    /// The code points of Explicit Congestion Notification.
    public enum ECN: Hashable, Sendable, CaseIterable {
        /// Not capable of it.
        case nonECT
        /// Capable, code point 0.
        case ect0
        /// Capable, code point 1.
        case ect1
        /// Congestion experienced.
        case ce
    }
}

extension NWParameters.ServiceClass {
    /// The DSCP of this kind of traffic (RFC 4594, RFC 8622).
    var codePoint: UInt8 {
        switch self {
        case .bestEffort: 0
        case .background: 1
        case .interactiveVideo: 34
        case .interactiveVoice: 46
        case .responsiveData: 18
        case .signaling: 40
        }
    }

    /// The kind of traffic of a DSCP; one that has no kind is the best effort.
    init(codePoint: UInt8) { self = Self.allCases.first { $0.codePoint == codePoint } ?? .bestEffort }
}

/// The number of a descriptor that one object owns and others use, also after it was closed.
final class SharedDescriptor: Sendable {
    private let number: Mutex<Int32?>

    /// Assumes ownership.
    init(owning number: Int32) { self.number = Mutex(number) }

    deinit { close() }

    /// Calls `body` while the descriptor is kept open.
    /// - Returns: `nil` when it was closed.
    func withNumber(_ body: @Sendable (Int32) -> Int32) -> Int32? {
        number.withLock { $0.map(body) }
    }

    /// The number; only its owner knows how long that is valid.
    var current: Int32? { number.withLock { $0 } }

    /// Gives it away.
    /// - Returns: `nil` when that was done before, or it was closed.
    func release() -> Int32? {
        number.withLock { number in
            defer { number = nil }
            return number
        }
    }

    /// Closes it; nobody sees the number any more.
    func close() {
        number.withLock { number in
            if let open = number { _ = Glibc.close(open) }
            number = nil
        }
    }
}
