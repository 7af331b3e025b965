// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
internal import Glibc
internal import LinuxIO

/// Owns one listening socket, and the file of a unix one.
struct ListeningSocket: ~Copyable {
    /// What it is bound to, with the port the kernel chose.
    let address: ListenAddress
    let descriptor: FileDescriptor
    /// The file of a unix socket that is ours to take away.
    private let file: SocketFile?
    private static let backlog: Int32 = 512

    /// Opens and binds; a stale unix socket, which nobody serves, is replaced.
    ///
    /// The file of a unix socket gets the permissions `mode`.
    init(_ address: ListenAddress, mode: UInt32 = 0o660) throws(StatusServerError) {
        let raw: Int32
        var bound = address
        switch address {
        case .unix(let path): raw = try Self.openUnix(path, mode: mode, address: address)
        case .tcp(let scoped, let port):
            raw = try Self.openTCP(scoped, port: port, address: address)
            let chosen = nwp_tcp_port(raw)
            if chosen > 0 { bound = .tcp(scoped, port: UInt16(truncatingIfNeeded: chosen)) }
        }
        self.address = bound
        file = if case .unix(let path) = address { SocketFile(path) } else { nil }
        descriptor = FileDescriptor(owning: raw)
    }

    /// Takes a socket that somebody else opened and whose file stays theirs.
    init(handed descriptor: consuming FileDescriptor, name: String) throws(StatusServerError) {
        var (scope, port): (UInt32, UInt16) = (0, 0)
        var bytes = [UInt8](repeating: 0, count: 16)
        var path = [CChar](repeating: 0, count: ListenAddress.longestPath + 2)
        let raw = descriptor.rawValue
        let length = unsafe nwp_listener_address(raw, &bytes, &scope, &port, &path, path.count)
        guard length >= 0 else { throw .notListening(name: name, errno: Errno(length)) }
        if length == 0 {
            let text = String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            address = .unix(path: text)
        } else {
            guard let ip = IPAddress(bytes: bytes.span.extracting(0..<Int(length))) else {
                throw .notListening(name: name, errno: Errno(EAFNOSUPPORT))
            }
            var interface = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
            let hasName = unsafe scope > 0 && if_indextoname(scope, &interface) != nil
            let link = String(decoding: interface.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            address = .tcp(ScopedAddress(ip, scope: hasName ? link : nil), port: port)
        }
        file = nil
        self.descriptor = descriptor
    }

    private static func openTCP(
        _ scoped: ScopedAddress,
        port: UInt16,
        address: ListenAddress
    ) throws(StatusServerError) -> Int32 {
        let bytes = scoped.address.bytes
        let scope = scoped.scope.map { unsafe if_nametoindex($0) } ?? 0
        guard scope > 0 || scoped.scope == nil else { throw .addressNotAvailable(address: address.description) }
        let result = unsafe nwp_tcp_listen(bytes, bytes.count, scope, port, backlog)
        guard result >= 0 else { throw failure(Errno(result), address: address) }
        return result
    }

    /// Closes the socket and takes its file away, unless it is somebody else's.
    consuming func remove() {
        if let file, case .unix(let path) = address, SocketFile(path) == file { _ = unsafe unlink(path) }
    }

    /// What stands in the place of the file that we made, if it is no longer that.
    var loss: SocketLoss? {
        guard let file, case .unix(let path) = address else { return nil }
        let found = SocketFile(path)
        return found == file ? nil : SocketLoss(path: path, found: found)
    }

    private static func openUnix(
        _ path: String,
        mode: UInt32,
        address: ListenAddress
    ) throws(StatusServerError) -> Int32 {
        switch unsafe nwp_path_kind(path) {
        case 0: break
        case 1: try removeStale(path, address: address)
        case 2: throw .pathTaken(path: path)
        case let code: throw .from(Errno(code), address: address.description)
        }
        let result = unsafe nwp_unix_listen(path, mode, backlog)
        guard result >= 0 else {
            let errno = Errno(result)
            if errno == .noEntry { throw .noDirectory(path: path) }
            throw failure(errno, address: address)
        }
        return result
    }

    private static func removeStale(_ path: String, address: ListenAddress) throws(StatusServerError) {
        let result = unsafe nwp_unix_connect(path)
        guard result >= 0 else {
            guard Errno(result) == Errno(ECONNREFUSED) else { throw .from(Errno(result), address: address.description) }
            _ = unsafe unlink(path)
            return
        }
        let probe = FileDescriptor(owning: result)
        throw .addressInUse(address: address.description, owner: PortOwner.peer(of: probe.rawValue)?.description)
    }

    private static func failure(_ errno: Errno, address: ListenAddress) -> StatusServerError {
        guard errno == .addressInUse else { return .from(errno, address: address.description) }
        var owner: String?
        if case .tcp(let scoped, let port) = address {
            owner = PortOwner.listener(family: scoped.address.family, port: port)?.description
        }
        return .addressInUse(address: address.description, owner: owner)
    }
}

/// Which file a path names.
struct SocketFile: Equatable {
    private let identity: [UInt64]
    /// Whether it is a socket of this user.
    let isOwnSocket: Bool

    /// - Returns: `nil` when there is none, or none that can be seen.
    init?(_ path: String) {
        var identity = [UInt64](repeating: 0, count: 4)
        let kind = unsafe nwp_file_identity(path, &identity)
        guard kind >= 0 else { return nil }
        self.identity = identity
        isOwnSocket = kind == 1
    }
}

/// The file of a unix socket is gone, or another one is there.
struct SocketLoss: Equatable {
    let path: String
    let found: SocketFile?

    /// Whether somebody else's file is there, which stays.
    var isForeign: Bool { found.map { !$0.isOwnSocket } ?? false }
}
