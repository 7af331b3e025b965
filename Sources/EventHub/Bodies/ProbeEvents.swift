// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Documents
internal import LinuxIO
public import OrderedJSON
public import Probes

struct ProbeReference: MemberDeclaring, Sendable {
    let state: ProbeState
    let result: ProbeResult
    var isPortal = false

    static let members = Members<Self>.named("Probe", "An active probe.")
        .member("name") { $0.state.definition.name }
        .optional("method", as: .oneOf(ProbeMethod.self)) { $0.isPortal ? nil : $0.state.definition.method.rawValue }
        .optional("target") { $0.isPortal ? nil : $0.target }
        .optional("url") { $0.isPortal ? $0.target : nil }
        .member("interface", "The requested interface.") {
            $0.state.definition.route.interface.map(InterfaceReference.init(named:))
        }
        .member("http_status", "The status of an HTTP answer; `null` for other methods.") { $0.result.page?.status }
        .member("location", "Where an HTTP answer leads; `null` when it leads nowhere.") { $0.result.page?.location }

    /// What is tested; for the gateway, its present address.
    var target: String {
        guard state.definition.target == .gateway, let address = result.address else {
            return "\(state.definition.target)"
        }
        return "\(address)"
    }

    /// `Probe gateway`, as messages begin.
    var subject: String { "Probe \(state.definition.name)" }
}

/// `probe.failed`: an active probe failed as often in a row as the configuration says.
public struct ProbeFailed: EventBody, MemberDeclaring {
    let probe: Content

    struct Content: MemberDeclaring, Sendable {
        let reference: ProbeReference
        let reason: ProbeReason
        let detail: String

        static let members = Members<Self>(ProbeReference.form.extended) { $0.reference }
            .member("consecutive_failures") { $0.reference.state.schedule.consecutiveFailures }
            .member("reason", as: .oneOf(ProbeReason.self)) { $0.reason.rawValue }
            .member("message", "The reason, for people.") { $0.detail }
            .added("timeout_seconds", as: .seconds) { Rounded.seconds($0.reference.state.definition.timeout) }
    }

    /// Describes a probe that fails, by its last result.
    public init(_ state: ProbeState, _ result: ProbeResult) {
        var (reason, detail) = (ProbeReason.answer, "")
        if case .failure(let known, let text) = result.outcome { (reason, detail) = (known, text) }
        probe = Content(
            reference: ProbeReference(state: state, result: result),
            reason: reason,
            detail: detail
        )
    }

    public var name: EventName { .probeFailed }
    public var severity: Severity { .warning }
    public var message: String {
        let count = probe.reference.state.schedule.consecutiveFailures
        let times = count == 1 ? "" : " \(count) times"
        return "\(probe.reference.subject) failed\(times): \(probe.reason.rawValue)"
    }

    public static let members = Members<Self>.object().member("probe") { $0.probe }
}

/// `probe.recovered`: an active probe that had failed succeeds again.
public struct ProbeRecovered: EventBody, MemberDeclaring {
    let probe: Content

    struct Content: MemberDeclaring, Sendable {
        let reference: ProbeReference
        let failed: Duration

        static let members = Members<Self>(ProbeReference.form.extended) { $0.reference }
            .added("duration_seconds", as: .seconds) { Rounded.seconds($0.reference.result.duration) }
            .added("failed_seconds", as: .seconds, "For how long it had failed.") { Rounded.seconds($0.failed) }
    }

    /// Describes a probe, its first right result, and for how long it had failed.
    public init(_ state: ProbeState, _ result: ProbeResult, after failed: Duration) {
        probe = Content(reference: ProbeReference(state: state, result: result), failed: failed)
    }

    public var name: EventName { .probeRecovered }
    public var severity: Severity { .info }
    public var message: String { "\(probe.reference.subject) succeeds again" }

    public static let members = Members<Self>.object().member("probe") { $0.probe }
}

/// `captive_portal.detected` and `captive_portal.cleared`: something else answers an HTTP probe, or no longer.
public struct CaptivePortal: EventBody, MemberDeclaring {
    let probe: ProbeReference
    let isDetected: Bool

    public init(_ state: ProbeState, _ result: ProbeResult, isDetected: Bool) {
        probe = ProbeReference(state: state, result: result, isPortal: true)
        self.isDetected = isDetected
    }

    public var name: EventName { isDetected ? .captivePortalDetected : .captivePortalCleared }
    public var severity: Severity { isDetected ? .warning : .info }
    public var message: String {
        let subject = "HTTP probe \(probe.state.definition.name)"
        guard isDetected else { return "\(subject) is no longer intercepted by a captive portal" }
        let wasRedirected = probe.result.page?.location != nil
        return "\(subject) was " + (wasRedirected ? "redirected" : "answered by a captive portal")
    }

    public static let members = Members<Self>.object().member("probe") { $0.probe }
}
