// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension NWBrowser {
    /// What to browse for.
    public enum Descriptor: Hashable, Sendable {
        /// Services of a type such as `_http._tcp`, or of a subtype as in `_http._tcp,_printer`.
        ///
        /// Without a domain, and with `local`, the link is queried.
        case bonjour(type: String, domain: String?)
        /// The same, with what each service says about itself.
        case bonjourWithTXTRecord(type: String, domain: String?)
        /// Services of applications on paired devices, which Linux does not have: such a browser fails.
        case applicationService(name: String)
    }

    /// What became of a browser.
    public enum State: Hashable, Sendable {
        /// It was not started.
        case setup
        /// It is browsing.
        case ready
        /// It cannot browse, and will not retry.
        case failed(NWError)
        /// It was cancelled.
        case cancelled
        /// It cannot browse at this time.
        case waiting(NWError)
    }

    /// A service that was found, on all interfaces where it is.
    public struct Result: Hashable, Sendable {
        /// What is known about a service besides its name.
        public enum Metadata: Hashable, Sendable {
            /// Nothing, because it was not requested.
            case none
            /// What the service says about itself.
            case bonjour(NWTXTRecord)
        }

        /// What to connect to: a service.
        public let endpoint: NWEndpoint
        /// The interfaces on which it is, by index.
        public let interfaces: [NWInterface]
        /// What is known besides.
        public let metadata: Metadata
    }
}

extension NWBrowser.Result {
    /// What became of a result.
    public enum Change: Hashable, Sendable {
        /// What differs in a result.
        public struct Flags: OptionSet, Hashable, Sendable {
            /// The bits.
            public let rawValue: UInt8
            /// Makes a set from its bits.
            public init(rawValue: UInt8) { self.rawValue = rawValue }
            /// Nothing differs.
            public static let identical = Flags(rawValue: 0x01)
            /// It is on an interface more.
            public static let interfaceAdded = Flags(rawValue: 0x02)
            /// It is on an interface less.
            public static let interfaceRemoved = Flags(rawValue: 0x04)
            /// It says something else about itself.
            public static let metadataChanged = Flags(rawValue: 0x08)
        }

        /// Nothing differs.
        case identical
        /// It came.
        case added(NWBrowser.Result)
        /// It went.
        case removed(NWBrowser.Result)
        /// It differs.
        case changed(old: NWBrowser.Result, new: NWBrowser.Result, flags: Flags)

        /// Compares two results of one service; `nil` is that it is not there.
        public init(between old: NWBrowser.Result?, _ new: NWBrowser.Result?) {
            switch (old, new) {
            case (nil, nil): self = .identical
            case (nil, let new?): self = .added(new)
            case (let old?, nil): self = .removed(old)
            case (let old?, let new?):
                var flags: Flags = []
                if !Set(new.interfaces).isSubset(of: old.interfaces) { flags.insert(.interfaceAdded) }
                if !Set(old.interfaces).isSubset(of: new.interfaces) { flags.insert(.interfaceRemoved) }
                if old.metadata != new.metadata { flags.insert(.metadataChanged) }
                self = flags.isEmpty ? .identical : .changed(old: old, new: new, flags: flags)
            }
        }
    }
}
