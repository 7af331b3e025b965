// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import LinuxIO
internal import PeerEngine

/// Private keys of this user's archived peers, each in a file that nobody else may read.
///
/// They are in `multipeer` below the first of `$STATE_DIRECTORY` (systemd.exec(5)), `$XDG_STATE_HOME` and
/// `~/.local/state`.
struct KeyStore: Sendable {
    /// Why a key cannot be kept.
    enum Failure: Error, Hashable, CustomStringConvertible {
        /// No place is known.
        case noDirectory
        case cannotWrite(String, Errno)

        var description: String {
            switch self {
            case .noDirectory: "neither STATE_DIRECTORY, XDG_STATE_HOME nor HOME names a directory"
            case .cannotWrite(let path, let error): "\(path): \(error)"
            }
        }
    }

    let directory: String?

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

    private func path(_ key: PeerKey, in directory: String) -> String { "\(directory)/\(key).seed" }

    /// Writes a key, unless it is there.
    func keep(_ identity: PeerIdentity) throws(Failure) {
        guard let directory else { throw .noDirectory }
        let path = path(identity.key, in: directory)
        guard self.identity(of: identity.key) == nil else { return }
        let access: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        do {
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true,
                attributes: access
            )
        } catch {
            throw .cannotWrite(directory, Errno.current)
        }
        do throws(Errno) {
            try FileReplacement.write(identity.seed, to: path, mode: 0o600)
        } catch {
            throw .cannotWrite(path, error)
        }
    }

    /// The peer with its private key.
    /// - Returns: `nil` when it is none of this user's.
    func identity(of key: PeerKey) -> PeerIdentity? {
        guard let directory, let data = FileManager.default.contents(atPath: path(key, in: directory)),
            let identity = PeerIdentity(seed: Array(data)), identity.key == key
        else { return nil }
        return identity
    }
}
