// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Synchronization

extension NWParameters {
    /// The protocols of a connection, one upon the other.
    public final class ProtocolStack: Sendable {
        private struct Layers: Sendable {
            var application: [any NWProtocolOptions] = []
            var transport: (any NWProtocolOptions)?
            var internet: any NWProtocolOptions = NWProtocolIP.Options()
        }

        private let layers: Mutex<Layers>

        init(transport: (any NWProtocolOptions)?) { layers = Mutex(Layers(transport: transport)) }

        /// The protocols above the transport, the one nearest to the program first.
        public var applicationProtocols: [any NWProtocolOptions] {
            get { layers.withLock { $0.application } }
            set { layers.withLock { $0.application = newValue } }
        }

        /// TCP or UDP; `nil` where there is none.
        public var transportProtocol: (any NWProtocolOptions)? {
            get { layers.withLock { $0.transport } }
            set { layers.withLock { $0.transport = newValue } }
        }

        /// The Internet Protocol; its options can be changed, and it cannot be removed.
        public var internetProtocol: (any NWProtocolOptions)? {
            get { layers.withLock { $0.internet } }
            set { if let newValue { layers.withLock { $0.internet = newValue } } }
        }

        func copy() -> ProtocolStack {
            let now = layers.withLock { $0 }
            let stack = ProtocolStack(transport: now.transport?.copy())
            stack.applicationProtocols = now.application.map { $0.copy() }
            stack.internetProtocol = now.internet.copy()
            return stack
        }
    }
}
