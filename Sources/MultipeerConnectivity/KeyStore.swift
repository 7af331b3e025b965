// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc
internal import LinuxIO
internal import PeerEngine

/// Private keys of this user's archived peers, each in a file that nobody else may read.
///
/// They are in `multipeer` below the first of `$STATE_DIRECTORY` (systemd.exec(5)), `$XDG_STATE_HOME` and
/// `~/.local/state`.
struct KeyStore: Sendable {
    /// Why a key cannot be kept.
    enum Failure: Error, Hashable, CustomStringConvertible {
        /// No directory is known.
        case noDirectory
        /// The file or its directory cannot be used.
        case refused(FileRefusal)

        var description: String {
            switch self {
            case .noDirectory: "neither STATE_DIRECTORY, XDG_STATE_HOME nor HOME names a directory"
            case .refused(let refusal): refusal.description
            }
        }
    }

    let directory: String?

    /// More than a seed has.
    private static let longest = 4096

    /// Another one than that of the environment, for the calling task.
    @TaskLocal static var chosen: KeyStore?

    /// That of the environment.
    static var user: KeyStore {
        if let chosen { return chosen }
        let environment = ProcessInfo.processInfo.environment
        let state = environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
        let home = environment["HOME"].map { $0 + "/.local/state" }
        let parents = [state, environment["XDG_STATE_HOME"], home].compactMap { $0 }
        return KeyStore(directory: parents.first { $0.hasPrefix("/") }.map { $0 + "/multipeer" })
    }

    private static func name(_ key: PeerKey) -> String { "\(key).seed" }

    /// Writes a key, unless it is there.
    func keep(_ identity: PeerIdentity) throws(Failure) {
        guard let directory else { throw .noDirectory }
        guard self.identity(of: identity.key) == nil else { return }
        let opened: TrustedDirectory
        do throws(FileRefusal) {
            opened = try TrustedDirectory(directory, making: 0o700)
        } catch {
            throw .refused(error)
        }
        do throws(Errno) {
            let file = try opened.replacement(of: Self.name(identity.key), mode: 0o600)
            try file.write(identity.seed.span)
            try file.commit()
        } catch {
            throw .refused(FileRefusal(path: "\(directory)/\(Self.name(identity.key))", cause: .failed(error)))
        }
    }

    /// The peer with its private key.
    /// - Returns: `nil` when it is none of this user's, or when somebody else may know or have made the key.
    func identity(of key: PeerKey) -> PeerIdentity? {
        guard let directory,
            let file = try? TrustedDirectory(directory).open(Self.name(key), O_RDONLY, for: .secret),
            let seed = try? file.readAll(upTo: Self.longest), let identity = PeerIdentity(seed: seed),
            identity.key == key
        else { return nil }
        return identity
    }
}
