// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import OrderedJSON
public import Traffic

/// `traffic.stalled`, `traffic.lossy`, `traffic.resumed` and `traffic.unknown`: what this machine's own connections show of
/// a path or a destination.
public struct TrafficChanged: EventBody {
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

    public func write(to object: inout JSONObjectWriter) {
        object.write("traffic", TrafficFindingDocument(finding))
        object.writeIfPresent("duration_seconds", duration.map(Rounded.seconds))
    }
}

extension TrafficChanged {
    public static var form: Form {
        .object()
            .member("traffic", TrafficFindingDocument.form)
            .optional("duration_seconds", .seconds, "Of what is over; left out while it begins.")
    }
}
