// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel

/// What Linux knows beyond Apple's API; every name starts with `linux`, so that portable code is seen to be portable.
extension NWPath {
    /// Why the path is not satisfied, in the words of nwpath's JSON, such as `no_carrier` or `no_default_route`;
    /// `nil` when it is satisfied.
    public var linuxReason: String? { model.reason?.rawValue }

    /// The reason as a clause, such as `eth0 has no carrier`; `nil` when the path is satisfied.
    public var linuxReasonText: String? {
        model.reason.map { ReasonText($0, model.subject).clause }
    }

    /// What mends it, such as `check the cable, the switch port or the access point`; `nil` where there is nothing to
    /// do but wait.
    public var linuxHint: String? { model.reason.flatMap { ReasonText($0, model.subject).hint } }

    /// The types of the interfaces under the tunnels in use; empty without a tunnel.
    public var linuxUnderlyingTypes: [NWInterface.InterfaceType] {
        model.underlyingTypes.map { NWInterface.InterfaceType($0) }
    }

    /// The hash of everything material, sixteen hexadecimal digits: the `pathId` of nwpath's documents.
    public var linuxIdentity: String { model.pathId }

    /// What works but deserves attention, in the words of nwpath's JSON, such as `degraded`.
    public var linuxWarnings: [String] { model.warnings.map(\.rawValue) }
}
