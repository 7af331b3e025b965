// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

enum Capability {
    /// How the program gets a capability such as `cap_net_raw`.
    static func advice(_ name: String) -> String {
        "run it as root, or `sudo setcap \(name)+ep $(command -v nwpath)`"
    }
}
