// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension TrafficFinding {
    /// Such as `through 192.0.2.1 on eth0`, `through 192.0.2.1 on eth0 to private addresses` or `to 198.51.100.0/24`.
    public var direction: String {
        if let destination { return "to \(destination)" }
        let gateway = path.gateway.map { "through \($0) " } ?? ""
        return gateway + "on \(path.interface)" + (path.range == .private ? " to private addresses" : "")
    }

    /// Such as `148 of 150 connections through 192.0.2.1 on eth0 unanswered for 1.4 s`.
    public var unansweredSentence: String {
        let subject = Self.subject(unanswered, of: max(connections, unanswered))
        return "\(subject) \(direction) unanswered" + (lastAnswer.map { " for \(Self.text($0))" } ?? "")
    }

    /// Such as `148 of 150 connections`; of none, those that ended are meant.
    public static func subject(_ unanswered: Int, of total: Int) -> String {
        switch total {
        case 0: "All connections"
        case 1: "The only connection"
        default: "\(unanswered) of \(total) connections"
        }
    }

    /// Such as `4.8 % of segments through 192.0.2.1 on eth0 sent again`.
    public var lossSentence: String { "\(Self.percent(loss ?? 0)) of segments \(direction) sent again" }

    /// Such as `1.4 s`, `35 s` or `12 min`.
    public static func text(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        guard seconds < 600 else { return "\(seconds / 60) min" }
        guard seconds < 10 else { return "\(seconds) s" }
        return "\(seconds).\(duration.components.attoseconds / 100_000_000_000_000_000) s"
    }

    /// Such as `4.8 %`.
    public static func percent(_ ratio: Double) -> String {
        let tenths = Int((ratio * 1000).rounded())
        return "\(tenths / 10).\(tenths % 10) %"
    }
}
