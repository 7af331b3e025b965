// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Diagnosis
public import LinuxIO
public import OrderedJSON

/// `verdict.raised` and `verdict.cleared`: a fault of the network is certain enough to be told, or over.
public struct VerdictChanged: EventBody, JSONObjectWritable {
    let verdict: Content
    let isRaised: Bool

    struct Content: JSONObjectWritable, Sendable {
        let verdict: Verdict
        let since: WallTime

        func write(to object: inout JSONObjectWriter) {
            object.write("code", verdict.code.rawValue)
            object.write("layer", verdict.code.layer.rawValue)
            object.write("severity", verdict.severity.rawValue)
            object.write("confidence", verdict.confidence.rawValue)
            if let family = verdict.family { object.write("family", family.rawValue) }
            if let subject = verdict.subject { object.write("subject", subject) }
            object.write("say", verdict.say)
            object.write("action", verdict.action)
            object.write("evidence", Facts(facts: verdict.evidence))
            object.write("since", since.description)
        }
    }

    struct Facts: JSONObjectWritable, Sendable {
        let facts: [Verdict.Fact]

        func write(to object: inout JSONObjectWriter) {
            for fact in facts {
                if let number = Int(fact.value) {
                    object.write(named: fact.name, number)
                } else {
                    object.write(named: fact.name, fact.value)
                }
            }
        }
    }

    /// Describes a verdict and since when its fault was seen.
    public init(_ verdict: Verdict, isRaised: Bool, since: WallTime) {
        self.verdict = Content(verdict: verdict, since: since)
        self.isRaised = isRaised
    }

    public var name: EventName { isRaised ? .verdictRaised : .verdictCleared }
    public var severity: Severity {
        guard isRaised else { return .info }
        return verdict.verdict.severity == .broken ? .error : .warning
    }
    public var message: String {
        let say = verdict.verdict.say
        return isRaised ? say : "no longer: \(say)"
    }

    /// Writes the members after the envelope.
    public func write(to object: inout JSONObjectWriter) {
        object.write("state", isRaised ? "raised" : "cleared")
        object.write("verdict", verdict)
    }
}
