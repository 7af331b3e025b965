// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Documents
public import OrderedJSON
public import PathModel

/// `interface.added` and `interface.removed`: an interface appeared, or is gone and described as it was last.
public struct InterfacePresence: EventBody, MemberDeclaring {
    let interface: InterfaceDocument
    let isAdded: Bool
    let cause: EventCause

    public init(_ interface: InterfaceDocument, isAdded: Bool, cause: EventCause) {
        self.interface = interface
        self.isAdded = isAdded
        self.cause = cause
    }

    public var name: EventName { isAdded ? .interfaceAdded : .interfaceRemoved }
    public var severity: Severity { interface.required && !isAdded ? .warning : .info }
    public var message: String { "\(interface.name) \(isAdded ? "appeared" : "was removed")" }

    public static let members = Members<Self>.object()
        .member("interface") { $0.interface }
        .added("cause") { $0.cause }
}

/// `interface.changed`: an interface is not what it was.
public struct InterfaceChanged: EventBody, MemberDeclaring {
    let interface: InterfaceDocument
    let changed: [String]
    let previous: InterfaceDocument
    let cause: EventCause

    public static let members = Members<Self>.object()
        .member("interface") { $0.interface }
        .member("changed", "The members that differ.") { $0.changed }
        .member("previous") { $0.previous }
        .added("cause") { $0.cause }

    /// Describes a change.
    ///
    /// - Parameters:
    ///   - interface: What it is now.
    ///   - changed: The members that differ.
    ///   - previous: What it was.
    ///   - cause: What led to it.
    public init(
        _ interface: InterfaceDocument,
        changed: [InterfaceField],
        previous: InterfaceDocument,
        cause: EventCause
    ) {
        self.interface = interface
        self.changed = changed.map(\.rawValue)
        self.previous = previous
        self.cause = cause
    }

    public var name: EventName { .interfaceChanged }
    public var severity: Severity {
        interface.usable || interface.problem == .enslaved || interface.problem == .ignored ? .info : .warning
    }
    public var message: String {
        let (name, fields) = (interface.name, Set(changed))
        if fields.contains("name") { return "\(previous.name) is now called \(name)" }
        if fields.contains("up") { return "\(name) was set \(interface.up ? "up" : "down")" }
        if fields.contains("carrier") { return "\(name) \(interface.carrier ? "has carrier" : "lost carrier")" }
        if fields.contains("operstate") { return "\(name) is \(interface.operstate)" }
        if fields.contains("master") {
            return interface.master.map { "\(name) became a port of \($0)" } ?? "\(name) is no longer a port"
        }
        if fields == ["alternative_names"], !interface.alternativeNames.isEmpty {
            return "\(name) is also called \(interface.alternativeNames.joined(separator: ", "))"
        }
        if fields == ["wifi"] { return "\(name) is associated with \(interface.wifi?.network ?? "a network")" }
        let values = changed.compactMap(InterfaceField.init).map { "\($0.rawValue) to \(value(of: $0))" }
        return "\(name) changed \(values.joined(separator: ", "))"
    }

    private func value(of field: InterfaceField) -> String {
        switch field {
        case .name: interface.name
        case .alternativeNames:
            interface.alternativeNames.isEmpty ? "none" : interface.alternativeNames.joined(separator: " ")
        case .type: interface.type.rawValue
        case .up: "\(interface.up)"
        case .carrier: "\(interface.carrier)"
        case .operstate: interface.operstate
        case .mtu: "\(interface.mtu)"
        case .hardwareAddress: interface.hardwareAddress ?? "none"
        case .master: interface.master ?? "none"
        case .required: "\(interface.required)"
        case .ignored: "\(interface.ignored)"
        case .expensive: "\(interface.isExpensive)"
        case .constrained: "\(interface.isConstrained)"
        case .wifi: interface.wifi?.network ?? "none"
        }
    }
}

/// `interface.redundancy_lost` and `interface.redundancy_restored`: a port of a bond, team or HSR link failed, or all work again.
public struct RedundancyChanged: EventBody, MemberDeclaring {
    let interface: InterfaceDocument
    let isLost: Bool
    let cause: EventCause

    public init(_ interface: InterfaceDocument, isLost: Bool, cause: EventCause) {
        self.interface = interface
        self.isLost = isLost
        self.cause = cause
    }

    public var name: EventName { isLost ? .redundancyLost : .redundancyRestored }
    public var severity: Severity { isLost ? .warning : .info }
    public var message: String {
        guard let ports = interface.ports else { return "\(interface.name) has no ports" }
        let count = "\(ports.working) of \(ports.total)"
        guard isLost else { return "\(interface.name) has \(count) working ports again" }
        let failed = ports.failed.joined(separator: ", ")
        return "\(interface.name) has \(count) working ports; \(failed) failed"
    }

    public static let members = Members<Self>.object()
        .member("interface") { $0.interface }
        .added("cause") { $0.cause }
}

/// `address.added` and `address.removed`: an interface gained or lost an address.
public struct AddressChanged: EventBody, MemberDeclaring {
    let interface: InterfaceReference
    let address: AddressDocument
    let cause: EventCause
    let isAdded: Bool

    public init(_ address: AddressDocument, on interface: InterfaceReference, isAdded: Bool, cause: EventCause) {
        self.address = address
        self.interface = interface
        self.isAdded = isAdded
        self.cause = cause
    }

    public var name: EventName { isAdded ? .addressAdded : .addressRemoved }
    public var severity: Severity { .info }
    public var message: String {
        "\(interface.name) \(isAdded ? "gained" : "lost") \(address.address)/\(address.prefixLength)"
    }

    public static let members = Members<Self>.object()
        .member("interface") { $0.interface }
        .member("address") { $0.address }
        .added("cause") { $0.cause }
}
