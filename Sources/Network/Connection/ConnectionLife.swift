// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What becomes of a connection: its states, each reported once, and the actions between them.
///
/// Pure: what happened in, actions out, in the order in which they are to be carried out.
struct ConnectionLife: Sendable {
    /// What is to be done.
    enum Action: Hashable, Sendable {
        /// Report a state to the program.
        case enter(NWConnection.State)
        /// Resolve the endpoint and try its addresses.
        case connect
        /// Give up look-ups and attempts, and close what is open; with `isAbrupt` the connection is reset.
        case disconnect(isAbrupt: Bool)
        /// Complete the receives that wait with this error.
        case endReceives(NWError)
        /// Complete the sends that wait with this error.
        case endSends(NWError)
        /// Send what waits, then report ``ConnectionLife/finished()``.
        case finish
        /// Report whether packets can be sent now.
        case viability(Bool)
        /// Report whether another interface would be chosen now.
        case betterPath(Bool)
    }

    /// The state last reported.
    private(set) var state = NWConnection.State.setup
    /// Whether it was cancelled and still sends what waits.
    private(set) var isFinishing = false
    private var isViable = true
    private var hasBetterPath = false

    /// Whether content can be exchanged.
    private(set) var isReady = false
    /// Whether it is being connected.
    private(set) var isPreparing = false

    /// Why content that is handed in now is refused; `nil` when it is accepted.
    var refusal: NWError? {
        switch state {
        case .cancelled: .posix(.ECANCELED)
        case .failed(let error): error
        default: isFinishing ? .posix(.ECANCELED) : nil
        }
    }

    /// The program starts the connection.
    mutating func start() -> [Action] {
        guard state == .setup else { return [] }
        return [enter(.preparing), .connect]
    }

    /// The program, or a change of the network, requests a retry.
    mutating func retry() -> [Action] {
        guard case .waiting = state, !isFinishing else { return [] }
        return [enter(.preparing), .connect]
    }

    /// The peer, and all protocols, can be talked to.
    mutating func connected() -> [Action] {
        guard state == .preparing else { return [] }
        isViable = true
        hasBetterPath = false
        return [enter(.ready), .viability(true)]
    }

    /// There is no connection to be had now.
    ///
    /// A reset comes from a peer that had accepted the connection (RFC 9293 section 3.5.2): whether it is seen before
    /// or after the connection is ready is chance, so it ends it both times.
    mutating func couldNotConnect(_ error: NWError) -> [Action] {
        guard state == .preparing else { return [] }
        if error == .posix(.ECONNRESET) { return broke(error) }
        return [.disconnect(isAbrupt: false), enter(.waiting(error))]
    }

    /// The connection cannot go on, and there is no use in trying again.
    mutating func broke(_ error: NWError) -> [Action] {
        switch state {
        case .ready where isFinishing: return finished()
        case .ready, .preparing:
            return [
                .disconnect(isAbrupt: false), enter(.failed(error)), .endReceives(error), .endSends(error),
            ]
        default: return []
        }
    }

    /// The program is done with the connection: what it sent goes out first.
    mutating func cancel() -> [Action] {
        guard state != .cancelled, !isFinishing else { return [] }
        guard state == .ready else { return end(isAbrupt: false) }
        isFinishing = true
        return [.endReceives(.posix(.ECANCELED)), .finish]
    }

    /// All that waited was sent, or cannot be.
    mutating func finished() -> [Action] {
        isFinishing ? end(isAbrupt: false) : []
    }

    /// The program is done with the connection, whatever waits.
    mutating func forceCancel() -> [Action] {
        state == .cancelled ? [] : end(isAbrupt: true)
    }

    /// What the kernel would do with a packet to the peer now.
    mutating func routed(isViable: Bool, hasBetterPath: Bool) -> [Action] {
        guard isReady, !isFinishing else { return [] }
        var actions: [Action] = []
        if isViable != self.isViable { actions.append(.viability(isViable)) }
        if hasBetterPath != self.hasBetterPath { actions.append(.betterPath(hasBetterPath)) }
        (self.isViable, self.hasBetterPath) = (isViable, hasBetterPath)
        return actions
    }

    private mutating func end(isAbrupt: Bool) -> [Action] {
        isFinishing = false
        let error = NWError.posix(.ECANCELED)
        return [.disconnect(isAbrupt: isAbrupt), .endReceives(error), .endSends(error), enter(.cancelled)]
    }

    private mutating func enter(_ state: NWConnection.State) -> Action {
        self.state = state
        isReady = state == .ready
        isPreparing = state == .preparing
        return .enter(state)
    }
}
