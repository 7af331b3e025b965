// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel

/// What somebody wants to know of the path; two monitors with the same question share its answer.
struct PathQuestion: Hashable, Sendable {
    /// Only interfaces of this type count.
    var requiredType: NWInterface.InterfaceType?
    /// Interfaces of these types do not count.
    var prohibitedTypes: Set<NWInterface.InterfaceType> = []
    /// The name of the interface that packets are bound to.
    var interface: String?

    /// The question as the engine needs it, under a name that no other question has.
    var policy: MonitorPolicy {
        guard self != PathQuestion() else { return MonitorPolicy() }
        return MonitorPolicy(
            name: name,
            requiredType: requiredType?.modelType,
            prohibitedTypes: Set(prohibitedTypes.map(\.modelType)),
            outputInterface: interface
        )
    }

    /// The name of the question among the monitors of the engine.
    var name: String {
        guard self != PathQuestion() else { return MonitorPolicy.standardName }
        let required = requiredType.map { "required \($0.modelType.rawValue)" }
        let prohibited = prohibitedTypes.map(\.modelType.rawValue).sorted().map { "prohibited \($0)" }
        return ([required].compactMap(\.self) + prohibited + [interface.map { "bound to \($0)" }].compactMap(\.self))
            .joined(separator: ", ")
    }
}
