// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import LinuxIO

/// TLS upon a stream, and what ``DTLSFlow`` has in common with it; confined to the thread of its loop.
class TLSFlow: Flow {
    private enum Progress {
        case handshaking, awaitingDecision, decided(isTrusted: Bool), established
    }

    var isStream: Bool { true }
    var onReadiness: (EventLoop.Readiness) -> Void = { _ in }

    final let flow: any Flow
    final let session: TLSSession
    private let options: sec_protocol_options_t.Values
    private let loop: EventLoop
    private let peerName: String?
    private var progress = Progress.handshaking
    /// What is for the wire, and did not fit into the flow yet.
    final var output = Data()
    private var isFinishing = false
    private var hasEnded = false
    private var agreed: sec_protocol_metadata_t?
    private var limit: EventLoop.Timer?
    /// When the handshake says again what the peer may not have got.
    private var again: EventLoop.Timer?
    private var isLate = false
    private let isServer: Bool
    private var began: Duration?
    private var answered: Duration?
    private var shaken: Duration?

    /// How long the handshake may last, without the evaluation of trust.
    private static let longestHandshake = Duration.seconds(30)
    /// How much may wait for the wire before nothing more is accepted.
    private static let mostOutput = 1 << 16

    /// Prepares a handshake upon an open flow.
    /// - Throws: ``errSSLBadConfiguration`` when the options make no sense, ``errSSLHostNameMismatch`` when there is no
    ///   name that a certificate could have, and no verify block.
    required init(
        _ flow: any Flow,
        options: sec_protocol_options_t.Values,
        peerName: String?,
        isServer: Bool,
        loop: EventLoop
    ) throws(NWError) {
        guard isServer || !options.requiresPeer || options.verify != nil || (options.serverName ?? peerName) != nil
        else {
            throw .tls(errSSLHostNameMismatch)
        }
        self.flow = flow
        self.options = options
        self.loop = loop
        self.isServer = isServer
        self.peerName = options.serverName ?? peerName
        let longest = flow.isStream ? 0 : DTLSFlow.longestHandshakeDatagram(upon: flow)
        session = try TLSSession(options, peerName: peerName, isServer: isServer, longestDatagram: longest)
        flow.onReadiness = { [unowned self] in onReadiness($0) }
    }

    var local: SocketEnd? { flow.local }
    var remote: SocketEnd? { flow.remote }
    var maximumDatagramSize: Int { 0 }
    var transport: TransferCounts.Transport? { flow.transport }
    var hasOutput: Bool { !output.isEmpty || flow.hasOutput }
    var mayHoldInput: Bool { true }

    var metadata: [any NWProtocolMetadata] {
        (agreed.map { [NWProtocolTLS.Metadata($0)] } ?? []) + flow.metadata
    }

    // MARK: - Handshake

    var handshakes: [HandshakeRecord] {
        guard let began, let shaken else { return flow.handshakes }
        // The server sees no round trip.
        let roundTrip = isServer ? .zero : (answered ?? shaken) - began
        let own = HandshakeRecord(
            definition: NWProtocolTLS.definition,
            duration: shaken - began,
            roundTrip: roundTrip
        )
        return flow.handshakes + [own]
    }

    func establish() throws(NWError) -> Bool {
        switch progress {
        case .established: return true
        case .awaitingDecision: return false
        case .decided(let isTrusted):
            guard isTrusted else { throw .tls(errSSLXCertChainInvalid) }
            progress = .established
            return true
        case .handshaking:
            guard !isLate else { throw .posix(.ETIMEDOUT) }
            guard try flow.establish() else { return false }
            if began == nil { began = loop.clock.boot }
            guard try shakeHands() else {
                flow.expect(reading: true, writing: hasOutput)
                waitForHandshake()
                return false
            }
            cancelTimers()
            shaken = loop.clock.boot
            return evaluateTrust()
        }
    }

