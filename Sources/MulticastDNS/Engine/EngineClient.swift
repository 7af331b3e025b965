// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Who wants something of an engine: the census, a browse, a lookup.
///
/// Called on the loop's thread only. A client may attach and detach others from within any call.
protocol EngineClient: AnyObject {
    /// What it queries; read when it attaches, and by ``MulticastEngine/changeCensus(of:)``.
    var subscription: Subscription { get }
    /// When ``advance(to:)`` is to be called next.
    var nextDeadline: Duration? { get }
    func receive(_ events: [DirectoryEvent], on link: LinkIdentity, at now: Duration)
    func advance(to now: Duration)
    func linkOpened(at now: Duration)
}

extension EngineClient {
    var nextDeadline: Duration? { nil }
    func advance(to now: Duration) {}
    func linkOpened(at now: Duration) {}
}
