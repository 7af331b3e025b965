// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import CNetlinkGeneric
internal import Glibc
internal import LinuxIO
internal import Netlink

/// A non-blocking generic netlink socket (libnl-genl-3).
@safe struct GenericSocket: ~Copyable {
    private let raw: OpaquePointer
    private var sequence: UInt32 = 0

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
        unsafe nl_socket_set_nonblocking(raw)
    }

    deinit { unsafe nl_socket_free(raw) }

    /// The number of a family; `nil` when the kernel does not have it.
    borrowing func family(_ name: String) -> UInt16? {
        // Both questions go over a socket of their own, which waits for the kernel's immediate answer.
        unsafe UInt16(exactly: Self.query { unsafe genl_ctrl_resolve($0, name) })
    }

    borrowing func join(_ group: String, of family: String) -> Bool {
        let number = unsafe Self.query { unsafe genl_ctrl_resolve_grp($0, family, group) }
        guard number >= 0 else { return false }
        return unsafe nl_socket_add_membership(raw, number) >= 0
    }

    private static func query(_ question: (OpaquePointer) -> Int32) -> Int32 {
        guard let socket = unsafe nl_socket_alloc() else { return -1 }
        defer { unsafe nl_socket_free(socket) }
        guard unsafe genl_connect(socket) >= 0 else { return -1 }
        return unsafe question(socket)
    }

    /// Sends a question to the kernel.
    /// - Returns: The number that its answers carry.
    @discardableResult
    mutating func send(_ question: Question) throws(ProviderError) -> UInt32 {
        sequence &+= 1
        var bytes = question.message(sequence: sequence)
        let code = unsafe bytes.withUnsafeMutableBytes { unsafe nl_sendto(raw, $0.baseAddress, $0.count) }
        guard code >= 0 else { throw .system(call: "sendmsg", code: .current) }
        return sequence
    }

    /// Reads one datagram of the kernel; what anybody else sends is passed over (rule S8).
    /// - Returns: `nil` when there is none now.
    borrowing func receive() throws(Errno) -> ArraySlice<UInt8>? {
        var bytes = [UInt8](repeating: 0, count: 32_768)
        var origin = nwp_netlink_origin()
        for _ in 0..<64 {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe nwp_netlink_receive(descriptor, $0.baseAddress, $0.count, 1, &origin)
            }
            guard count >= 0 else {
                let code = Errno(Int32(count))
                if code == .again { return nil }
                throw code
            }
            guard origin.port == 0 else { continue }
            // Half a datagram is none.
            guard origin.truncated == 0 else { throw Errno(EMSGSIZE) }
            return bytes[..<count]
        }
        return nil
    }
}

extension GenericSocket {
    /// Sends a request about one thing and returns the reply or the kernel's refusal, which come within the call.
    mutating func reply(to request: Question) throws(ProviderError) -> GenericMessage {
        let number = try send(request)
        for _ in 0..<16 {
            let bytes: ArraySlice<UInt8>?
            do throws(Errno) { bytes = try receive() } catch {
                throw .system(call: "recv", code: error)
            }
            guard let bytes else { throw .timedOut }
            if let message = GenericMessage.parse(bytes).first(where: { $0.sequence == number }) { return message }
        }
        throw .malformed(what: "replies to other requests")
    }
}

extension Question {
    /// A question to a generic family, without attributes.
    init(family: UInt16, command: UInt8, isDump: Bool = false) {
        // struct genlmsghdr: the command, the version of the interface, and two reserved bytes.
        self.init(type: family, flags: isDump ? Self.dump : 0, body: [command, 1, 0, 0])
    }
}
