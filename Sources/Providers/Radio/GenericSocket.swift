// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetlinkGeneric
internal import Glibc
internal import LinuxIO

/// A non-blocking generic netlink socket (libnl-genl-3).
@safe struct GenericSocket: ~Copyable {
    private let raw: OpaquePointer

    /// The kernel's descriptor; valid while this value lives.
    var descriptor: Int32 { unsafe nl_socket_get_fd(raw) }

    /// Opens a socket in the network namespace of the calling thread.
    init() throws(ProviderError) {
        guard let raw = unsafe nl_socket_alloc() else { throw .system(call: "nl_socket_alloc", code: Errno(ENOMEM)) }
        guard unsafe genl_connect(raw) >= 0 else {
            let code = Errno.current
            unsafe nl_socket_free(raw)
            throw .system(call: "genl_connect", code: code)
        }
        unsafe self.raw = raw
        unsafe nl_socket_disable_auto_ack(raw)
        unsafe nl_socket_set_nonblocking(raw)
    }

    deinit { unsafe nl_socket_free(raw) }

    /// The number of a family; `nil` when the kernel does not have it.
    borrowing func family(_ name: String) -> UInt16? {
        // Both questions go over a socket of their own, which waits for the kernel's immediate answer.
        unsafe UInt16(exactly: Self.ask { unsafe genl_ctrl_resolve($0, name) })
    }

    /// Joins a multicast group of a family.
    borrowing func join(_ group: String, of family: String) -> Bool {
        let number = unsafe Self.ask { unsafe genl_ctrl_resolve_grp($0, family, group) }
        guard number >= 0 else { return false }
        return unsafe nl_socket_add_membership(raw, number) >= 0
    }

    private static func ask(_ question: (OpaquePointer) -> Int32) -> Int32 {
        guard let socket = unsafe nl_socket_alloc() else { return -1 }
        defer { unsafe nl_socket_free(socket) }
        guard unsafe genl_connect(socket) >= 0 else { return -1 }
        return unsafe question(socket)
    }

    /// Sends a dump request; `index` names the interface where the command asks for one.
    /// - Returns: The number that its answers carry.
    @discardableResult
    borrowing func requestDump(family: UInt16, command: UInt8, index: Int?) throws(ProviderError) -> UInt32 {
        guard let message = unsafe nlmsg_alloc() else { throw .system(call: "nlmsg_alloc", code: Errno(ENOMEM)) }
        defer { unsafe nlmsg_free(message) }
        unsafe genlmsg_put(message, 0, 0, Int32(family), 0, Int32(NLM_F_DUMP), command, 0)
        if let index, let number = UInt32(exactly: index) { unsafe nla_put_u32(message, 3, number) }
        guard unsafe nl_send_auto(raw, message) >= 0 else { throw .system(call: "sendmsg", code: Errno.current) }
        guard let header = unsafe nlmsg_hdr(message) else { return 0 }
        return unsafe header.pointee.nlmsg_seq
    }

    /// Reads one datagram; `nil` when there is none now.
    borrowing func receive() throws(Errno) -> ArraySlice<UInt8>? {
        var bytes = [UInt8](repeating: 0, count: 32_768)
        let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
        if count < 0 {
            let code = Errno.current
            if code == .again || code == .interrupted { return nil }
            throw code
        }
        return bytes[..<count]
    }
}
