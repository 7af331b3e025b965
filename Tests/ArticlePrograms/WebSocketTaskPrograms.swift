// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import FoundationWebSocket

/// Talks to an echo server by a task of URLSession, with a delegate that trusts a server of its own machine.
final class EchoTalk: NSObject {
    private lazy var session = URLSession(configuration: .default, delegate: self, delegateQueue: OperationQueue())
    private var task: URLSessionWebSocketTask?
    private var words: [String]

    init(words: [String]) {
        self.words = words
        super.init()
    }

    func connect(to url: URL) {
        task = session.webSocketTask(with: url, protocols: ["echo"])
        task?.resume()
        listen()
    }

    private func listen() {
        task?.receive { [weak self] result in
            guard let self = self else { return }
            switch result {
            case .failure(let error):
                print("nothing more: \((error as NSError).code)")
            case .success(let message):
                switch message {
                case .string(let text): print("heard \(text)")
                case .data(let data): print("heard \(data.count) bytes")
                @unknown default: break
                }
                self.sayNext()
                self.listen()
            }
        }
    }

    private func sayNext() {
        guard !words.isEmpty else {
            task?.cancel(with: .goingAway, reason: "that was all".data(using: .utf8))
            return
        }
        let word = words.removeFirst()
        task?.send(.string(word)) { error in
            if let error = error { print("cannot say \(word): \(error)") }
        }
    }

    private func ping() {
        task?.sendPing { [weak self] error in
            print(error.map { "no pong: \($0)" } ?? "pong")
            self?.sayNext()
        }
    }
}

extension EchoTalk: URLSessionWebSocketDelegate {
    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    ) {
        print("open with \(`protocol` ?? "no protocol")")
        ping()
    }

    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    ) {
        switch closeCode {
        case .goingAway: print("closed, going away")
        default: print("closed with \(closeCode.rawValue)")
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        if let error = error as? URLError { print("failed with \(error.code.rawValue)") }
        session.finishTasksAndInvalidate()
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: Error?) { exit(0) }

    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        let space = challenge.protectionSpace
        guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust, space.host == "localhost",
            let trust = space.serverTrust
        else { return (.performDefaultHandling, nil) }
        print("trusting \(space.host)")
        return (.useCredential, URLCredential(trust: trust))
    }
}

extension ArticlePrograms {
    static func talk(_ address: String, _ words: [String]) async {
        guard let url = URL(string: address) else { return print("no address") }
        let talk = EchoTalk(words: words)
        talk.connect(to: url)
        await waitForever()
        withExtendedLifetime(talk) {}
    }

    /// The same in a row, as people write it today.
    static func talkInOrder(_ address: String, _ words: [String]) async {
        guard let url = URL(string: address) else { return print("no address") }
        let task = URLSession.shared.webSocketTask(with: url)
        task.resume()
        do {
            for word in words {
                try await task.send(.data(Data(word.utf8)))
                guard case .data(let answer) = try await task.receive() else { return print("no data") }
                print("heard \(String(decoding: answer, as: UTF8.self))")
            }
            task.cancel(with: .normalClosure, reason: nil)
            _ = try await task.receive()
        } catch {
            print("over: \(task.closeCode.rawValue), \((error as NSError).code)")
        }
    }
}
