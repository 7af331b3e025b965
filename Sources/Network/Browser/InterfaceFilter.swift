// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Which interfaces parameters allow.
struct InterfaceFilter: Hashable, Sendable {
    let required: NWInterface?
    let requiredType: NWInterface.InterfaceType?
    let prohibited: Set<NWInterface>
    let prohibitedTypes: Set<NWInterface.InterfaceType>

    /// What these values allow; a required type `.other` is none, as in Apple's interface.
    init(_ values: NWParameters.Values) {
        required = values.requiredInterface
        requiredType = values.requiredInterfaceType == .other ? nil : values.requiredInterfaceType
        prohibited = Set(values.prohibitedInterfaces ?? [])
        prohibitedTypes = Set(values.prohibitedInterfaceTypes ?? [])
    }

    /// Whether an interface may be used; interfaces are identified by index.
    func allows(_ interface: NWInterface) -> Bool {
        if let required, required.index != interface.index { return false }
        if let requiredType, requiredType != interface.type { return false }
        return !prohibited.contains { $0.index == interface.index } && !prohibitedTypes.contains(interface.type)
    }
}
