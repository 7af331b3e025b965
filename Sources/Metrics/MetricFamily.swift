// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What a family of samples is: its name, kind, help and label names.
public struct MetricFamily: Equatable, Sendable {
    /// How the samples behave over time.
    public enum Kind: String, Sendable {
        /// Goes up and down.
        case gauge
        /// Only goes up, and starts anew with the process; the name ends in `_total`.
        case counter
        case histogram
        /// Facts as labels with the value 1; the name ends in `_info`.
        case info
    }

    /// The full name of the samples, such as `nwpath_events_published_total`; of a histogram, without `_bucket`.
    public let name: String
    public let kind: Kind
    public let help: String
    /// The label names, in order.
    public let labels: [String]

    /// Declares a family.
    ///
    /// Names are written in code, so a wrong one is a mistake to be found at once.
    public init(_ name: String, _ kind: Kind, help: String, labels: [String] = []) {
        precondition(Self.isName(name, allowsColon: true), "not a metric name: \(name)")
        precondition(
            labels.allSatisfy { Self.isName($0, allowsColon: false) && $0 != "le" },
            "not label names: \(labels)"
        )
        precondition((kind == .counter) == name.hasSuffix("_total"), "only counters end in _total: \(name)")
        precondition((kind == .info) == name.hasSuffix("_info"), "only infos end in _info: \(name)")
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }

    /// A gauge of ours, `nwpath_NAME`.
    public static func gauge(_ name: String, _ help: String, _ labels: [String] = []) -> MetricFamily {
        MetricFamily("nwpath_\(name)", .gauge, help: help, labels: labels)
    }

    /// A counter of ours, `nwpath_NAME_total`.
    public static func counter(_ name: String, _ help: String, _ labels: [String] = []) -> MetricFamily {
        MetricFamily("nwpath_\(name)_total", .counter, help: help, labels: labels)
    }

    /// A histogram of ours, `nwpath_NAME`.
    public static func histogram(_ name: String, _ help: String, _ labels: [String] = []) -> MetricFamily {
        MetricFamily("nwpath_\(name)", .histogram, help: help, labels: labels)
    }

    /// Facts of ours, `nwpath_NAME_info`.
    public static func info(_ name: String, _ help: String, _ labels: [String] = []) -> MetricFamily {
        MetricFamily("nwpath_\(name)_info", .info, help: help, labels: labels)
    }

    private static func isName(_ text: String, allowsColon: Bool) -> Bool {
        guard let first = text.utf8.first, !(48...57).contains(first) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122, UInt8(ascii: "_"): true
            case UInt8(ascii: ":"): allowsColon
            default: false
            }
        }
    }
}
