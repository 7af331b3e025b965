// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// DHCP option 43, in which Android's hot spots say that they are metered (rule S37).
enum VendorOption {
    /// What the option is called by NetworkManager, dhclient and by number.
    static let names: Set<String> = [
        "vendor_encapsulated_options", "vendor-encapsulated-options", "private_43", "option-43", "43",
    ]

    private static let marker = Array("ANDROID_METERED".utf8)

    /// Whether the value, as text or as hexadecimal bytes with or without colons, carries the marker.
    static func isAndroidMetered(_ value: some StringProtocol) -> Bool {
        hasMarker(Array(value.utf8)) || bytes(hexadecimal: value).map(hasMarker) ?? false
    }

    private static func hasMarker(_ bytes: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: marker) }
    }

    /// Reads `41:4e` or `414e`; dhclient leaves out leading zeros, as in `a:4e`.
    static func bytes(hexadecimal text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count <= 1024 else { return nil }
        if text.contains(":") {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            let bytes = parts.compactMap { UInt8($0, radix: 16) }
            return bytes.count == parts.count ? bytes : nil
        }
        guard text.utf8.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        var rest = text[...]
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
