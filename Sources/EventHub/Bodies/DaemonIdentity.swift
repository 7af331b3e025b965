// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Who writes the records: constant while the process lives.
public struct DaemonIdentity: Sendable, Hashable {
    /// The version, such as `0.1.0`.
    public let version: String
    /// The source revision it was built from; `unknown` where none was set.
    public let revision: String
    public let processID: Int32
    /// The kernel's boot id, 32 hexadecimal digits (`/proc/sys/kernel/random/boot_id`); `nil` when unreadable.
    public let bootID: String?

    public init(version: String, revision: String, processID: Int32, bootID: String?) {
        self.version = version
        self.revision = revision
        self.processID = processID
        self.bootID = bootID
    }
}
