// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Documents
internal import LinuxIO
public import OrderedJSON
public import Probes

struct ProbeReference: JSONObjectWritable, Sendable {
    let state: ProbeState
    let result: ProbeResult

    func write(to object: inout JSONObjectWriter) {
        let definition = state.definition
        object.write("name", definition.name)
        object.write("method", definition.method.rawValue)
        object.write("target", target)
        writeAnswer(to: &object)
    }

    /// Writes the requested interface, and what an HTTP answer was.
    func writeAnswer(to object: inout JSONObjectWriter) {
        object.write("interface", state.definition.route.interface.map(InterfaceReference.init(named:)))
        object.write("http_status", result.page?.status)
        object.write("location", result.page?.location)
    }

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
public struct ProbeFailed: EventBody {
    let probe: Content

    struct Content: JSONObjectWritable, Sendable {
        let reference: ProbeReference
        let reason: ProbeReason
        let detail: String

        func write(to object: inout JSONObjectWriter) {
            reference.write(to: &object)
            object.write("consecutive_failures", reference.state.schedule.consecutiveFailures)
            object.write("reason", reason.rawValue)
            object.write("message", detail)
            object.write("timeout_seconds", Rounded.seconds(reference.state.definition.timeout))
        }
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

    /// Writes the members after the envelope.
    public func write(to object: inout JSONObjectWriter) { object.write("probe", probe) }
}

/// `probe.recovered`: an active probe that had failed succeeds again.
public struct ProbeRecovered: EventBody {
    let probe: Content

    struct Content: JSONObjectWritable, Sendable {
        let reference: ProbeReference
        let failed: Duration

        func write(to object: inout JSONObjectWriter) {
            reference.write(to: &object)
            object.write("duration_seconds", Rounded.seconds(reference.result.duration))
            object.write("failed_seconds", Rounded.seconds(failed))
        }
    }

    /// Describes a probe, its first right result, and for how long it had failed.
    public init(_ state: ProbeState, _ result: ProbeResult, after failed: Duration) {
        probe = Content(reference: ProbeReference(state: state, result: result), failed: failed)
    }

    public var name: EventName { .probeRecovered }
    public var severity: Severity { .info }
    public var message: String { "\(probe.reference.subject) succeeds again" }

    /// Writes the members after the envelope.
    public func write(to object: inout JSONObjectWriter) { object.write("probe", probe) }
}

/// `captive_portal.detected` and `captive_portal.cleared`: something else answers an HTTP probe, or no longer.
public struct CaptivePortal: EventBody {
    let probe: Content
    let isDetected: Bool

    struct Content: JSONObjectWritable, Sendable {
        let reference: ProbeReference

        func write(to object: inout JSONObjectWriter) {
            object.write("name", reference.state.definition.name)
            object.write("url", reference.target)
            reference.writeAnswer(to: &object)
        }
    }

    public init(_ state: ProbeState, _ result: ProbeResult, isDetected: Bool) {
        probe = Content(reference: ProbeReference(state: state, result: result))
        self.isDetected = isDetected
    }

    public var name: EventName { isDetected ? .captivePortalDetected : .captivePortalCleared }
    public var severity: Severity { isDetected ? .warning : .info }
    public var message: String {
        let subject = "HTTP probe \(probe.reference.state.definition.name)"
        guard isDetected else { return "\(subject) is no longer intercepted by a captive portal" }
        let wasRedirected = probe.reference.result.page?.location != nil
        return "\(subject) was " + (wasRedirected ? "redirected" : "answered by a captive portal")
    }

    /// Writes the members after the envelope.
    public func write(to object: inout JSONObjectWriter) { object.write("probe", probe) }
}

// MARK: - Forms

extension ProbeReference {
    static var form: Form {
        .named("Probe", "An active probe.")
            .member("name", .text)
            .optional("method", .oneOf(ProbeMethod.self))
            .optional("target", .text)
            .optional("url", .text)
            .member("interface", InterfaceReference.form.orNull, "The requested interface.")
            .member("http_status", .count.orNull, "The status of an HTTP answer; `null` for other methods.")
            .member("location", .text.orNull, "Where an HTTP answer leads; `null` when it leads nowhere.")
    }
}

extension ProbeFailed {
    public static var form: Form { .object().member("probe", Content.form) }
}

extension ProbeFailed.Content {
    static var form: Form {
        ProbeReference.form.extended
            .member("consecutive_failures", .count)
            .member("reason", .oneOf(ProbeReason.self))
            .member("message", .text, "The reason, for people.")
            .added("timeout_seconds", .seconds)
    }
}

extension ProbeRecovered {
    public static var form: Form { .object().member("probe", Content.form) }
}

extension ProbeRecovered.Content {
    static var form: Form {
        ProbeReference.form.extended
            .added("duration_seconds", .seconds)
            .added("failed_seconds", .seconds, "For how long it had failed.")
    }
}

extension CaptivePortal {
    public static var form: Form { .object().member("probe", ProbeReference.form) }
}
