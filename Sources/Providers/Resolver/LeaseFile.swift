// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Lease files of DHCP clients, read for Android's hint in option 43 (rule S37).
enum LeaseFile {
    /// How much of a file is read.
    static let sizeLimit = 262_144

    /// Whether a lease of systemd-networkd carries the hint; the file's name is the interface index.
    ///
    /// Source: `/run/systemd/netif/leases/<index>`, key `VENDOR_SPECIFIC`, in hexadecimal.
    static func isNetworkdLeaseMetered(_ text: String) -> Bool {
        text.split(separator: "\n").contains { line in
            line.hasPrefix("VENDOR_SPECIFIC=") && VendorOption.isAndroidMetered(line.dropFirst(16))
        }
    }

    /// The interfaces whose latest lease in a file of dhclient carries the hint.
    ///
    /// Source: dhclient.leases(5); later leases of an interface replace earlier ones.
    static func meteredInterfaces(inDhclientLeases text: String) -> Set<String> {
        var metered: Set<String> = []
        var interface: String?
        var isMetered = false
        for line in text.split(separator: "\n") {
            let line = line.drop { $0 == " " || $0 == "\t" }
            if line.hasPrefix("lease") && line.hasSuffix("{") {
                interface = nil
                isMetered = false
            } else if line.hasPrefix("interface ") {
                let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
                if parts.count == 3 { interface = String(parts[1]) }
            } else if line.hasPrefix("option vendor-encapsulated-options ") {
                let value = line.dropFirst(35).filter { $0 != ";" && $0 != "\"" }
                isMetered = VendorOption.isAndroidMetered(value)
            } else if line.hasPrefix("}"), let name = interface {
                if isMetered { metered.insert(name) } else { metered.remove(name) }
                interface = nil
            }
        }
        return metered
    }
}
