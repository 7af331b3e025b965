// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CSystemd

public struct BusSignal: Hashable, Sendable {
    /// The unique name of the connection that sent it.
    public var sender: String
    public var path: String
    public var interface: String
    public var member: String
    public var arguments: [BusValue]
}

extension BusSignal {
    /// Reads the header of a signal; `nil` for any other message.
    ///
    /// The values are still to be read.
    init?(header message: OpaquePointer) {
        var type: UInt8 = 0
        guard unsafe sd_bus_message_get_type(message, &type) >= 0, type == UInt8(SD_BUS_MESSAGE_SIGNAL) else {
            return nil
        }
        func text(_ pointer: UnsafePointer<CChar>?) -> String {
            unsafe pointer.map { unsafe String(cString: $0) } ?? ""
        }
        sender = unsafe text(sd_bus_message_get_sender(message))
        path = unsafe text(sd_bus_message_get_path(message))
        interface = unsafe text(sd_bus_message_get_interface(message))
        member = unsafe text(sd_bus_message_get_member(message))
        arguments = []
    }
}
