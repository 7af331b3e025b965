// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// All links and addresses, as one reading found them.
public struct KernelReading: Sendable {
    public let links: [Link]
    public let addresses: [InterfaceAddress]
    /// `false` when they changed while they were read: read them again later.
    public let isConsistent: Bool

    /// Reads them; the kernel answers when nobody adds or removes interfaces, which may be seconds away.
    public init(of source: some KernelSource) throws(NetlinkError) {
        let links = try source.links()
        let addresses = try source.addresses()
        self.links = links.values
        self.addresses = addresses.values
        isConsistent = links.isConsistent && addresses.isConsistent
    }
}
