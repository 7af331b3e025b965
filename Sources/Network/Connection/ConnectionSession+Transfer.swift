// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import LinuxIO

extension ConnectionSession {
    /// How many bytes of a stream are written in one call, at most, when small pieces are gathered.
    private static let gathered = 1 << 16
    /// How often one flow reads before other flows are served.
    private static let iterations = 16

    /// Queues content.
    func enqueue(_ content: ConnectionRequest.Content) {
        if let error = life.refusal { return complete(content.completion, error) }
        guard !sends.isEnded else { return complete(content.completion, .posix(.EPIPE)) }
        let context = content.context
        var bytes = content.bytes ?? Data()
        let endsStream = settings.isStream && context.isFinal && content.isComplete
        var isBare = false
        if settings.hasMessages {
            let key = ObjectIdentifier(context)
            if let piece = pieces.removeValue(forKey: key) { bytes = piece.bytes + bytes }
            guard content.isComplete else {
                pieces[key] = (context, bytes)
                return complete(content.completion, nil)
            }
            // Nothing at all is no message; an empty one has content without bytes, or metadata that says what it is.
            isBare = content.bytes == nil && bytes.isEmpty && !context.isWebSocketMessage
            guard !isBare || endsStream else { return complete(content.completion, nil) }
        }
        let expiration = context.expirationMilliseconds
        let item = SendQueue<NWConnection.SendCompletion>.Item(
            bytes: bytes,
            endsStream: endsStream,
            deadline: expiration == 0 ? nil : engines.loop.clock.boot + .milliseconds(Int64(clamping: expiration)),
            metadata: context.protocolMetadata,
            isBare: isBare,
            token: content.completion
        )
        sends.append(item)
    }

    /// Something can be read or written, or the flow broke.
    func handle(_ readiness: EventLoop.Readiness) {
        guard life.isReady else { return establish() }
        pump()
        // What came before the flow broke is kept for later receives.
        guard !readiness.isDisjoint(with: [.failed, .peerClosed]), let flow, life.isReady else { return }
        drain(flow)
        guard readiness.contains(.failed), life.isReady, let error = flow.pendingError() else { return }
        perform(life.broke(error))
    }

    /// Moves what can be moved, and waits for the rest.
    func pump() {
        guard let flow, life.isReady else { return }
        if receives.hasRequests, let error = read(flow) { return perform(life.broke(error)) }
        if let error = write(flow) {
            // The reason may be behind what came last.
            drain(flow)
            return perform(life.broke(error))
        }
        guard self.flow === flow else { return }
        flow.expect(reading: receives.hasRequests && receives.wanted != nil, writing: !sends.isEmpty)
        if life.isFinishing, sends.isEmpty, !flow.hasOutput, flow.finishClose() { perform(life.finished()) }
    }

    // MARK: - Reading

    /// Reads as long as receives are pending.
    /// - Returns: Why the flow is broken.
    private func read(_ flow: any Flow) -> NWError? {
        for _ in 0..<Self.iterations {
            guard let wanted = receives.wanted else { return nil }
            do throws(NWError) {
                guard let input = try flow.read(upTo: min(wanted, ReadBuffer.capacity)) else { return nil }
                handle(input)
            } catch {
                return error
            }
            deliver(receives.completions())
        }
        if flow.mayHoldInput, receives.wanted != nil { rest() }
        return nil
    }

    /// Continues in the next iteration: what a flow holds raises no further readiness.
    private func rest() {
        guard !isResting else { return }
        isResting = true
        engines.loop.schedule(after: .zero) { [weak self] in
            self?.isResting = false
            self?.pump()
        }
    }

    /// Keeps everything that the kernel still has of a broken or closed flow.
    private func drain(_ flow: any Flow) {
        guard !receives.isOver else { return }
        while true {
            do throws(NWError) {
                guard let input = try flow.read(upTo: ReadBuffer.capacity) else { break }
                handle(input)
                if receives.isOver { break }
            } catch {
                deliver(receives.completions())
                return perform(life.broke(error))
            }
        }
        deliver(receives.completions())
        flow.expect(reading: false, writing: !sends.isEmpty)
    }

    private func handle(_ input: FlowInput) {
        switch input {
        case .bytes(let bytes):
            received += UInt64(bytes.count)
            receives.append(bytes)
        case .message(let message):
            received += UInt64(message.bytes.count)
            receives.append(message)
        case .end: receives.finish()
        }
    }

    /// Hands out what receives get.
    func deliver(_ completions: [ReceiveQueue<ConnectionRequest.Receipt>.Completion]) {
        guard let queue else { return }
        for completion in completions {
            let hasContext = completion.error == nil || completion.content != nil || completion.isComplete
            let context: NWConnection.ContentContext? =
                hasContext ? .received(completion.metadata, isFinal: completion.isFinal) : nil
            let (content, isComplete, error) = (completion.content, completion.isComplete, completion.error)
            let receipt = completion.token
            queue.async { receipt(content, context, isComplete, error) }
        }
    }

    // MARK: - Writing

    /// Writes as long as there is room.
    /// - Returns: Why the flow is broken.
    private func write(_ flow: any Flow) -> NWError? {
        for completion in sends.expire(at: engines.loop.clock.boot) { complete(completion, .posix(.ETIMEDOUT)) }
        while let bytes = sends.front(limit: Self.gathered, isStream: flow.isStream) {
            let (metadata, isBare) = (sends.frontMetadata, sends.isFrontBare)
            if !isBare, let refusal = flow.refusal(of: bytes, with: metadata) {
                wrote(bytes.count, flow, refusal)
                continue
            }
            var failure: NWError?
            do throws(NWError) {
                // An end of the stream has nothing to write.
                let isEmpty = isBare || flow.isStream && bytes.isEmpty
                guard let count = isEmpty ? 0 : try flow.write(bytes, with: metadata) else { return nil }
                wrote(count, flow, nil)
            } catch {
                failure = error
            }
            guard let failure else { continue }
            guard !settings.isStream, failure.concernsOneDatagram else { return failure }
            wrote(bytes.count, flow, failure)
        }
        do throws(NWError) {
            try flow.flush()
        } catch {
            return error
        }
        return nil
    }

    private func wrote(_ count: Int, _ flow: any Flow, _ error: NWError?) {
        if error == nil { sent += UInt64(count) }
        let (done, endsStream) = sends.wrote(count)
        for completion in done { complete(completion, error) }
        if endsStream { flow.finishWriting() }
    }

    /// Calls what waits for content to be sent.
    func complete(_ completion: NWConnection.SendCompletion, _ error: NWError?) {
        guard case .contentProcessed(let handler) = completion, let queue else { return }
        queue.async { handler(error) }
    }
}
