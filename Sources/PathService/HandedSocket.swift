// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CSystemd
internal import Glibc

/// A socket that the service manager opened for this process (sd_listen_fds(3)).
struct HandedSocket: Hashable {
    /// The open descriptor, which belongs to whoever takes it.
    let descriptor: Int32
    /// What the manager calls it: its `FileDescriptorName=`, or its unit.
    let name: String

    /// What was handed to this very process; none without a service manager.
    static func all() -> [HandedSocket] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = unsafe sd_listen_fds_with_names(0, &names)
        guard count > 0, let names = unsafe names else { return [] }
        defer { unsafe free(names) }
        return (0..<count).map { index in
            let name = unsafe names[Int(index)].map { name in
                defer { unsafe free(name) }
                return unsafe String(cString: name)
            }
            return HandedSocket(descriptor: SD_LISTEN_FDS_START + index, name: name ?? "unknown")
        }
    }
}
