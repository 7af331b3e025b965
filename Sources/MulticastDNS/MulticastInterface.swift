// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

public struct MulticastInterface: Hashable, Sendable {
    public struct Address: Hashable, Sendable {
        public let address: IPAddress
        /// How many leading bits name the link.
        public let prefixLength: Int

        public init(_ address: IPAddress, prefixLength: Int) {
            self.address = address
            self.prefixLength = prefixLength
        }
    }

    /// The kernel's index, which is what identifies it.
    public let index: Int
    public let name: String
    /// Its other names, under which registrations may want it too.
    public let alternativeNames: [String]
    /// Its addresses; a family without any is left alone.
    public let addresses: [Address]
    /// The largest packet in bytes.
    public let mtu: Int
    /// How often its carrier has changed: a link that was down briefly is another one, though otherwise equal.
    public let carrierChanges: UInt32

    /// Describes an interface that is up and can multicast.
    public init(
        index: Int,
        name: String,
        alternativeNames: [String] = [],
        addresses: [Address],
        mtu: Int = 1500,
        carrierChanges: UInt32 = 0
    ) {
        self.index = index
        self.name = name
        self.alternativeNames = alternativeNames
        self.addresses = addresses
        self.mtu = mtu
        self.carrierChanges = carrierChanges
    }

    /// Whether a packet from this address comes from this link: it is link-local, or in a prefix of ours (rule Q16).
    func isOnLink(_ source: IPAddress) -> Bool {
        source.isLinkLocal || addresses.contains { Self.matches($0.address, source, bits: $0.prefixLength) }
    }

    private static func matches(_ left: IPAddress, _ right: IPAddress, bits: Int) -> Bool {
        switch (left, right) {
        case (.v4(let left), .v4(let right)): (left ^ right) >> max(32 - bits, 0) == 0
        case (.v6(let left), .v6(let right)): (left ^ right) >> max(128 - bits, 0) == 0
        default: false
        }
    }

    func addresses(of family: AddressFamily) -> Set<Address> {
        Set(addresses.filter { $0.address.family == family })
    }
}
