// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// How many answers go to single hosts: source addresses can be forged, and an answer is longer than its question.
struct UnicastRateLimit: Sendable {
    private struct Account: Sendable {
        var tokens: Double
        var refilled: Duration

        mutating func draw(rate: Double, at now: Duration) -> Bool {
            tokens = min(rate, tokens + max(0, (now - refilled) / .seconds(1)) * rate)
            refilled = now
            guard tokens >= 1 else { return false }
            tokens -= 1
            return true
        }
    }

    /// Answers per second to one host, and to all together; a second's worth may go at once.
    static let perHost = 10.0
    static let inTotal = 50.0
    static let maximumHosts = 256

    private var total = Account(tokens: UnicastRateLimit.inTotal, refilled: .zero)
    private var hosts: [IPAddress: Account] = [:]

    /// Whether one more answer may go to `host`; counts it.
    mutating func allows(_ host: IPAddress, at now: Duration) -> Bool {
        if hosts[host] == nil, hosts.count >= Self.maximumHosts {
            // A host whose bucket is full again needs no entry.
            hosts = hosts.filter { now - $0.value.refilled < .seconds(1) }
            if hosts.count >= Self.maximumHosts { return false }
        }
        var account = hosts[host] ?? Account(tokens: Self.perHost, refilled: now)
        let isAllowed = account.draw(rate: Self.perHost, at: now) && total.draw(rate: Self.inTotal, at: now)
        hosts[host] = account
        return isAllowed
    }
}
