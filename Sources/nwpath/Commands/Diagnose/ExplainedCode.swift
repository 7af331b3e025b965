// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import Documents
internal import OrderedJSON

/// What `nwpath diagnose --explain` is about.
enum ExplainedCode: Hashable {
    case all
    case one(VerdictCode)

    /// The word that stands for all codes.
    fileprivate static let list = "list"
    fileprivate static let documentation = "docs/diagnosis.md"

    init?(_ text: String) {
        guard text != Self.list else {
            self = .all
            return
        }
        guard let code = VerdictCode(rawValue: text) else { return nil }
        self = .one(code)
    }

    func show(_ screen: Screen, isJSON: Bool) throws(CommandFailure) -> ExitStatus {
        switch self {
        case .all where isJSON: try screen.print(CodeDocument.list.value(of: VerdictCode.allCases))
        case .one(let code) where isJSON: try screen.print(CodeDocument.one.value(of: code))
        case .all: Terminal.print(CodeText(screen).list())
        case .one(let code): Terminal.print(CodeText(screen).explanation(of: code))
        }
        return .success
    }
}

extension ArgumentForm where Value == ExplainedCode {
    static let code = ArgumentForm(
        "a code such as wan.down, or list",
        choices: [ExplainedCode.list] + VerdictCode.allCases.map(\.rawValue),
        parse: { ExplainedCode($0) }
    )
}

// MARK: - JSON

enum CodeDocument {
    private static let severity = Form.oneOf(Severity.self)

    static let one = Members<VerdictCode>.document("Code", "What a code of verdicts means.")
        .member("code", as: .oneOf(VerdictCode.self)) { $0.rawValue }
        .member("layer", as: .oneOf(Layer.self)) { $0.layer.rawValue }
        .member("severity", as: severity, "The usual one.") { $0.usualSeverity.rawValue }
        .member("message", "What is wrong, in general.") { $0.meaning }
        .member("test", "How it is found out.") { $0.test }
        .member("hint", "What to do about it.") { $0.action }
        .member("hides", "Faults that follow from it, and are not reported beside it.") { $0.hides.map(\.rawValue) }
        .member("hidden_by", "Faults that it follows from.") { $0.hiddenBy.map(\.rawValue) }
        .member("documentation") { _ in ExplainedCode.documentation }

    private struct Entry: MemberDeclaring {
        let code: VerdictCode

        static let members = Members<Self>.object()
            .member("code", as: .oneOf(VerdictCode.self)) { $0.code.rawValue }
            .member("layer", as: .oneOf(Layer.self)) { $0.code.layer.rawValue }
            .member("severity", as: severity, "The usual one.") { $0.code.usualSeverity.rawValue }
            .member("message", "What is wrong, in general.") { $0.code.meaning }
    }

    static let list = Members<[VerdictCode]>.document("Codes", "All codes of verdicts.")
        .member("codes") { $0.map(Entry.init) }
}

// MARK: - Text

/// Explains codes for people.
private struct CodeText {
    private let screen: Screen

    init(_ screen: Screen) { self.screen = screen }

    /// A line for each code.
    func list() -> String {
        var table = TextTable([.init("CODE"), .init("SEVERITY"), .init("MEANING", keepsWords: true)])
        for code in VerdictCode.allCases {
            let severity = TextTable.Cell(code.usualSeverity.rawValue, Self.tone(code.usualSeverity))
            table.add([.init(code.rawValue, .strong), severity, .init(code.meaning)])
        }
        return table.text(width: screen.width, palette: screen.palette)
    }

    func explanation(of code: VerdictCode) -> String {
        let severity = code.usualSeverity
        var table = TextTable([.init(""), .init("", canShrink: true)])
        table.add(["layer", .init(code.layer.rawValue)])
        table.add(["severity", .init("\(severity.rawValue) as a rule", Self.tone(severity))])
        table.add(["test", .init(code.test)])
        table.add(["what to do", .init(code.action)])
        table.add(["hides", .init(Self.names(code.hides))])
        table.add(["hidden by", .init(Self.names(code.hiddenBy))])
        table.add(["more", .init(ExplainedCode.documentation)])
        let title = screen.palette.style(code.rawValue, .strong) + ": \(code.meaning)\n"
        return title + table.text(width: screen.width, palette: screen.palette)
    }

    /// Layers of which all faults are among some codes, then those of other layers.
    private static func names(_ codes: [VerdictCode]) -> String {
        let faults = VerdictCode.allCases.filter { $0.usualSeverity > .info }
        let whole = Layer.allCases.filter { layer in
            let own = faults.filter { $0.layer == layer }
            return !own.isEmpty && Set(own).isSubset(of: codes)
        }
        let word = whole.count == 1 ? "layer" : "layers"
        let layers = whole.isEmpty ? [] : ["all faults of the \(word) " + whole.map(\.rawValue).joined(separator: ", ")]
        let rest = codes.filter { !whole.contains($0.layer) }.map(\.rawValue).joined(separator: ", ")
        let parts = layers + (rest.isEmpty ? [] : [rest])
        return parts.isEmpty ? "nothing" : parts.joined(separator: "; ")
    }

    private static func tone(_ severity: Severity) -> Palette.Tone? {
        switch severity {
        case .broken: .bad
        case .degraded, .warning: .warning
        case .info: .faint
        }
    }
}
