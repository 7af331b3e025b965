// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import MulticastDNS

/// What names may be used; each rule says what is wrong, as a sentence.
package enum PeerRules {
    package static let maximumName = 63

    /// A name that people see: 1 to 63 bytes of UTF-8, without control characters.
    package static func problem(ofName name: String) -> String? {
        let count = name.utf8.count
        guard (1...maximumName).contains(count) else { return "the display name has \(count) bytes, expected 1 to 63" }
        let hasControl = name.unicodeScalars.contains { $0.properties.generalCategory == .control }
        return hasControl ? "the display name has a control character" : nil
    }

    /// A type of a program: as RFC 6335 section 5.1 has names of services, in lower case.
    package static func problem(ofServiceType type: String) -> String? {
        let expected =
            "expected 1 to 15 of a-z, 0-9 and single hyphens inside, with one letter at least, such as 'chat'"
        // No capitals, and nothing that a domain name's text has for something else: dots and escapes.
        let isPlain = type.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
        }
        guard isPlain, (try? NameRules.serviceType("_\(type)._tcp")) != nil else {
            return "the service type '\(type)' is not valid, \(expected)"
        }
        return nil
    }

    /// What a program says with its announcement: pairs of 255 bytes at most, and all together what a TXT record holds.
    package static func problem(ofInfo info: [String: String]) -> String? {
        for (key, value) in info {
            let count = key.utf8.count + 1 + value.utf8.count
            guard count <= 255 else { return "the discovery info '\(key)' has \(count) bytes, expected 255 at most" }
        }
        guard let key = PeerKey(bytes: [UInt8](repeating: 0, count: PeerKey.length)) else { return nil }
        let name = String(repeating: "x", count: maximumName)
        let type = String(repeating: "x", count: NameRules.maximumServiceName)
        let longest = PeerAnnouncement(key: key, name: name, serviceType: type, boot: "00000000", info: info)
        do throws(RegistrationError) {
            try NameRules.check(longest.text)
            return nil
        } catch {
            return "the discovery info is not valid: \(error)"
        }
    }
}
