// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import OrderedJSON
public import Traffic

/// `traffic.stalled`, `traffic.lossy` and `traffic.resumed`: what this machine's own connections show of a path or a
/// destination.
public struct TrafficChanged: EventBody {
    public let name: EventName
    private let finding: TrafficFinding
    private let duration: Duration?
    private let isOfAnswers: Bool

    public init(_ change: TrafficChange) {
        isOfAnswers = change.isOfAnswers
        switch change {
        case .stalled(let finding): (name, self.finding, duration) = (.trafficStalled, finding, nil)
        case .lossy(let finding): (name, self.finding, duration) = (.trafficLossy, finding, nil)
        case .resumed(let finding, let length), .recovered(let finding, let length):
            (name, self.finding, duration) = (.trafficResumed, finding, length)
        }
    }

    public var severity: Severity { name == .trafficResumed ? .info : .warning }

    public var message: String {
        switch name {
        case .trafficStalled: finding.unansweredSentence
        case .trafficLossy: finding.lossSentence
        case _ where !isOfAnswers:
            "Segments \(finding.direction) no longer lost after \(TrafficFinding.text(duration ?? .zero))"
        default: "Connections \(finding.direction) answered again after \(TrafficFinding.text(duration ?? .zero))"
        }
    }

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
