// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Documents
internal import OrderedJSON
internal import PathModel

/// The answer of `nwpath why`, as JSON shows it and as text is rendered from.
struct WhyDocument: MemberDeclaring {
    struct Chain: MemberDeclaring {
        let family: String
        let destination: String
        /// `ok`, `broken`, `unknown` where something may be in the way, or `absent` where the machine does not take part in the family.
        let verdict: String
        var interface: InterfaceReference?
        let steps: [Step]

        static let members = Members<Self>.object("The way of one family's packets.")
            .member("family", as: .family) { $0.family }
            .member("destination") { $0.destination }
            .member(
                "verdict",
                as: .words("ok", "broken", "unknown", "absent"),
                "`absent` where the machine does not take part in the family."
            ) { $0.verdict }
            .member("interface") { $0.interface }
            .member("steps") { $0.steps }
    }

    struct Step: MemberDeclaring {
        let element: ExplanationElement
        let verdict: ExplanationStep.Verdict
        /// What holds, or what is in the way.
        let message: String

        static let members = Members<Self>.object()
            .member("element", as: .oneOf(ExplanationElement.self)) { $0.element.rawValue }
            .member("verdict", as: .oneOf(ExplanationStep.Verdict.self)) { $0.verdict.rawValue }
            .member("message", "What holds, or what is in the way.") { $0.message }
    }

    /// The first element that is broken, or may be.
    struct Fault: MemberDeclaring {
        let element: ExplanationElement
        let family: String
        let message: String
        var hint: String?

        static let members = Members<Self>.object()
            .member("element", as: .oneOf(ExplanationElement.self)) { $0.element.rawValue }
            .member("family", as: .family) { $0.family }
            .member("message") { $0.message }
            .member("hint", "What to do about it.") { $0.hint }
    }

    let target: String
    /// `ok`, `broken`, or `unknown` where something may be in the way.
    let verdict: String
    /// The first line of the text.
    let message: String
    var broken: Fault?
    let chains: [Chain]

    static let members = Members<Self>.document("Why", "What the kernel would do with packets to a destination.")
        .member("target") { $0.target }
        .member("verdict", as: .words("ok", "broken", "unknown"), "`unknown` where something may be in the way.") {
            $0.verdict
        }
        .member("message", "One sentence for people.") { $0.message }
        .member("broken", "The first element that is broken, or may be.") { $0.broken }
        .member("chains") { $0.chains }

    /// Sums up explanations for one target.
    ///
    /// A family that the machine does not take part in breaks nothing while another one works.
    ///
    /// - Parameters:
    ///   - target: The host, or ``Why/internet``.
    ///   - explanations: One for each family.
    ///   - beyond: What was tested; `nil` where only the kernel matters.
    init(target: String, _ explanations: [Explanation], _ beyond: BeyondKernel?) {
        self.target = target
        let works = explanations.contains { $0.broken == nil }
        let failing = explanations.filter { $0.broken != nil && !($0.isAbsent && works) }
        let first = failing.first { !$0.isAbsent } ?? failing.first
        let doubtful = explanations.first { $0.doubtful != nil }
        let fault = (first ?? doubtful).flatMap { explanation in
            (explanation.broken ?? explanation.doubtful).map { step in
                Fault(
                    element: step.element,
                    family: explanation.family.rawValue,
                    message: step.fault ?? step.text,
                    hint: step.hint
                )
            }
        }
        broken = fault
        verdict = first != nil ? "broken" : doubtful != nil ? "unknown" : "ok"
        message = Self.summary(target: target, fault: fault, isCertain: first != nil, explanations, beyond)
        chains = explanations.map { explanation in
            Chain(
                family: explanation.family.rawValue,
                destination: "\(explanation.destination)",
                verdict: Self.verdict(of: explanation, oneWorks: works),
                interface: explanation.interface.map(InterfaceReference.init(named:)),
                steps: explanation.steps.map {
                    let text = beyond?.text(of: $0) ?? $0.text
                    return Step(element: $0.element, verdict: $0.verdict, message: text)
                }
            )
        }
    }

    private static func verdict(of explanation: Explanation, oneWorks: Bool) -> String {
        guard explanation.broken != nil else { return explanation.doubtful == nil ? "ok" : "unknown" }
        return explanation.isAbsent && oneWorks ? "absent" : "broken"
    }

    private static func summary(
        target: String,
        fault: Fault?,
        isCertain: Bool,
        _ explanations: [Explanation],
        _ beyond: BeyondKernel?
    ) -> String {
        if let fault {
            let hint = fault.hint.map { ". Fix: \($0)" } ?? ""
            return "\(isCertain ? "Broken" : "Possibly broken") at \(fault.element.rawValue): \(fault.message)\(hint)"
        }
        let routes = explanations.filter { $0.broken == nil }.map { explanation in
            let by = explanation.interface.map { " via \($0)" } ?? ""
            return "\(explanation.family.label)\(by)"
        }
        guard !routes.isEmpty else { return "No address to explain" }
        let tested = beyond.map { "; " + $0.clause(on: target == Why.internet ? nil : target, explanations) }
        return "The kernel would send to \(target): \(routes.joined(separator: ", "))" + (tested ?? "")
    }
}
