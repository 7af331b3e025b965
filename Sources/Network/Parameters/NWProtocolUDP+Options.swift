// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension NWProtocolUDP {
    /// How UDP behaves.
    public final class Options: NWProtocolOptions {
        struct Values: Hashable, Sendable {
            var preferNoChecksum: Bool = false
        }

        private let storage: Locked<Values>

        private init(_ values: Values) { storage = Locked(values) }

        /// The system's defaults.
        public convenience init() { self.init(Values()) }

        /// A copy of all values.
        var values: Values { storage.value }

        /// The name of the protocol.
        public var name: String { "udp" }

        /// Options of their own with the same values.
        public func copy() -> Options { Options(values) }

        /// Whether IPv4 datagrams go without a checksum (`SO_NO_CHECK`).
        public var preferNoChecksum: Bool {
            get { storage[\.preferNoChecksum] }
            set { storage[\.preferNoChecksum] = newValue }
        }
    }
}
