// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims

extension NWEndpoint {
    /// A port of TCP or UDP.
    public struct Port: Hashable, Sendable, RawRepresentable {
        /// The number.
        public let rawValue: UInt16

        init(_ number: UInt16) { rawValue = number }

        /// Makes a port of a number; every number is one.
        public init?(rawValue: UInt16) { self.rawValue = rawValue }

        /// Reads a number, or the name of a service such as `http`.
        ///
        /// Names are those of services(5); the ones this type has constants for are known without that file.
        /// - Returns: `nil` when it is neither.
        public init?(_ service: String) {
            if service.utf8.allSatisfy({ (48...57).contains($0) }) {
                guard let number = UInt16(service) else { return nil }
                rawValue = number
            } else if let known = Self.names[service] {
                self = known
            } else {
                let found = unsafe nwp_service_port(service)
                guard let number = UInt16(exactly: found) else { return nil }
                rawValue = number
            }
        }

        /// Any port: the kernel chooses one.
        public static let any = Port(0)
        /// Secure Shell, 22.
        public static let ssh = Port(22)
        /// Simple Mail Transfer Protocol, 25.
        public static let smtp = Port(25)
        /// HTTP, 80.
        public static let http = Port(80)
        /// Post Office Protocol, 110.
        public static let pop = Port(110)
        /// Internet Message Access Protocol, 143.
        public static let imap = Port(143)
        /// HTTP over TLS, 443.
        public static let https = Port(443)
        /// Internet Message Access Protocol over TLS, 993.
        public static let imaps = Port(993)
        /// SOCKS, 1080.
        public static let socks = Port(1080)

        private static let names: [String: Port] = [
            "ssh": .ssh, "smtp": .smtp, "http": .http, "pop3": .pop, "imap": .imap, "https": .https, "imaps": .imaps,
            "socks": .socks,
        ]
    }
}

extension NWEndpoint.Port: ExpressibleByIntegerLiteral {
    /// Makes a port of a number.
    public init(integerLiteral value: UInt16) { self.init(value) }
}

extension NWEndpoint.Port: CustomDebugStringConvertible {
    /// The number.
    public var debugDescription: String { String(rawValue) }
}
