// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

/// `nwpath why` as somebody runs it inside a namespace.
struct WhyProgram {
    let namespace: Namespace

    /// What it printed, and how it ended.
    struct Run {
        let text: String
        let code: Int32

        var firstLine: String { String(text.prefix { $0 != "\n" }) }

        /// The line of an element in the first chain.
        func line(_ element: String) -> String {
            let lines = text.split(separator: "\n").map(String.init)
            return lines.first { $0.dropFirst(2).hasPrefix(element + " ") } ?? ""
        }
    }

    /// Runs it and takes any exit code for an answer.
    func run(_ words: String..., without capabilities: String? = nil) throws -> Run {
        do {
            let limits = capabilities.map { ["setpriv", "--bounding-set=\($0)"] } ?? []
            let text = try namespace.run(limits + [try BuiltProgram.path(), "why"] + words)
            return Run(text: LiveJSON.check(text), code: 0)
        } catch let failure as CommandFailure {
            return Run(text: LiveJSON.check(failure.output), code: failure.code)
        }
    }
}

extension Namespace {
    /// Gives this namespace an uplink named `eth0` with addresses of both families, and default routes.
    /// - Returns: The other end, which has to stay alive.
    func uplink() throws -> Namespace {
        let peer = try Namespace()
        try connect("eth0", to: peer, as: "p0")
        try ip("addr add 192.0.2.2/24 dev eth0")
        try ip("addr add 2001:db8:1::2/64 dev eth0 nodad")
        try peer.ip("addr add 192.0.2.1/24 dev p0")
        try peer.ip("addr add 2001:db8:1::1/64 dev p0 nodad")
        try ip("route add default via 192.0.2.1 metric 100 proto dhcp")
        try ip("-6 route add default via 2001:db8:1::1 metric 100")
        try waitForAddresses(on: "eth0")
        return peer
    }
}
