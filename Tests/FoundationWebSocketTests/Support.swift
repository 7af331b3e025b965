// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import FoundationWebSocket
import LinuxIO
import Synchronization
import TestSupport

/// What handlers on other threads were told, in order.
final class Record<Value: Sendable>: Sendable {
    private let storage = Mutex<[Value]>([])

    /// Everything so far.
    var values: [Value] { storage.withLock { $0 } }

    func append(_ value: Value) { storage.withLock { $0.append(value) } }
}

extension OperationQueue {
    /// One that goes on while tests compute, as `DispatchQueue.apart` does.
    static var apart: OperationQueue {
        let queue = OperationQueue()
        queue.qualityOfService = .userInitiated
        return queue
    }
}

/// A delegate that writes down what it is told, and trusts whom it is told to trust.
final class Watcher: NSObject, URLSessionWebSocketDelegate, URLSessionDataDelegate, URLSessionDownloadDelegate {
    typealias Verdict = (URLSession.AuthChallengeDisposition, URLCredential?)

    let told = Record<String>()
    let challenges = Record<URLAuthenticationChallenge>()
    private let judge: @Sendable (URLAuthenticationChallenge) -> Verdict

    init(judge: @escaping @Sendable (URLAuthenticationChallenge) -> Verdict = { _ in (.performDefaultHandling, nil) }) {
        self.judge = judge
    }

    /// One that trusts localhost, whatever its certificate says.
    static var trusting: Watcher {
        Watcher { challenge in
            guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust,
                challenge.protectionSpace.host == "localhost", let trust = challenge.protectionSpace.serverTrust
            else { return (.performDefaultHandling, nil) }
            return (.useCredential, URLCredential(trust: trust))
        }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        told.append("invalid \(words(error))")
    }

    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        challenges.append(challenge)
        return judge(challenge)
    }

    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    ) {
        told.append("open \(`protocol` ?? "-")")
    }

    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    ) {
        told.append("close \(closeCode.rawValue) \(reason.map { String(decoding: $0, as: UTF8.self) } ?? "-")")
    }

    func urlSession(_ session: URLSession, task: any URLSessionTask, didCompleteWithError error: (any Error)?) {
        told.append("complete \(words(error))")
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        told.append("data \(String(decoding: data, as: UTF8.self))")
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        let text = (try? String(contentsOf: location, encoding: .utf8)) ?? "nothing"
        told.append("file \(text)")
    }
}

/// An error as tests compare it: `-` for none, `url -1004`, `posix 107`.
func words(_ error: (any Error)?) -> String {
    switch error {
    case nil: "-"
    case let error as URLError: "url \(error.code.rawValue)"
    case let error as POSIXError: "posix \(error.code.rawValue)"
    case .some(let error): "\(error)"
    }
}

extension URLSessionWebSocketTask.Message {
    /// The message as tests compare it.
    var words: String {
        switch self {
        case .string(let text): "string \(text)"
        case .data(let bytes): "data \(String(decoding: bytes, as: UTF8.self))"
        }
    }
}

extension URLSessionWebSocketTask {
    /// Receives whatever comes, to the end.
    func receiveAll(into record: Record<String>) {
        receive { result in
            switch result {
            case .success(let message):
                record.append(message.words)
                self.receiveAll(into: record)
            case .failure(let error): record.append(FoundationWebSocketTests.words(error))
            }
        }
    }
}
