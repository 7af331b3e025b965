// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import LinuxIO
internal import OrderedJSON
internal import PathModel

/// What the service of this machine has tested that its kernel cannot know.
struct BeyondKernel {
    private let findings: ProbeFindings
    /// The headline, where the Internet was tested.
    private let internet: String?

    /// Reads what a service has tested.
    ///
    /// - Parameters:
    ///   - probes: The list of `/api/v1/probes`.
    ///   - status: `/api/v1/status`.
    ///   - now: The time that ages are counted to.
    init(probes: [JSONValue], status: JSONValue, at now: WallTime) {
        findings = ProbeFindings(probes, now: now)
        let element = status.list("chain").first { $0.text("element") == "internet" }
        let isTested = ["good", "degraded", "broken"].contains(element?.text("condition"))
        let headline = status["headline"] ?? .null
        internet = Headline.State(rawValue: headline.text("state")).flatMap {
            isTested ? "\($0.word): \(headline.text("message"))" : nil
        }
    }

    /// Reads what the service of this machine has tested; nothing where none runs, or another one is meant.
    init(_ common: CommonOptions) {
        guard var connection = try? ServiceConnection(common), connection.isStandard,
            let probes = try? connection.get("/api/v1/probes", timeout: .seconds(1)).value.list("probes"),
            let status = try? connection.get("/api/v1/status", timeout: .seconds(1)).value
        else {
            self.init(probes: [], status: .null, at: KernelClock().wall)
            return
        }
        self.init(probes: probes, status: status, at: KernelClock().wall)
    }

    /// What was tested beyond the kernel.
    ///
    /// - Parameters:
    ///   - target: The host; `nil` is the Internet.
    ///   - explanations: Where packets to it would go.
    /// - Returns: A clause such as `answers, 12.0 ms, 3 s ago`, or how to test it.
    func clause(on target: String?, _ explanations: [Explanation]) -> String {
        let found = explanations.lazy.compactMap { findings.host("\($0.destination)") }.first
        let tested = target == nil ? internet : found.map(\.sentence)
        return tested ?? "not tested (run `nwpath diagnose\(target.map { " \($0)" } ?? "")`)"
    }

    /// The sentence of a step, with what probes found of the router or the name servers in it.
    func text(of step: ExplanationStep) -> String {
        guard step.verdict != .broken else { return step.text }
        let words = step.text.split { " ,;()".contains($0) }.map(String.init)
        let found: [String] = words.compactMap { word in
            switch step.element {
            case .neighbour: findings.gateway(word).map { "ping \($0.sentence)" }
            case .dns: findings.nameServer(word).map { "\(word) \($0.sentence)" }
            default: nil
            }
        }
        return ([step.text] + found).joined(separator: "; ")
    }
}
