// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// What stands between a program and its destination, in the order in which the kernel comes to it.
public enum ExplanationElement: String, Hashable, Sendable, CaseIterable {
    /// The policy rule that applies.
    case rule
    case table
    case route
    case nexthop
    /// The interface, as the administrator wants it.
    case link
    /// The interface, as the cable has it.
    case carrier
    case source
    /// Packet filters and IPsec policies, as far as datagrams of this process meet them.
    case firewall
    /// The router, or the destination itself, on the link.
    case neighbour
    case dns
}

public struct ExplanationStep: Hashable, Sendable {
    /// What is known of an element.
    public enum Verdict: String, Hashable, Sendable, CaseIterable {
        case fine = "ok"
        case broken
        /// It was not reached, or nothing is known.
        case unknown
    }

    public var element: ExplanationElement
    public var verdict: Verdict
    public var text: String
    /// What is wrong, or may be, as a clause such as `eth0 has no carrier`.
    public var fault: String?
    /// What mends it; `nil` when there is nothing but to wait.
    public var hint: String?

    public init(
        _ element: ExplanationElement,
        _ verdict: Verdict,
        _ text: String,
        fault: String? = nil,
        hint: String? = nil
    ) {
        self.element = element
        self.verdict = verdict
        self.text = text
        self.fault = fault
        self.hint = hint
    }
}

/// Why packets of one family do or do not leave for one destination.
public struct Explanation: Hashable, Sendable {
    public var family: AddressFamily
    /// Where they would go; one of the probes when the Internet is meant.
    public var destination: IPAddress
    /// Every element, in the order of ``ExplanationElement``.
    public var steps: [ExplanationStep]
    /// Whether the machine does not use this family: no route and no address.
    public var isAbsent: Bool
    /// The interface packets leave by, when it is known.
    public var interface: String?

    /// The first element that does not work; `nil` when all do.
    public var broken: ExplanationStep? { steps.first { $0.verdict == .broken } }

    /// The first element that may not work; `nil` when one is broken, or nothing speaks against any.
    public var doubtful: ExplanationStep? {
        broken == nil ? steps.first { $0.verdict == .unknown && $0.fault != nil } : nil
    }
}

public enum NameQuestion: Hashable, Sendable {
    /// Any name might be queried: at least one server must be in reach.
    case general
    /// The destination was given as an address.
    case unneeded
    /// This name led to this address.
    case answered(String)
    case failed(String, reason: String)
}

/// Collects the elements, in their order, up to the first that is broken.
struct ExplanationChain {
    private(set) var steps: [ExplanationStep] = []
    var interface: String?

    /// Whether something is broken, so that nothing else is reached.
    var isBroken: Bool { steps.contains { $0.verdict == .broken } }

    mutating func fine(_ element: ExplanationElement, _ text: String) {
        add(ExplanationStep(element, .fine, text))
    }

    mutating func unknown(_ element: ExplanationElement, _ text: String) {
        add(ExplanationStep(element, .unknown, text))
    }

    /// Something speaks against an element that may work all the same.
    mutating func suspect(_ element: ExplanationElement, _ text: String, hint: String?) {
        add(ExplanationStep(element, .unknown, text, fault: text, hint: hint))
    }

    mutating func fail(_ element: ExplanationElement, _ text: String, fault: String? = nil, hint: String?) {
        add(ExplanationStep(element, .broken, text, fault: fault ?? text, hint: hint))
    }

    mutating func fail(_ element: ExplanationElement, _ text: String? = nil, _ reason: ReasonText) {
        fail(element, text ?? reason.clause, fault: reason.clause, hint: reason.hint)
    }

    private mutating func add(_ step: ExplanationStep) {
        if !isBroken { steps.append(step) }
    }

    /// All elements; those after a broken one were not reached.
    var complete: [ExplanationStep] {
        ExplanationElement.allCases.map { element in
            steps.first { $0.element == element } ?? ExplanationStep(element, .unknown, "not reached")
        }
    }
}
