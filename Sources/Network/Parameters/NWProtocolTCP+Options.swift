// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension NWProtocolTCP {
    /// How TCP behaves; what Linux has no setting for is accepted and ignored, and says so.
    public final class Options: NWProtocolOptions {
        struct Values: Hashable, Sendable {
            var noDelay: Bool = false
            var noPush: Bool = false
            var noOptions: Bool = false
            var enableKeepalive: Bool = false
            var keepaliveCount: Int = 0
            var keepaliveIdle: Int = 0
            var keepaliveInterval: Int = 0
            var maximumSegmentSize: Int = 0
            var connectionTimeout: Int = 0
            var persistTimeout: Int = 0
            var connectionDropTime: Int = 0
            var retransmitFinDrop: Bool = false
            var disableAckStretching: Bool = false
            var enableFastOpen: Bool = false
            var disableECN: Bool = false
        }

        private let storage: Locked<Values>

        private init(_ values: Values) { storage = Locked(values) }

        /// The system's defaults.
        public convenience init() { self.init(Values()) }

        /// A copy of all values.
        var values: Values { storage.value }

        /// The name of the protocol.
        public var name: String { "tcp" }

        /// Options of their own with the same values.
        public func copy() -> Options { Options(values) }

        /// Whether small segments are sent at once (`TCP_NODELAY`).
        public var noDelay: Bool {
            get { storage[\.noDelay] }
            set { storage[\.noDelay] = newValue }
        }

        /// Whether only full segments are sent (`TCP_CORK`).
        public var noPush: Bool {
            get { storage[\.noPush] }
            set { storage[\.noPush] = newValue }
        }

        /// Whether TCP options are left out; ignored.
        public var noOptions: Bool {
            get { storage[\.noOptions] }
            set { storage[\.noOptions] = newValue }
        }

        /// Whether an idle connection is probed (`SO_KEEPALIVE`).
        public var enableKeepalive: Bool {
            get { storage[\.enableKeepalive] }
            set { storage[\.enableKeepalive] = newValue }
        }

        /// How many probes may stay without an answer (`TCP_KEEPCNT`); 0 is the system's.
        public var keepaliveCount: Int {
            get { storage[\.keepaliveCount] }
            set { storage[\.keepaliveCount] = newValue }
        }

        /// After how many seconds the first probe is sent (`TCP_KEEPIDLE`); 0 is the system's.
        public var keepaliveIdle: Int {
            get { storage[\.keepaliveIdle] }
            set { storage[\.keepaliveIdle] = newValue }
        }

        /// How many seconds lie between probes (`TCP_KEEPINTVL`); 0 is the system's.
        public var keepaliveInterval: Int {
            get { storage[\.keepaliveInterval] }
            set { storage[\.keepaliveInterval] = newValue }
        }

        /// The largest segment in bytes (`TCP_MAXSEG`); 0 is the system's.
        public var maximumSegmentSize: Int {
            get { storage[\.maximumSegmentSize] }
            set { storage[\.maximumSegmentSize] = newValue }
        }

        /// After how many seconds an attempt to connect, or the search for an address, is given up; 0 is the system's.
        public var connectionTimeout: Int {
            get { storage[\.connectionTimeout] }
            set { storage[\.connectionTimeout] = newValue }
        }

        /// How many seconds a closed window is probed; ignored, ``connectionDropTime`` covers it.
        public var persistTimeout: Int {
            get { storage[\.persistTimeout] }
            set { storage[\.persistTimeout] = newValue }
        }

        /// After how many seconds without an acknowledgement a connection is dropped (`TCP_USER_TIMEOUT`); 0 never.
        public var connectionDropTime: Int {
            get { storage[\.connectionDropTime] }
            set { storage[\.connectionDropTime] = newValue }
        }

        /// Whether a connection is dropped whose FIN nobody acknowledges; ignored.
        public var retransmitFinDrop: Bool {
            get { storage[\.retransmitFinDrop] }
            set { storage[\.retransmitFinDrop] = newValue }
        }

        /// Whether every segment is acknowledged at once (`TCP_QUICKACK`).
        public var disableAckStretching: Bool {
            get { storage[\.disableAckStretching] }
            set { storage[\.disableAckStretching] = newValue }
        }

        /// Whether the first bytes may go with the first packet (`TCP_FASTOPEN_CONNECT`).
        public var enableFastOpen: Bool {
            get { storage[\.enableFastOpen] }
            set { storage[\.enableFastOpen] = newValue }
        }

        /// Whether congestion is not signalled; ignored, Linux has no setting for one socket.
        public var disableECN: Bool {
            get { storage[\.disableECN] }
            set { storage[\.disableECN] = newValue }
        }
    }
}
