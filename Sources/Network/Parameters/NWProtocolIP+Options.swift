// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension NWProtocolIP {
    /// How the Internet Protocol behaves.
    public final class Options: NWProtocolOptions {
        /// A version of the Internet Protocol.
        public enum Version: Hashable, Sendable, CaseIterable {
            /// Both.
            case any
            /// Version 4.
            case v4
            /// Version 6.
            case v6
        }

        /// A kind of IPv6 address.
        public enum AddressPreference: Hashable, Sendable, CaseIterable {
            /// As the system has it.
            case `default`
            /// One that changes, for privacy (RFC 8981).
            case temporary
            /// One that stays.
            case stable
        }

        struct Values: Hashable, Sendable {
            var version = Version.any
            var hopLimit: UInt8 = 0
            var useMinimumMTU: Bool = false
            var disableFragmentation: Bool = false
            var shouldCalculateReceiveTime: Bool = false
            var localAddressPreference = AddressPreference.default
            var disableMulticastLoopback: Bool = false
        }

        private let storage: Locked<Values>

        private init(_ values: Values) { storage = Locked(values) }

        /// The system's defaults.
        public convenience init() { self.init(Values()) }

        /// A copy of all values.
        var values: Values { storage.value }

        /// The name of the protocol.
        public var name: String { "ip" }

        /// Options of their own with the same values.
        public func copy() -> Options { Options(values) }

        /// Which versions may be used.
        public var version: Version {
            get { storage[\.version] }
            set { storage[\.version] = newValue }
        }

        /// Over how many routers packets may go (`IP_TTL`, `IPV6_UNICAST_HOPS`); 0 is the system's.
        public var hopLimit: UInt8 {
            get { storage[\.hopLimit] }
            set { storage[\.hopLimit] = newValue }
        }

        /// Whether IPv6 packets have 1280 bytes at most.
        public var useMinimumMTU: Bool {
            get { storage[\.useMinimumMTU] }
            set { storage[\.useMinimumMTU] = newValue }
        }

        /// Whether packets are never split (`IP_MTU_DISCOVER`).
        public var disableFragmentation: Bool {
            get { storage[\.disableFragmentation] }
            set { storage[\.disableFragmentation] = newValue }
        }

        /// Whether the receive time is reported with a message (`SO_TIMESTAMPNS`).
        public var shouldCalculateReceiveTime: Bool {
            get { storage[\.shouldCalculateReceiveTime] }
            set { storage[\.shouldCalculateReceiveTime] = newValue }
        }

        /// Which of several IPv6 addresses packets come from.
        public var localAddressPreference: AddressPreference {
            get { storage[\.localAddressPreference] }
            set { storage[\.localAddressPreference] = newValue }
        }

        /// Whether multicast is not looped back (`IP_MULTICAST_LOOP`).
        public var disableMulticastLoopback: Bool {
            get { storage[\.disableMulticastLoopback] }
            set { storage[\.disableMulticastLoopback] = newValue }
        }
    }
}
