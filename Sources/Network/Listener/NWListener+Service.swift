// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension NWListener {
    /// What became of a listener.
    public enum State: Hashable, Sendable {
        /// It was not started.
        case setup
        /// It cannot listen at this time.
        case waiting(NWError)
        /// It listens.
        case ready
        /// It cannot listen, and will not: the port may be in use.
        case failed(NWError)
        /// It was cancelled.
        case cancelled
    }

    /// A service to be advertised on the links.
    public struct Service: Hashable, Sendable {
        /// The name; `nil` is that of the machine.
        public let name: String?
        /// The type, such as `_http._tcp`; subtypes follow behind commas.
        public let type: String
        /// The domain; `nil` is `local`, which is the only one.
        public let domain: String?
        /// The data of the TXT record.
        public var txtRecord: Data?
        /// Whether the listener fails when the name is in use, rather than to choose another one.
        public var noAutoRename = false

        /// Describes a service.
        public init(name: String? = nil, type: String, domain: String? = nil, txtRecord: Data? = nil) {
            self.name = name
            self.type = type
            self.domain = domain
            self.txtRecord = txtRecord
        }

        /// Describes a service with what it says about itself.
        public init(name: String? = nil, type: String, domain: String? = nil, txtRecord: NWTXTRecord) {
            self.init(name: name, type: type, domain: domain, txtRecord: txtRecord.data)
        }

        /// What the service says about itself.
        public var txtRecordObject: NWTXTRecord? {
            get { txtRecord.map { NWTXTRecord($0) } }
            set { txtRecord = newValue?.data }
        }
    }

    /// What became of the service.
    public enum ServiceRegistrationChange: Hashable, Sendable {
        /// It is advertised; the endpoint has the name that was free.
        case add(NWEndpoint)
        /// It is advertised no more.
        case remove(NWEndpoint)
    }
}
