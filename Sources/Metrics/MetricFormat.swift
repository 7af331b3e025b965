// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The text forms that Prometheus reads.
public enum MetricFormat: Sendable, CaseIterable {
    /// Prometheus text format 0.0.4.
    case text
    /// OpenMetrics 1.0.0.
    case openMetrics

    /// The value of `Content-Type`.
    public var contentType: String {
        switch self {
        case .text: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// The media type a client names in `Accept`.
    public var mediaType: String {
        switch self {
        case .text: "text/plain"
        case .openMetrics: "application/openmetrics-text"
        }
    }

    /// Renders everything a scrape collected.
    func render(_ writer: MetricWriter) -> [UInt8] {
        var text = ""
        for group in writer.groups {
            let name = headName(of: group.family)
            text +=
                "# HELP \(name) \(escapeHelp(group.family.help))\n# TYPE \(name) \(typeName(of: group.family.kind))\n"
            for sample in group.samples {
                text += group.family.name + sample.suffix
                appendLabels(sample.labels, to: &text)
                text += " \(Self.number(sample.value))\n"
            }
        }
        if self == .openMetrics { text += "# EOF\n" }
        return Array(text.utf8)
    }

    /// OpenMetrics names the family without the suffix that its samples have.
    private func headName(of family: MetricFamily) -> String {
        guard self == .openMetrics else { return family.name }
        switch family.kind {
        case .counter: return String(family.name.dropLast("_total".count))
        case .info: return String(family.name.dropLast("_info".count))
        case .gauge, .histogram: return family.name
        }
    }

    private func typeName(of kind: MetricFamily.Kind) -> String {
        self == .text && kind == .info ? "gauge" : kind.rawValue
    }

    private func appendLabels(_ labels: [(name: String, value: String)], to text: inout String) {
        guard !labels.isEmpty else { return }
        text += "{"
        for (index, label) in labels.enumerated() {
            if index > 0 { text += "," }
            text += "\(label.name)=\"\(Self.escape(label.value, quotes: true))\""
        }
        text += "}"
    }

    /// The older format leaves quotes in help texts alone.
    private func escapeHelp(_ help: String) -> String { Self.escape(help, quotes: self == .openMetrics) }

    private static func escape(_ text: String, quotes: Bool) -> String {
        guard text.utf8.contains(where: { $0 == 10 || $0 == 92 || $0 == 34 }) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Whole numbers without a fraction, the rest as short as it stays exact.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return "\(whole)" }
        return "\(value)"
    }
}
