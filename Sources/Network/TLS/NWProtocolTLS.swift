// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Transport Layer Security, by OpenSSL: TLS upon TCP, and DTLS upon UDP.
public enum NWProtocolTLS {
    /// Identifies metadata of TLS.
    public static let definition = NWProtocolDefinition("tls")

    /// How TLS behaves: TLS 1.2 and 1.3 or DTLS 1.2, and a peer whose certificate leads to an authority of the system.
    public final class Options: NWProtocolOptions {
        /// What functions that begin with `sec_protocol_options_` change.
        public let securityProtocolOptions: sec_protocol_options_t

        private init(_ options: sec_protocol_options_t) { securityProtocolOptions = options }

        /// The defaults.
        public convenience init() { self.init(sec_protocol_options_t()) }

        /// The name of the protocol.
        public var name: String { "tls" }

        /// Options of their own with the same values.
        public func copy() -> Options { Options(sec_protocol_options_t(securityProtocolOptions.values)) }
    }

    /// What both ends of a connection agreed upon.
    public final class Metadata: NWProtocolMetadata {
        /// What functions that begin with `sec_protocol_metadata_` return.
        public let securityProtocolMetadata: sec_protocol_metadata_t

        init(_ metadata: sec_protocol_metadata_t) { securityProtocolMetadata = metadata }

        /// The protocol.
        public var definition: NWProtocolDefinition { NWProtocolTLS.definition }
    }
}
