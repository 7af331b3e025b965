// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import OrderedJSON

/// What active probes last found at the addresses of gateways, name servers and hosts.
struct ProbeFindings {
    struct Finding: Equatable {
        let isGood: Bool
        /// Its duration or what failed, and its age, such as `4.00 ms, 3 s ago`.
        let detail: String

        /// Such as `answers, 4.00 ms, 3 s ago` or `fails: timeout, 3 s ago`.
        var sentence: String { (isGood ? "answers, " : "fails: ") + detail }
    }

    private let probes: [JSONValue]
    private let now: WallTime

    /// Reads the list of `/api/v1/probes`.
    init(_ probes: [JSONValue], now: WallTime) {
        (self.probes, self.now) = (probes, now)
    }

    /// A gateway that a probe pings; `nil` where none does, or has no result yet.
    func gateway(_ address: String) -> Finding? { newest(at: address) { $0 == "icmp" } }

    /// A name server, with or without its port, that a probe queries; likewise.
    func nameServer(_ server: String) -> Finding? { newest(at: Self.address(of: server)) { $0 == "dns" } }

    /// A host that a probe tests by anything but a query; likewise.
    func host(_ address: String) -> Finding? { newest(at: address) { $0 != "dns" } }

    private func newest(at address: String, by isWanted: (String) -> Bool) -> Finding? {
        let results = probes.filter { isWanted($0.text("method")) }.compactMap { $0["last"] }
            .filter { $0.text("address") == address && $0["success"]?.bool != nil }
        guard let last = results.max(by: { $0.text("time") < $1.text("time") }) else { return nil }
        let isGood = last.isTrue("success")
        let detail = isGood ? ProbeText.time(last["duration_seconds"]?.double) : last.text("reason")
        let age = AgeText.since(last["time"]?.string, now: now).map { ", \($0) ago" } ?? ""
        return Finding(isGood: isGood, detail: detail + age)
    }

    /// The address of `192.0.2.53:5353` or `[2001:db8::53]:5353`.
    private static func address(of server: String) -> String {
        if server.hasPrefix("[") { return String(server.dropFirst().prefix { $0 != "]" }) }
        let parts = server.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[0]) : server
    }
}
