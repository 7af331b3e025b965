// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

internal import Spelling

/// What the operator says of an interface; `nil` leaves it to the kernel and the providers.
public struct InterfaceSettings: Hashable, Sendable {
    /// The type instead of the detected one (rule S11).
    public var type: InterfaceType?
    /// Whether its absence or failure is worth an alert.
    public var isRequired: Bool?
    /// Whether its traffic costs money (rule S37).
    public var isExpensive: Bool?
    /// Whether traffic should be saved (rule S38).
    public var isConstrained: Bool?
    /// Whether it carries next to nothing, as a satellite link (rule S38).
    public var isUltraConstrained: Bool?
}

extension InterfaceSettings: ConfigurationEntry {
    static let settings: [Setting<InterfaceSettings>] = [
        Setting("type", \.type, ValueForm.choice.optional, "The type instead of the detected one."),
        Setting("required", \.isRequired, ValueForm.boolean.optional, "Alert when it is missing or down."),
        Setting("expensive", \.isExpensive, ValueForm.boolean.optional, "Traffic is metered."),
        Setting("constrained", \.isConstrained, ValueForm.boolean.optional, "Traffic should be kept low."),
        Setting(
            "ultra_constrained",
            \.isUltraConstrained,
            ValueForm.boolean.optional,
            "It carries very little traffic, such as a satellite link."
        ),
    ]
}

extension ValueForm where Value == String {
    static let interfacePattern = ValueForm(
        scalar: Glob.expectation,
        schema: ["type": "string", "minLength": 1, "maxLength": 256],
        parse: { (text) throws(Refusal) in
            guard let glob = Glob(text), !glob.isLiteral || text.utf8.count <= InterfacePolicy.longestName else {
                throw .malformed
            }
            return text
        },
        write: { .text($0) }
    )
}
