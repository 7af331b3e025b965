// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The running kernel as a source of answers: one socket for requests, in the namespace it was made in.
///
/// Confined to one thread. A socket whose dump was stopped in the middle is replaced by a new one, which is opened in
/// the namespace of the calling thread.
public final class LiveKernel: MessageSource {
    private var socket: RouteSocket
    private let limit: Duration
    /// How many questions were asked.
    public private(set) var questions = 0
    /// Writes down what is asked and answered, while it is set.
    public var recorder: NetlinkRecorder?

    /// Opens the socket.
    /// - Parameter limit: How long one read may wait for the kernel.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public init(limit: Duration = .seconds(2)) throws(NetlinkError) {
        self.limit = limit
        socket = try RouteSocket(limit: limit)
    }

    /// Asks, and hands over each message of the answer until `each` returns `false`.
    public func ask(
        _ question: Question,
        each: (UInt16, Span<UInt8>) -> Bool
    ) throws(NetlinkError) -> Completion {
        questions += 1
        guard let recorder else { return try exchange(question, each: each) }
        var taken: [RecordedMessage] = []
        do {
            let completion = try exchange(question) { type, body in
                taken.append(RecordedMessage(type: type, body: body.array))
                return each(type, body)
            }
            recorder.record(question, answer: taken, .completed(completion))
            return completion
        } catch {
            recorder.record(question, answer: taken, .failed(error.code))
            throw error
        }
    }

    private func exchange(
        _ question: Question,
        each: (UInt16, Span<UInt8>) -> Bool
    ) throws(NetlinkError) -> Completion {
        if socket.isUsedUp { socket = try RouteSocket(limit: limit) }
        return try socket.exchange(question, each: each)
    }

    /// Waits 10 ms.
    public func pauseBeforeRetry() { usleep(10_000) }
}
