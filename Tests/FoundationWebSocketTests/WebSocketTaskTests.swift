// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import FoundationWebSocket
import LinuxIO
import Network
import TestSupport
import Testing

/// WebSocket tasks beside servers in Python that use websockets.
@Suite(.inNamespace) struct WebSocketTaskTests {
    private let loop = Namespace.current.loop

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    /// Starts a server at a port that the kernel chooses; `handle` is the body of its handler.
    private func serve(
        _ handle: String,
        more: String = "",
        before: String = "pass"
    ) async throws -> (PrintingProgram, Int) {
        let body = handle.split(separator: "\n").map { "    \($0)\n" }.joined()
        let program = try PrintingProgram(
            python: """
                from websockets.exceptions import ConnectionClosed
                from websockets.sync.server import serve
                \(before)
                def handle(ws):
                \(body)
                with serve(handle, "localhost", 0\(more.isEmpty ? "" : ", " + more)) as server:
                    say(server.socket.getsockname()[1])
                    server.serve_forever()
                """
        )
        await eventually("a port, after \(program.lines)") { program.lines.first.flatMap { Int($0) } != nil }
        return (program, try #require(program.lines.first.flatMap { Int($0) }))
    }

    private func url(_ port: Int, _ scheme: String = "ws", _ path: String = "/") throws -> URL {
        try #require(URL(string: "\(scheme)://localhost:\(port)\(path)"))
    }

    private func session(_ delegate: (any URLSessionDelegate)? = nil) -> URLSession {
        URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    }

    private let echo = """
        try:
            for message in ws: ws.send(message)
        except ConnectionClosed: pass
        say("closed", ws.close_code, ws.close_reason)
        """

    // MARK: - Messages

    @Test func `messages go both ways, with callbacks`() async throws {
        let (server, port) = try await serve(echo, more: "subprotocols=['chat']")
        let watcher = Watcher()
        let session = session(watcher)
        let task = session.webSocketTask(with: try url(port), protocols: ["other", "chat"])
        let heard = Record<String>()
        let sent = Record<String>()
        // What is asked for before the start is done after it.
        task.receiveAll(into: heard)
        task.send(.string("früh")) { error in sent.append(words(error)) }
        #expect(task.state == .suspended && task.closeCode == .invalid)
        task.resume()
        task.resume()
        task.send(.data(Data("bytes".utf8))) { error in sent.append(words(error)) }
        await eventually("the echo, after \(heard.values)") { heard.values == ["string früh", "data bytes"] }
        await eventually("sent") { sent.values == ["-", "-"] }
        #expect(task.state == .running && watcher.told.values == ["open chat"])
        let response = try #require(task.response as? HTTPURLResponse)
        #expect(response.statusCode == 101)
        #expect(response.value(forHTTPHeaderField: "Sec-WebSocket-Protocol") == "chat")
        task.cancel(with: .goingAway, reason: Data("later".utf8))
        await eventually("the end") { watcher.told.values.last == "complete -" }
        #expect(watcher.told.values == ["open chat", "close 1001 later", "complete -"])
        #expect(task.state == .completed && task.error == nil && task.closeCode == .goingAway)
        #expect(task.closeReason == Data("later".utf8))
        await eventually("closed") { heard.values.last == "posix 107" && server.lines.last == "closed 1001 later" }
        task.send(.string("too late")) { error in sent.append(words(error)) }
        await eventually("refused") { sent.values.last == "posix 107" }
        session.invalidateAndCancel()
        await eventually("invalid") { watcher.told.values.last == "invalid -" }
    }

    @Test func `messages go both ways, with await`() async throws {
        let (server, port) = try await serve(echo)
        let session = session()
        let task = session.webSocketTask(with: try url(port))
        task.resume()
        for number in 0..<20 {
            try await task.send(.string("\(number)"))
            let message = try await task.receive()
            #expect(message.words == "string \(number)")
        }
        try await task.sendPing()
        for number in 0..<5 { try await task.send(.data(Data("\(number)".utf8))) }
        var heard: [String] = []
        for _ in 0..<5 { heard.append(try await task.receive().words) }
        #expect(heard == (0..<5).map { "data \($0)" }, "in order")
        task.cancel(with: .normalClosure, reason: nil)
        let error = await #expect(throws: POSIXError.self) { try await task.receive() }
        #expect(error?.code == .ENOTCONN)
        withExtendedLifetime(server) {}
    }

    @Test func `what the request says is what the server gets`() async throws {
        let (server, port) = try await serve(
            """
            say(ws.request.path, ws.request.headers.get("X-Room"), ws.request.headers.get("X-More"))
            say(ws.request.headers.get("Cookie"), ws.request.headers["Host"])
            """,
            more: """
                process_response=lambda ws, request, response: \
                    response.headers.__setitem__("Set-Cookie", "seen=1; Path=/")
                """
        )
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["X-More": "2"]
        let session = URLSession(configuration: configuration)
        var request = URLRequest(url: try url(port, "ws", "/room/1?name=a"))
        request.setValue("1", forHTTPHeaderField: "X-Room")
        let task = session.webSocketTask(with: request)
        let closed = Record<String>()
        task.receiveAll(into: closed)
        task.resume()
        await eventually("the first") { closed.values == ["posix 107"] }
        let again = session.webSocketTask(with: request)
        again.receiveAll(into: closed)
        again.resume()
        await eventually("the second") { closed.values.count == 2 }
        #expect(task.originalRequest == request && task.currentRequest == request)
        await eventually("both, after \(server.lines)") { server.lines.count == 5 }
        #expect(server.lines[1] == "/room/1?name=a 1 2" && server.lines[2] == "None localhost:\(port)")
        #expect(server.lines[4] == "seen=1 localhost:\(port)", "the cookie came back")
    }

    @Test func `pings are answered both ways, though nobody receives`() async throws {
        let (server, port) = try await serve(
            """
            ws.recv()
            say("pong", ws.ping().wait(60))
            for message in ws: pass
            """
        )
        let session = session()
        let task = session.webSocketTask(with: try url(port))
        let pongs = Record<String>()
        task.sendPing { error in pongs.append(words(error)) }
        task.resume()
        await eventually("a pong") { pongs.values == ["-"] }
        try await task.send(.string("now you"))
        await eventually("theirs") { server.lines.last == "pong True" }
        task.cancel(with: .normalClosure, reason: nil)
        await eventually("over") { task.state == .completed }
        task.sendPing { error in pongs.append(words(error)) }
        await eventually("none") { pongs.values == ["-", "posix 107"] }
    }

    @Test func `a message that is too long ends the task, unless more is allowed`() async throws {
        let (server, port) = try await serve(
            """
            ws.send(b"x" * (1 << 20))
            try:
                ws.send(b"x" * ((1 << 20) + 1)); ws.recv()
            except ConnectionClosed: pass
            say("closed", ws.close_code)
            """
        )
        let session = session()
        let task = session.webSocketTask(with: try url(port))
        #expect(task.maximumMessageSize == 1 << 20)
        let heard = Record<String>()
        task.receiveAll(into: heard)
        task.resume()
        await eventually("too long") { heard.values.last == "posix 90" && server.lines.last == "closed 1009" }
        #expect(heard.values.count == 2 && task.closeCode == .messageTooBig && words(task.error) == "posix 90")
        let patient = session.webSocketTask(with: try url(port))
        patient.maximumMessageSize = 1 << 21
        let more = Record<String>()
        patient.receiveAll(into: more)
        patient.resume()
        await eventually("both") { more.values.count == 2 }
        let expected = 1_048_576 + 6
        #expect(more.values.last?.utf8.count == expected)
        patient.cancel()
        await eventually("cancelled") { more.values.last == "url -999" }
    }

    // MARK: - Ends

    @Test func `a server's close has its code and reason`() async throws {
        let (server, port) = try await serve("ws.send('last'); ws.close(4001, 'bye')")
        let watcher = Watcher()
        let session = session(watcher)
        let task = session.webSocketTask(with: try url(port))
        task.resume()
        let message = try await task.receive()
        #expect(message.words == "string last")
        let error = await #expect(throws: POSIXError.self) { try await task.receive() }
        #expect(error?.code == .ENOTCONN)
        await eventually("told") { watcher.told.values == ["open -", "close 4001 bye", "complete -"] }
        #expect(task.closeCode.rawValue == 4001 && task.closeReason == Data("bye".utf8))
        task.cancel(with: .goingAway, reason: nil)
        #expect(task.closeCode.rawValue == 4001 && task.state == .completed)
        let quiet = session.webSocketTask(with: try url(port))
        quiet.resume()
        await eventually("a message waits, and the close behind it") { quiet.state == .running }
        quiet.cancel()
        session.finishTasksAndInvalidate()
        await eventually("invalid") { watcher.told.values.last == "invalid -" }
        withExtendedLifetime(server) {}
    }

    @Test func `a close is heard though nobody receives`() async throws {
        let (server, port) = try await serve("ws.close(1001, 'restart')")
        let watcher = Watcher()
        let session = session(watcher)
        let task = session.webSocketTask(with: try url(port))
        task.resume()
        await eventually("told") { watcher.told.values == ["open -", "close 1001 restart", "complete -"] }
        session.invalidateAndCancel()
        withExtendedLifetime(server) {}
    }

    @Test func `a server that vanishes ends the task`() async throws {
        let (server, port) = try await serve("ws.send('hello'); ws.recv()")
        let watcher = Watcher()
        let session = session(watcher)
        let task = session.webSocketTask(with: try url(port))
        let heard = Record<String>()
        task.receiveAll(into: heard)
        task.resume()
        await eventually("a message") { heard.values == ["string hello"] }
        server.kill()
        await eventually("lost") {
            heard.values.last == "url -1005" && watcher.told.values.last == "complete url -1005"
        }
        #expect(task.closeCode == .invalid && words(task.error) == "url -1005")
        session.invalidateAndCancel()
    }

    @Test func `a task that is cancelled ends once, whenever that is`() async throws {
        let (server, port) = try await serve(echo)
        let watcher = Watcher()
        let session = session(watcher)
        let task = session.webSocketTask(with: try url(port))
        let heard = Record<String>()
        task.receiveAll(into: heard)
        task.resume()
        await eventually("open") { watcher.told.values == ["open -"] }
        task.cancel()
        task.cancel(with: .normalClosure, reason: nil)
        await eventually("cancelled") { watcher.told.values == ["open -", "complete url -999"] }
        await eventually("both ends") { heard.values == ["url -999"] && server.lines.last == "closed 1001 " }
        let early = session.webSocketTask(with: try url(port))
        early.receiveAll(into: heard)
        early.send(.string("never")) { error in heard.append(words(error)) }
        early.cancel()
        early.resume()
        await eventually("at once") { heard.values.count == 3 }
        #expect(heard.values.suffix(2) == ["url -999", "url -999"] && early.state == .completed)
        let hasty = session.webSocketTask(with: try url(port))
        hasty.resume()
        hasty.cancel(with: .goingAway, reason: nil)
        await eventually("during the handshake, after \(watcher.told.values)") { hasty.state == .completed }
        #expect(hasty.state == .completed)
        session.invalidateAndCancel()
    }

    @Test func `nothing opens where no WebSocket is`() async throws {
        let (server, port) = try await serve(
            "pass",
            more: "process_request=lambda ws, request: ws.respond(404, 'nothing')"
        )
        let watcher = Watcher()
        let session = session(watcher)
        let missing = session.webSocketTask(with: try url(port))
        missing.resume()
        await eventually("refused") { watcher.told.values == ["complete url -1011"] }
        #expect((missing.response as? HTTPURLResponse)?.statusCode == 404)
        server.kill()
        let nobody = session.webSocketTask(with: try url(port))
        nobody.resume()
        await eventually("nobody") { watcher.told.values.last == "complete url -1004" }
        for (text, code) in [("http://localhost/", -1002), ("ws:///nowhere", -1000)] {
            let odd = session.webSocketTask(with: try #require(URL(string: text)))
            odd.resume()
            await eventually("\(text), after \(watcher.told.values)") { odd.state == .completed }
            #expect(words(odd.error) == "url \(code)")
        }
        session.invalidateAndCancel()
        await eventually("invalid") { watcher.told.values.last == "invalid -" }
        let late = session.webSocketTask(with: try url(port))
        late.resume()
        #expect(late.state == .completed && words(late.error) == "url -999" && session.delegate == nil)
    }

    @Test func `a server that does not answer is given up`() async throws {
        let listener = try NWListener(using: .tcp)
        let connections = Record<NWConnection>()
        listener.newConnectionHandler = { connection in
            connection.start(queue: .apart)
            connections.append(connection)
        }
        listener.start(queue: .apart)
        await eventually("a port") { listener.port != nil }
        let port = try #require(listener.port?.rawValue)
        var request = URLRequest(url: try url(Int(port)))
        // Long enough to connect on a busy machine.
        request.timeoutInterval = 2
        let session = session()
        let task = session.webSocketTask(with: request)
        let heard = Record<String>()
        task.receiveAll(into: heard)
        task.resume()
        await eventually("given up") { heard.values == ["url -1001"] }
        #expect(words(task.error) == "url -1001")
        await eventually("accepted") { !connections.values.isEmpty }
        listener.cancel()
    }

    @Test func `a session that is invalid cancels its tasks, and then says so`() async throws {
        let (server, port) = try await serve(echo)
        let watcher = Watcher()
        let session = session(watcher)
        let tasks = [session.webSocketTask(with: try url(port)), session.webSocketTask(with: try url(port))]
        for task in tasks { task.resume() }
        await eventually("both") { watcher.told.values == ["open -", "open -"] }
        let all = Record<Int>()
        session.getAllTasks { tasks in all.append(tasks.count) }
        await eventually("both are known") { all.values == [2] }
        #expect(Set(tasks.map(\.taskIdentifier)).count == 2)
        session.invalidateAndCancel()
        await eventually("the end, after \(watcher.told.values)") { watcher.told.values.last == "invalid -" }
        #expect(watcher.told.values.suffix(3) == ["complete url -999", "complete url -999", "invalid -"])
        URLSession.shared.invalidateAndCancel()
        #expect(URLSession.shared.delegate == nil)
        withExtendedLifetime(server) {}
    }

    // MARK: - Many

    @Test func `what was sent before a close arrives before it`() async throws {
        let (server, port) = try await serve(
            """
            count = 0
            for message in ws: count += len(message)
            say("got", count, ws.close_code)
            """
        )
        let session = session()
        let task = session.webSocketTask(with: try url(port))
        let sent = Record<String>()
        task.resume()
        try await task.sendPing()
        for _ in 0..<200 {
            task.send(.data(Data(count: 10_000))) { error in sent.append(words(error)) }
        }
        task.cancel(with: .normalClosure, reason: nil)
        await eventually("all of it") { server.lines.last == "got 2000000 1000" }
        await eventually("told") { sent.values.count == 200 }
        #expect(sent.values.allSatisfy { $0 == "-" })
        withExtendedLifetime(server) {}
    }

    @Test func `many tasks of one session do not disturb each other`() async throws {
        let (server, port) = try await serve(echo)
        let session = session()
        let tasks = try (0..<40).map { _ in session.webSocketTask(with: try url(port)) }
        let heard = Record<String>()
        for (number, task) in tasks.enumerated() {
            task.resume()
            task.send(.string("\(number)")) { _ in }
            task.receive { result in
                guard case .success(let message) = result else { return heard.append("\(number) failed") }
                heard.append("\(number) \(message.words)")
            }
        }
        await eventually("all") { heard.values.count == 40 }
        #expect(Set(heard.values) == Set((0..<40).map { "\($0) string \($0)" }))
        session.invalidateAndCancel()
        await eventually("over") { tasks.allSatisfy { $0.state == .completed } }
        withExtendedLifetime(server) {}
    }

    @Test func `what is over is let go`() async throws {
        let (server, port) = try await serve(echo)
        weak var task: URLSessionWebSocketTask?
        weak var session: URLSession?
        weak var delegate: Watcher?
        do {
            let watcher = Watcher()
            let made = self.session(watcher)
            let one = made.webSocketTask(with: try url(port))
            (task, session, delegate) = (one, made, watcher)
            one.resume()
            try await one.send(.string("x"))
            #expect(try await one.receive().words == "string x")
            one.cancel(with: .normalClosure, reason: nil)
            await eventually("over") { watcher.told.values.last == "complete -" }
            made.finishTasksAndInvalidate()
            await eventually("invalid") { watcher.told.values.last == "invalid -" }
        }
        await eventually("gone") { task == nil && session == nil && delegate == nil }
        withExtendedLifetime(server) {}
    }
}
