// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Where nwpath keeps things when nobody says otherwise, as a function of user and environment alone.
///
/// Directories that systemd prepared (`RUNTIME_DIRECTORY`, `STATE_DIRECTORY`, `LOGS_DIRECTORY`,
/// `CONFIGURATION_DIRECTORY`, systemd.exec(5)) come first. Then root has `/run`, `/var/lib`, `/var/log` and `/etc`;
/// an ordinary user has the directories of the XDG base directory specification, whose relative values are ignored.
/// Without `XDG_RUNTIME_DIR` the socket lies in `/tmp/nwpath-UID`, which the server must create with mode 0700 and
/// must refuse when somebody else owns it; without `HOME`, state and configuration lie there too.
public struct StandardPaths: Hashable, Sendable {
    public let socket: String
    public let stateDirectory: String
    public let logFile: String
    public let configurationFile: String

    /// The sockets a client tries, its own user's first, the system's after it.
    public var clientSockets: [String] {
        socket == Self.systemSocket ? [socket] : [socket, Self.systemSocket]
    }

    /// The socket of a service that root or systemd started.
    public static let systemSocket = "/run/nwpath/api.sock"

    /// Works out the paths.
    /// - Parameters:
    ///   - userID: The effective user id; 0 is root.
    ///   - environment: The process environment.
    public init(userID: UInt32, environment: [String: String]) {
        func directory(_ name: String) -> String? {
            guard let first = environment[name]?.split(separator: ":").first, first.hasPrefix("/") else { return nil }
            return first.count > 1 && first.hasSuffix("/") ? String(first.dropLast()) : String(first)
        }
        let fallback = "/tmp/nwpath-\(userID)"
        func home(_ variable: String, _ below: String) -> String {
            if let base = directory(variable) { return base + "/nwpath" }
            if let home = directory("HOME") { return "\(home)/\(below)/nwpath" }
            return fallback
        }
        let isRoot = userID == 0
        let runtime =
            directory("RUNTIME_DIRECTORY")
            ?? (isRoot ? "/run/nwpath" : directory("XDG_RUNTIME_DIR").map { $0 + "/nwpath" } ?? fallback)
        let state =
            directory("STATE_DIRECTORY") ?? (isRoot ? "/var/lib/nwpath" : home("XDG_STATE_HOME", ".local/state"))
        let logs = directory("LOGS_DIRECTORY") ?? (isRoot ? "/var/log/nwpath" : state)
        let configuration =
            directory("CONFIGURATION_DIRECTORY") ?? (isRoot ? "/etc/nwpath" : home("XDG_CONFIG_HOME", ".config"))
        socket = runtime + "/api.sock"
        stateDirectory = state
        logFile = logs + "/events.jsonl"
        configurationFile = configuration + "/nwpath.yaml"
    }
}
