// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Diagnosis
internal import Documents
public import LinuxIO
public import OrderedJSON

/// `verdict.raised` and `verdict.cleared`: a fault of the network is certain enough to be reported, or over.
public struct VerdictChanged: EventBody, MemberDeclaring {
    let verdict: VerdictDocument
    let isRaised: Bool
    private let isBroken: Bool

    /// Describes a verdict and since when its fault was seen.
    public init(_ verdict: Verdict, isRaised: Bool, since: WallTime) {
        self.verdict = VerdictDocument(verdict, since: since.description)
        self.isRaised = isRaised
        isBroken = verdict.severity == .broken
    }

    public var name: EventName { isRaised ? .verdictRaised : .verdictCleared }
    public var severity: Severity {
        guard isRaised else { return .info }
        return isBroken ? .error : .warning
    }
    public var message: String { isRaised ? verdict.message : "resolved: \(verdict.message)" }

    public static let members = Members<Self>.object()
        .member("state", as: .words("raised", "cleared")) { $0.isRaised ? "raised" : "cleared" }
        .member("verdict") { $0.verdict }
}
