// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public struct BusMethod: Hashable, Sendable {
    public var destination: String
    public var path: String
    public var interface: String
    public var member: String

    public init(_ destination: String, _ path: String, _ interface: String, _ member: String) {
        self.destination = destination
        self.path = path
        self.interface = interface
        self.member = member
    }

    /// A method of the bus itself.
    static func broker(_ member: String) -> BusMethod {
        BusMethod("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member)
    }
}

/// Receives the events of a bus; called on the loop's thread.
protocol BusListener: AnyObject {
    /// The bus is there; nothing of an earlier connection is left.
    func busDidConnect()
    func busDidDisconnect(_ error: ProviderError)
    /// Whether a signal, whose values are not read yet, is wanted.
    func wants(_ signal: BusSignal) -> Bool
    func receive(_ signal: BusSignal)
}