    private func waitForHandshake() {
        if let again { loop.cancel(again) }
        again = session.timeout.map { time in
            loop.schedule(after: time) { [weak self] in
                self?.again = nil
                self?.onReadiness([])
            }
        }
        guard limit == nil else { return }
        limit = loop.schedule(after: Self.longestHandshake) { [weak self] in
            self?.limit = nil
            self?.isLate = true
            self?.onReadiness([])
        }
    }

    private func cancelTimers() {
        for timer in [limit, again].compactMap(\.self) { loop.cancel(timer) }
        (limit, again) = (nil, nil)
    }

    private func shakeHands() throws(NWError) -> Bool {
        while true {
            let result = Result { () throws(NWError) in try session.handshake() }
            // Also what is said about a failure goes to the peer.
            try flush()
            if try result.get() { return true }
            guard try feed() else { return false }
            if answered == nil { answered = loop.clock.boot }
        }
    }

    /// Reads from the wire what the session goes on with.
    /// - Returns: Whether something has come.
    func feed() throws(NWError) -> Bool {
        switch try flow.read(upTo: ReadBuffer.capacity) {
        case nil: return false
        case .bytes(let bytes): session.feed(bytes)
        case .message: throw .tls(errSSLProtocol)
        case .end: throw .tls(errSSLClosedNoNotify)
        }
        return true
    }

    /// Calls whoever is to evaluate the peer's certificate.
    private func evaluateTrust() -> Bool {
        let metadata = session.metadata(serverName: peerName)
        agreed = metadata
        let trust = session.trust()
        guard let verify = options.verify, !trust.linuxCertificates.isEmpty else {
            progress = .established
            return true
        }
        progress = .awaitingDecision
        flow.expect(reading: false, writing: hasOutput)
        let answer = LoopReply<Bool>(loop) { [weak self] isTrusted in
            guard let self, case .awaitingDecision = progress else { return }
            progress = .decided(isTrusted: isTrusted)
            onReadiness([])
        }
        verify.queue.async { verify.block(metadata, trust) { answer.give($0) } }
        return false
    }

    // MARK: - Content

    func read(upTo limit: Int) throws(NWError) -> FlowInput? {
        guard !hasEnded else { return .end }
        while true {
            let content = try session.read(upTo: limit)
            try flush()
            switch content {
            case .bytes(let bytes): return .bytes(bytes)
            case .end:
                hasEnded = true
                return .end
            case nil: guard try feed() else { return nil }
            }
        }
    }

    func refusal(of message: Data, with metadata: [any NWProtocolMetadata]) -> NWError? { nil }

    func write(_ bytes: Data) throws(NWError) -> Int? {
        try flush()
        guard output.count < Self.mostOutput else { return nil }
        let piece = bytes.prefix(Self.mostOutput)
        try session.write(piece)
        try flush()
        return piece.count
    }

    func flush() throws(NWError) {
        let more = session.drainOutput()
        if !more.isEmpty { output = output.isEmpty ? more : output + more }
        while !output.isEmpty {
            guard let count = try flow.write(output) else { return }
            output = count == output.count ? Data() : Data(output.dropFirst(count))
        }
        try flow.flush()
        if isFinishing { flow.finishWriting() }
    }

    func pendingError() -> NWError? { flow.pendingError() }

    func expect(reading: Bool, writing: Bool) { flow.expect(reading: reading, writing: writing || hasOutput) }

    func finishWriting() {
        session.finish()
        isFinishing = true
        try? flush()
    }

    /// Whether the peer is to get a close-notify alert; before content goes, the end of a stream says enough.
    private var owesLastWord: Bool {
        switch progress {
        case .handshaking: false
        case .awaitingDecision, .decided: !isStream
        case .established: true
        }
    }

    func close(isAbrupt: Bool) {
        if !isAbrupt, !isFinishing, owesLastWord {
            session.finish()
            try? flush()
        }
        cancelTimers()
        flow.onReadiness = { _ in }
        flow.close(isAbrupt: isAbrupt)
    }
}
