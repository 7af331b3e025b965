// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What a network says of its captive portal to those who ask for its configuration (RFC 8910).
public enum PortalNotice: Hashable, Sendable {
    /// There is an interface to ask, by HTTPS.
    case interface(PageAddress)
    /// There is no portal (section 2).
    case unrestricted
    /// What it says is no address of such an interface.
    case unusable

    /// The text that says that there is no portal.
    static let unrestrictedText = "urn:ietf:params:capport:unrestricted"

    /// Reads a text, which some senders fill up with zeros; any bytes are allowed.
    init(_ bytes: [UInt8]) {
        let length = bytes.firstIndex(of: 0) ?? bytes.count
        let text = String(decoding: bytes[..<length], as: UTF8.self)
        if text == Self.unrestrictedText {
            self = .unrestricted
        } else if bytes[length...].allSatisfy({ $0 == 0 }), let page = PageAddress(text), page.isSecure {
            self = .interface(page)
        } else {
            self = .unusable
        }
    }
}
