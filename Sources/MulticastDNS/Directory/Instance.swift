// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import DNSWire

/// What a directory knows of one instance, besides its records.
struct Instance: Sendable {
    /// The type it is shown with.
    var type: DomainName
    /// The names whose pointers lead to it: types, and subtypes.
    var sources: Set<DomainName> = []
    /// The sources that were reported to clients.
    var announced: Set<DomainName> = []
    let firstSeen: Duration
    var lastSeen: Duration
    /// What was reported; `nil` while it is not resolved.
    var published: Service?
    /// Why the last lost record went.
    var cause = RemovalReason.expired
    /// Why the last lost address of its host went.
    var addressCause = RemovalReason.expired
    var host: DomainName?
    /// What was queried since resolving began; the text, since it was missed first.
    var queried: Set<RecordKey> = []
    /// Since when nothing but its text, or its host's other family, is missing.
    var usableSince: Duration?
    /// When to report what is there, when to give up, and whether a failure was reported.
    var reportAt: Duration?
    var giveUpAt: Duration?
    var hasFailed = false
    /// Whether it has a port, as far as is known.
    var isOffered = true
    var hasReportedFailure = false
    /// How often resolving has failed in a row, and when to try again.
    var failures = 0
    var retryAt: Duration?
    /// Whether it was reported, and lost its location or addresses while a pointer leads to it.
    var isMissing = false

    init(type: DomainName, at now: Duration) {
        self.type = type
        firstSeen = now
        lastSeen = now
    }

    /// Whether a type leads to it, and not only subtypes.
    var isTyped: Bool { sources.contains(where: ServiceName.isType) }

    var deadline: Duration? { earliest(earliest(reportAt, giveUpAt), retryAt) }

    /// How long to wait after so many failures: twice as long each time.
    var retryGap: Duration {
        isMissing
            ? min(LinkDirectory.missingGap * (1 << min(failures, 7)), LinkDirectory.longestMissingGap)
            : min(LinkDirectory.retryGap * (1 << min(failures, 7)), LinkDirectory.longestRetryGap)
    }

    var isResolving: Bool { published == nil && giveUpAt != nil }
}

/// The forms of names that DNS-SD gives a meaning (RFC 6763).
package enum ServiceName {
    package static let enumeration = DomainName("_services._dns-sd._udp.local") ?? DomainName()
    static let local = DomainName("local") ?? DomainName()
    private static let protocols = [DomainName("_tcp.local"), DomainName("_udp.local")].compactMap(\.self)
    private static let subtype = DomainName("_sub") ?? DomainName()

    /// Whether it is `_name._tcp.local` or `_udp`; lenient about what is in the first label (rule N7).
    static func isType(_ name: DomainName) -> Bool {
        name.labelCount == 3 && name.firstByte == UInt8(ascii: "_") && protocols.contains { name.isWithin($0) }
    }

    /// Whether it is `label._sub._name._tcp.local` or `_udp` (rule N8).
    static func isSubtype(_ name: DomainName) -> Bool { !isType(name) && type(browsedAs: name) != nil }

    /// The type that an enumeration names: only two labels count (rule D1).
    static func type(enumerated target: DomainName) -> DomainName? {
        guard let type = try? target.prefix(2).appending(local), isType(type) else { return nil }
        return type
    }

    /// The type that instances found under this name have: its own, or that of `label._sub._name._tcp.local` (rule N8).
    static func type(browsedAs name: DomainName) -> DomainName? {
        if isType(name) { return name }
        guard name.labelCount == 5, name.parent.prefix(1) == subtype else { return nil }
        let type = name.parent.parent
        return isType(type) ? type : nil
    }
}
