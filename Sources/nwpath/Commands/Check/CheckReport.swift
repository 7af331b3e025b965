// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

/// What a monitoring plugin says: a state, one line, and performance data.
struct CheckReport: Equatable {
    /// The states, from good to bad.
    enum State: String {
        case ok = "OK"
        case unknown = "UNKNOWN"
        case warning = "WARNING"
        case critical = "CRITICAL"

        var status: ExitStatus {
            switch self {
            case .ok: ExitStatus(rawValue: 0)
            case .warning: ExitStatus(rawValue: 1)
            case .critical: ExitStatus(rawValue: 2)
            case .unknown: ExitStatus(rawValue: 3)
            }
        }

        private var badness: Int {
            switch self {
            case .ok: 0
            case .unknown: 1
            case .warning: 2
            case .critical: 3
            }
        }

        func worst(_ other: State) -> State { other.badness > badness ? other : self }
    }

    /// A measured value with its thresholds: `label=value[UOM];[warn];[crit];[min];[max]`.
    struct Measure: Equatable {
        let label: String
        /// The number; one that is not known (`nil`) is left out: Icinga refuses the `U` of the monitoring plugin guidelines.
        let value: Double?
        var unit = ""
        var warning: CheckRange?
        var critical: CheckRange?
        var minimum: Int?
        var maximum: Int?

        var state: State {
            guard let value else { return warning == nil && critical == nil ? .ok : .unknown }
            if critical?.alerts(value) == true { return .critical }
            return warning?.alerts(value) == true ? .warning : .ok
        }

        /// The value for people, and the threshold it broke: `services is 3, not 5:`.
        var complaint: String? {
            guard let value else { return state == .unknown ? "\(label) is not known" : nil }
            let broken = critical?.alerts(value) == true ? critical : warning
            return state == .ok ? nil : "\(label) is \(Self.text(value))\(unit), expected \(broken?.description ?? "")"
        }

        /// The text behind the bar.
        var text: String? {
            guard let value else { return nil }
            let fields = [
                Self.text(value) + unit, warning?.description, critical?.description, minimum.map { "\($0)" },
                maximum.map { "\($0)" },
            ].map { $0 ?? "" }
            let last = fields.lastIndex { !$0.isEmpty } ?? 0
            return "\(label)=" + fields[...last].joined(separator: ";")
        }

        /// Whole where it is whole, else in thousandths, or as many digits as it has to the millionth; never an exponent.
        private static func text(_ value: Double) -> String {
            let millionths = Int64((min(max(value, -1e12), 1e12) * 1e6).rounded())
            var rest = String(1_000_000 + millionths.magnitude % 1_000_000).dropFirst()
            while rest.count > 3, rest.last == "0" { rest.removeLast() }
            let whole = "\(millionths < 0 ? "-" : "")\(millionths.magnitude / 1_000_000)"
            return rest == "000" ? whole : "\(whole).\(rest)"
        }
    }

    var state: State
    var text: String
    var measures: [Measure] = []

    static func unknown(_ text: String) -> CheckReport { CheckReport(state: .unknown, text: text) }

    /// Takes thresholds into account: the worst state stands, and what broke is told.
    mutating func evaluate() {
        for measure in measures {
            guard let complaint = measure.complaint, measure.label != "satisfied" else { continue }
            state = state.worst(measure.state)
            text += ", " + complaint
        }
    }

    /// The one line; a bar in it would begin performance data.
    var line: String {
        let safe = PrintableText.escape(text).map { $0 == "|" ? "/" : $0 }
        let data = measures.compactMap(\.text).joined(separator: " ")
        return "NWPATH \(state.rawValue) - " + String(safe) + (data.isEmpty ? "" : " | \(data)")
    }
}
