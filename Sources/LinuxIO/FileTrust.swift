// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Decides whether a file or a directory may be used, or whether somebody else may have prepared it.
///
/// Pure: what fstat(2) says in, a refusal out. Root and the running user are trusted. What lies in a directory that only
/// they can write to was put there by them, whoever owns it. In any other directory an entry must belong to them, or to
/// the owner of the directory, as `fs.protected_regular` has it (proc(5)); this rule holds with and without those settings.
public struct FileTrust: Hashable, Sendable {
    /// The user who runs the program.
    public var user: UInt32
    /// Whether user 65534 stands for owners that this user namespace does not map (user_namespaces(7)).
    public var hasUnmappedOwners: Bool

    public init(user: UInt32, hasUnmappedOwners: Bool = false) {
        self.user = user
        self.hasUnmappedOwners = hasUnmappedOwners
    }

    /// That of this process.
    public static var current: FileTrust { FileTrust(user: geteuid(), hasUnmappedOwners: isPartlyMapped) }

    private static let isPartlyMapped = isPartial(uidMap: ProcFile.text("/proc/self/uid_map") ?? "")

    /// Whether `/proc/self/uid_map` leaves users out.
    static func isPartial(uidMap: String) -> Bool {
        let counts = uidMap.split(separator: "\n").compactMap { $0.split(separator: " ").last.flatMap { UInt64($0) } }
        return !counts.isEmpty && counts.reduce(0, +) < UInt64(UInt32.max)
    }

    /// What fstat(2) says of a file.
    public struct Facts: Hashable, Sendable {
        public enum Kind: Hashable, Sendable { case directory, link, regular, other }

        public var kind: Kind
        public var owner: UInt32
        /// The permissions, without the kind.
        public var mode: UInt32
        public var links: UInt64

        public init(_ kind: Kind, owner: UInt32, mode: UInt32, links: UInt64 = 1) {
            self.kind = kind
            self.owner = owner
            self.mode = mode
            self.links = links
        }
    }

    /// What a file is opened for.
    public enum Purpose: Hashable, Sendable {
        /// A regular file that not everybody may write to, and no link.
        case state
        /// A regular file that nobody else may read or write, and no link.
        case secret
        /// A regular file that not everybody may write to; only trusted users may have linked it.
        case log
        /// Written only: only trusted users may have linked it or made it a device or a pipe.
        case output
    }

    /// Whether others than root and the user can make, rename or remove entries of a directory.
    public func isOpen(_ directory: Facts) -> Bool {
        directory.mode & 0o022 != 0 || !(isTrusted(directory.owner) || isUnmapped(directory.owner))
    }

    /// Why a directory, or a link on the path to one, is not entered; `nil` when it is.
    public func refusal(entering entry: Facts, in directory: Facts) -> FileRefusal.Cause? {
        guard isOpen(directory), !isTrusted(entry.owner) else { return nil }
        if entry.kind == .link { return .foreignLink(owner: entry.owner) }
        return isOwner(entry.owner, of: directory) ? nil : .foreignDirectory(owner: entry.owner)
    }

    /// Why a file is not opened; `nil` when it is, or when it is a link that may be followed.
    public func refusal(opening file: Facts, in directory: Facts, for purpose: Purpose) -> FileRefusal.Cause? {
        let isOpen = isOpen(directory)
        switch file.kind {
        case .directory: return .failed(Errno(EISDIR))
        case .link: return isOpen ? .link : purpose == .log || purpose == .output ? nil : .failed(Errno(ELOOP))
        case .other: return purpose == .output && !isOpen ? nil : .notRegular
        case .regular: break
        }
        if isOpen, !isTrusted(file.owner), !isOwner(file.owner, of: directory) {
            return .foreignFile(owner: file.owner)
        }
        // A hard link makes a file appear here that its maker may not write to.
        if isOpen, file.links > 1 { return .hardLinked }
        if purpose == .secret, file.mode & 0o077 != 0 { return .exposed(mode: file.mode) }
        return file.mode & 0o002 == 0 ? nil : .writable(mode: file.mode)
    }

    private func isTrusted(_ owner: UInt32) -> Bool { owner == 0 || owner == user }

    private func isUnmapped(_ owner: UInt32) -> Bool { hasUnmappedOwners && owner == 65534 && owner != user }

    /// All unmapped owners have the same number, so none of them is known to be the directory's.
    private func isOwner(_ owner: UInt32, of directory: Facts) -> Bool {
        owner == directory.owner && !isUnmapped(owner)
    }
}

/// Why a path is not used.
public struct FileRefusal: Error, Hashable, Sendable {
    public enum Cause: Error, Hashable, Sendable {
        /// A system call failed.
        case failed(Errno)
        /// Somebody else made the directory where others may make one.
        case foreignDirectory(owner: UInt32)
        /// Somebody else made the link where others may make one.
        case foreignLink(owner: UInt32)
        /// Somebody else made the file where others may make one.
        case foreignFile(owner: UInt32)
        /// A link to a file in a directory where others could lead it elsewhere.
        case link
        /// The file has other names, in a directory where others may give it one.
        case hardLinked
        /// A secret that others may read or write.
        case exposed(mode: UInt32)
        /// Everybody may write to the file.
        case writable(mode: UInt32)
        case notRegular
    }

    /// The directory, link or file that is refused.
    public let path: String
    public let cause: Cause

    public init(path: String, cause: Cause) {
        self.path = path
        self.cause = cause
    }
}

extension FileRefusal: CustomStringConvertible {
    /// One line for the operator.
    public var description: String { "\(path): \(cause)" }
}

extension FileRefusal.Cause: CustomStringConvertible {
    public var description: String {
        switch self {
        case .failed(let reason): "\(reason)"
        case .foreignDirectory(let owner):
            "the directory belongs to user \(owner), in a directory that other users can write to; "
                + "run as that user, or use another path"
        case .foreignLink(let owner):
            "the symbolic link belongs to user \(owner), in a directory that other users can write to; "
                + "remove it, or use another path"
        case .foreignFile(let owner):
            "the file belongs to user \(owner), in a directory that other users can write to; "
                + "remove it, or use another path"
        case .link: "a symbolic link in a directory that others may write to; name the file itself"
        case .hardLinked: "the file has another name (a hard link) in a directory that others may write to; remove it"
        case .exposed(let mode): "the mode 0\(String(mode, radix: 8)) exposes a secret to other users; use 0600"
        case .writable(let mode): "the mode 0\(String(mode, radix: 8)) lets all users write; use 0640"
        case .notRegular: "not a regular file"
        }
    }

    /// The error number; `EPERM` for what was refused by ``FileTrust``.
    public var reason: Errno { if case .failed(let reason) = self { reason } else { .notPermitted } }
}
