// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

/// The conditions of a monitor, as those of Apple's path monitor.
public struct MonitorSettings: Hashable, Sendable {
    /// The only type of interface that counts; `nil` is any.
    public var requiredType: InterfaceType?
    public var prohibitedTypes: [InterfaceType] = []
}

extension MonitorSettings: ConfigurationEntry {
    static let settings: [Setting<MonitorSettings>] = [
        Setting("required_type", \.requiredType, ValueForm.choice.optional, "The only type of interface that is used."),
        Setting(
            "prohibited_types",
            \.prohibitedTypes,
            ValueForm.choice.list(upTo: 5),
            "Types of interfaces that are not used."
        ),
    ]
}

/// Whose traffic a view covers (rule S29).
public struct ViewSettings: Hashable, Sendable {
    /// The firewall mark; `nil` is none.
    public var mark: UInt32?
    /// The user id; `nil` is the service's own.
    public var userID: UInt32?
    /// The interface or VRF that traffic is bound to.
    public var outputInterface: String?
}

extension ViewSettings: ConfigurationEntry {
    static let settings: [Setting<ViewSettings>] = [
        Setting(
            "mark",
            \.mark,
            ValueForm.word(upTo: .max, isHexadecimal: true).optional,
            "Firewall mark, decimal or 0x and hexadecimal."
        ),
        Setting(
            "uid",
            \.userID,
            ValueForm.word(upTo: .max - 1, isHexadecimal: false).optional,
            "User id whose traffic it is for."
        ),
        Setting("oif", \.outputInterface, ValueForm.interface.optional, "Interface or VRF that traffic is bound to."),
    ]
}
