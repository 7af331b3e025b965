// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import OrderedJSON
public import Traffic

/// `traffic.stalled`, `traffic.lossy`, `traffic.resumed` and `traffic.unknown`: what this machine's own connections show of
/// a path or a destination.
public struct TrafficChanged: EventBody, MemberDeclaring {
    public let name: EventName
    private let finding: TrafficFinding
    private let duration: Duration?
    public let message: String

    public init(_ change: TrafficChange) {
        finding = change.finding
        let direction = finding.direction
        switch change {
        case .stalled: (name, duration, message) = (.trafficStalled, nil, finding.unansweredSentence)
        case .lossy: (name, duration, message) = (.trafficLossy, nil, finding.lossSentence)
        case .resumed(_, let length):
            (name, duration) = (.trafficResumed, length)
            message = "Connections \(direction) answered again after \(TrafficFinding.text(length))"
        case .recovered(_, let length):
            (name, duration) = (.trafficResumed, length)
            message = "Segments \(direction) no longer lost after \(TrafficFinding.text(length))"
        case .unknown(_, let length):
            (name, duration) = (.trafficUnknown, length)
            message = "No longer known whether connections \(direction) are answered"
        }
    }

    public var severity: Severity { duration == nil ? .warning : .info }

    public static let members = Members<Self>.object()
        .member("traffic") { TrafficFindingDocument($0.finding) }
        .optional("duration_seconds", as: .seconds, "Of what is over; left out while it begins.") {
            $0.duration.map(Rounded.seconds)
        }
}
