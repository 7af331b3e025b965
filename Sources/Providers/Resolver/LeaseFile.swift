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
        // How many braces are open, and whether the outermost is that of a lease of IPv4.
        var depth = 0
        var isLease = false
        for line in text.split(separator: "\n") {
            let line = line.drop { $0 == " " || $0 == "\t" }
            if line.hasSuffix("{") {
                if depth == 0 {
                    isLease = line.hasPrefix("lease ")
                    interface = nil
                    isMetered = false
                }
                depth += 1
            } else if line.hasPrefix("}") {
                depth = max(depth - 1, 0)
                guard depth == 0, isLease, let name = interface else { continue }
                if isMetered { metered.insert(name) } else { metered.remove(name) }
                interface = nil
            } else if isLease, depth == 1, line.hasPrefix("interface ") {
                let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
                if parts.count == 3 { interface = String(parts[1]) }
            } else if isLease, depth == 1, line.hasPrefix("option vendor-encapsulated-options ") {
                let value = line.dropFirst(35).filter { $0 != ";" && $0 != "\"" }
                isMetered = VendorOption.isAndroidMetered(value)
            }
        }
        return metered
    }
}
