// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// What the interface of a captive portal says of this machine (RFC 8908 section 5).
public struct PortalStatus: Hashable, Sendable {
    public static let mediaType = "application/captive+json"
    /// More than so many bytes are no answer.
    public static let longest = 16_384

    /// Whether packets are held back until somebody logs in.
    public var isCaptive: Bool
    public var portal: PageAddress?

    public init(isCaptive: Bool, portal: PageAddress? = nil) {
        self.isCaptive = isCaptive
        self.portal = portal
    }

    /// Reads an answer; any bytes are allowed, and what is not known is passed over.
    /// - Returns: `nil` unless it is a whole answer of the right type that says whether somebody must log in.
    public init?(_ answer: PageAnswer) {
        guard answer.status == 200, answer.mediaType == Self.mediaType, let body = answer.body,
            let value = try? JSONValue(parsing: body, limits: JSONLimits(depth: 8, size: Self.longest)),
            let isCaptive = value["captive"]?.bool
        else { return nil }
        self.isCaptive = isCaptive
        portal = value["user-portal-url"]?.string.flatMap { PageAddress($0) }
    }
}
