// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import LinuxIO

/// Serves HTTP/1.1 to a handler, whatever library does it.
///
/// Confined to one event loop. The handler sees requests that passed every guard and answers each exactly once, now
/// or later.
public protocol HTTPServing: AnyObject {
    /// Where it listens, with the ports the kernel chose.
    var addresses: [ListenAddress] { get }
    var connectionCount: Int { get }
    func listen(on address: ListenAddress) throws(StatusServerError)
    /// Takes a listening socket that somebody else opened; `name` is what errors call it.
    func listen(handed descriptor: consuming FileDescriptor, name: String) throws(StatusServerError)
    /// Listens again on the unix sockets whose files are gone.
    /// - Returns: What there is to tell of that.
    func renewSockets() -> [String]
    /// Sends what streams have to send, now.
    func flush()
    /// Stops accepting, lets answers in hand finish within `limit`, closes everything, then calls `completion`.
    func stop(within limit: Duration, completion: @escaping () -> Void)
    /// Breaks everything off at once; must be called, unless it was stopped, before the server is dropped.
    func close()
}

public protocol HTTPResponder: AnyObject {
    /// Answers; only the first call counts. The route names the pattern that matched, for metrics.
    func respond(_ response: HTTPResponse, route: String)
    /// Called when the client goes away before it was answered.
    var onCancelled: (() -> Void)? { get set }
}

public typealias HTTPHandler = (HTTPRequest, any HTTPResponder) -> Void

public struct ServerLimits: Equatable, Sendable {
    public var request = RequestLimits()
    /// The most connections of one listening socket; more get a 503.
    public var connectionsPerListener = 512
    /// The most connections of all TCP sockets, and as many of all unix sockets; never more than the descriptor limit
    /// leaves room for, of which a fifth is kept for the unix sockets.
    public var connections = 1024
    /// From the first byte of a connection or request line to the end of the head, however the bytes trickle.
    public var headDeadline = Duration.seconds(10)
    /// From the end of the head to the end of the body.
    public var bodyDeadline = Duration.seconds(10)
    /// How long a kept-alive connection may be idle.
    public var idleDeadline = Duration.seconds(60)
    /// How long a fixed answer may take to be read.
    public var sendDeadline = Duration.seconds(30)
    /// How long what was sent to a stream may stay unacknowledged.
    ///
    /// With the interval of pings it bounds how long a client that vanished without a word keeps its place. It is longer
    /// than two intervals, so that one that is there and reads nothing is found by the pings, and told.
    public var streamAcknowledgement = Duration.seconds(35)
    /// The kernel's send buffer of a stream, in bytes.
    public var streamSendBuffer = 65_536
}
