// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import FoundationWebSocket
import TestSupport
import Testing

/// Whether a leak would be told of (Tests/run); the toolchain's FoundationNetworking leaks some bytes of a URL with every
/// request (CFURLSessionCurlHostIsEqual).
private let isLookingForLeaks = ProcessInfo.processInfo.environment["LSAN_OPTIONS"] != nil

private let child = "HTTPChild"

/// Requests of HTTP, which FoundationNetworking does on threads that all share: in a process whose threads are all in one
/// namespace.
@Suite(.disabled(if: isLookingForLeaks, "FoundationNetworking leaks")) struct HTTPTests {
    @Test(.enabled(if: !OwnProcess.isFor(child))) func `requests are those of FoundationNetworking`() throws {
        let output = try OwnProcess.run(child)
        #expect(output.contains("with 5 tests in 1 suite passed"), "\(output)")
    }
}

@Suite(.enabled(if: OwnProcess.isFor(child), "runs in the child of HTTPTests")) struct HTTPChild {
    private func serve() async throws -> (PrintingProgram, URL) {
        // Whoever runs the suite in a namespace of its own has no loopback yet.
        try Command.run(["ip", "link", "set", "lo", "up"])
        let program = try PrintingProgram(
            python: """
                import http.server
                class Handler(http.server.BaseHTTPRequestHandler):
                    def answer(self, status, text, *fields):
                        self.send_response(status)
                        for name, value in fields: self.send_header(name, value)
                        self.send_header("Content-Length", str(len(text)))
                        self.end_headers()
                        self.wfile.write(text)
                    def do_GET(self):
                        if self.path == "/moved": return self.answer(302, b"", ("Location", "/there"))
                        if self.path == "/secret" and "Authorization" not in self.headers:
                            return self.answer(401, b"", ("WWW-Authenticate", 'Basic realm="all"'))
                        self.answer(200, self.path.encode())
                    def do_POST(self):
                        self.answer(200, self.rfile.read(int(self.headers["Content-Length"]))[::-1])
                    def log_message(self, *words): pass
                server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
                say(server.server_address[1])
                server.serve_forever()
                """,
            in: nil
        )
        try await eventually { program.lines.first.flatMap { Int($0) } != nil }
        return (program, try #require(URL(string: "http://127.0.0.1:\(program.lines[0])")))
    }

    /// Looks again every 10 ms, for a minute.
    private func eventually(_ condition: () -> Bool) async throws {
        for _ in 0..<6000 where !condition() { try await Task.sleep(for: .milliseconds(10)) }
        #expect(condition())
    }

    private func post(_ url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        return request
    }

    @Test func `requests with await are those of FoundationNetworking`() async throws {
        let (server, url) = try await serve()
        let session = URLSession(configuration: .ephemeral)
        let (page, response) = try await session.data(from: url.appending(path: "a"))
        #expect(page == Data("/a".utf8) && (response as? HTTPURLResponse)?.statusCode == 200)
        #expect(try await session.data(for: URLRequest(url: url.appending(path: "b"))).0 == Data("/b".utf8))
        #expect(try await session.upload(for: post(url), from: Data("abc".utf8)).0 == Data("cba".utf8))
        let scratch = try Scratch()
        let file = URL(fileURLWithPath: try scratch.write("xyz", to: "upload"))
        #expect(try await session.upload(for: post(url), fromFile: file).0 == Data("zyx".utf8))
        withExtendedLifetime(server) {}
    }

    @Test func `requests with completions as well`() async throws {
        let (server, url) = try await serve()
        let session = URLSession(configuration: .ephemeral)
        let heard = Record<String>()
        let take: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { data, _, error in
            heard.append(data.map { String(decoding: $0, as: UTF8.self) } ?? words(error))
        }
        let take2: @Sendable (URL?, URLResponse?, (any Error)?) -> Void = { file, _, error in
            heard.append(file.flatMap { try? String(contentsOf: $0, encoding: .utf8) } ?? words(error))
        }
        let scratch = try Scratch()
        let file = URL(fileURLWithPath: try scratch.write("file", to: "upload"))
        let tasks: [any URLSessionTask] = [
            session.dataTask(with: url.appending(path: "1"), completionHandler: take),
            session.dataTask(with: URLRequest(url: url.appending(path: "2")), completionHandler: take),
            session.uploadTask(with: post(url), from: Data("abc".utf8), completionHandler: take),
            session.uploadTask(with: post(url), fromFile: file, completionHandler: take),
            session.downloadTask(with: url.appending(path: "3"), completionHandler: take2),
            session.downloadTask(with: URLRequest(url: url.appending(path: "4")), completionHandler: take2),
        ]
        for task in tasks { task.resume() }
        try await eventually { heard.values.count == 6 }
        #expect(heard.values.sorted() == ["/1", "/2", "/3", "/4", "cba", "elif"])
        let state: URLSessionTask.State = try #require(tasks.first?.state)
        #expect(state == .completed && URLSessionTask.State.suspended != state)
        withExtendedLifetime(server) {}
    }

    @Test func `a delegate hears of requests`() async throws {
        let (server, url) = try await serve()
        let watcher = Watcher()
        let session = URLSession(configuration: .ephemeral, delegate: watcher, delegateQueue: nil)
        session.dataTask(with: url.appending(path: "moved")).resume()
        try await eventually { watcher.told.values.last == "complete -" }
        #expect(watcher.told.values == ["data /there", "complete -"])
        session.downloadTask(with: url.appending(path: "file")).resume()
        try await eventually { watcher.told.values.count == 4 }
        #expect(watcher.told.values.suffix(2) == ["file /file", "complete -"])
        session.uploadTask(with: post(url), from: Data("abc".utf8)).resume()
        try await eventually { watcher.told.values.count == 6 }
        #expect(watcher.told.values.suffix(2) == ["data cba", "complete -"])
        session.finishTasksAndInvalidate()
        try await eventually { watcher.told.values.last == "invalid -" }
        withExtendedLifetime(server) {}
    }

    @Test func `a delegate answers who asks`() async throws {
        let (server, url) = try await serve()
        let (delegate, queue) = (Keeper(), OperationQueue.apart)
        // FoundationNetworking's own calls are in order on a queue for one at a time only.
        queue.maxConcurrentOperationCount = 1
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: queue)
        session.dataTask(with: url.appending(path: "secret")).resume()
        try await eventually { delegate.told.values.last == "complete" }
        // FoundationNetworking tells of the first answer as well.
        let told = delegate.told.values.filter { $0 != "401 /secret" }
        #expect(told == ["NSURLAuthenticationMethodHTTPBasic all", "200 /secret", "complete"])
        delegate.told.append("stay")
        session.dataTask(with: url.appending(path: "moved")).resume()
        try await eventually { delegate.told.values.last == "complete" }
        #expect(delegate.told.values.suffix(3) == ["elsewhere /there", "302 /moved", "complete"])
        session.invalidateAndCancel()
        try await eventually { session.delegate == nil }
        withExtendedLifetime(server) {}
    }

    @Test func `sessions keep what they were made with`() async throws {
        let queue = OperationQueue.apart
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 7
        let session = URLSession(configuration: configuration, delegate: Keeper(), delegateQueue: queue)
        session.sessionDescription = "mine"
        #expect(session.delegateQueue === queue && session.configuration.timeoutIntervalForRequest == 7)
        #expect(session.sessionDescription == "mine" && session.delegate is Keeper)
        let task = session.webSocketTask(with: try #require(URL(string: "ws://localhost/")))
        #expect(task.originalRequest?.timeoutInterval == 7)
        task.taskDescription = "talk"
        task.priority = URLSessionWebSocketTask.highPriority
        task.suspend()
        #expect(task.taskDescription == "talk" && task.priority == 0.75 && task.state == .suspended)
        let done = Record<String>()
        session.flush { done.append("flushed") }
        session.getTasksWithCompletionHandler { data, uploads, downloads in
            done.append("\(data.count) \(uploads.count) \(downloads.count)")
        }
        try await eventually { Set(done.values) == ["flushed", "0 0 0"] }
        session.invalidateAndCancel()
    }
}

/// Gives a password, and stays where it is.
private final class Keeper: NSObject, URLSessionDataDelegate {
    let told = Record<String>()

    func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        let space = challenge.protectionSpace
        told.append("\(space.authenticationMethod) \(space.realm ?? "-")")
        return (.useCredential, URLCredential(user: "me", password: "secret", persistence: .none))
    }

    func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        told.append("elsewhere \(request.url?.path ?? "-")")
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        told.append("\((response as? HTTPURLResponse)?.statusCode ?? 0) \(response.url?.path ?? "-")")
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, task: any URLSessionTask, didCompleteWithError error: (any Error)?) {
        told.append("complete")
    }
}
