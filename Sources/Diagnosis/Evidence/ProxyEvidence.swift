// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A request through a proxy that the environment names.
package struct ProxyEvidence: Hashable, Sendable {
    /// The environment variable, such as `https_proxy`.
    package var variable: String
    /// Its value without a password; `nil` where that cannot be shown.
    package var url: String?
    /// The host that was requested.
    package var host: String
    /// Whether the proxy accepted the connection.
    package var isReached: Bool
    /// Why there was no answer of the host; `nil` where there was one.
    package var failure: String?
    /// Where the proxy is, where that is known.
    package var domain: FaultDomain?

    /// Such as `the proxy http://10.0.0.1:3128`.
    package var name: String { url.map { "the proxy \($0)" } ?? "the proxy of \(variable)" }

    package init(_ variable: String, _ url: String?, host: String, isReached: Bool, failure: String?) {
        self.variable = variable
        self.url = url
        self.host = host
        self.isReached = isReached
        self.failure = failure
    }
}
