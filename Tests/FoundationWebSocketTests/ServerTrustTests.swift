// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import FoundationWebSocket
import LinuxIO
import Network
import Synchronization
import TestSupport
import Testing

/// Who trusts a server whose certificate signed itself.
@Suite(.inNamespace) struct ServerTrustTests {
    private let loop = Namespace.current.loop
    private let scratch: Scratch
    private var folder: String { scratch.path }

    init() throws { scratch = try Scratch() }

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    private func serve() async throws -> (PrintingProgram, URL) {
        try Command.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-keyout", "\(folder)/key.pem", "-out", "\(folder)/cert.pem", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost",
        ])
        let program = try PrintingProgram(
            python: """
                import ssl
                from websockets.sync.server import serve
                tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                tls.load_cert_chain("\(folder)/cert.pem", "\(folder)/key.pem")
                def handle(ws):
                    for message in ws: ws.send(message[::-1])
                    say("closed", ws.close_code)
                with serve(handle, "localhost", 0, ssl=tls) as server:
                    say(server.socket.getsockname()[1])
                    server.serve_forever()
                """
        )
        await eventually("a port, after \(program.lines)") { program.lines.first.flatMap { Int($0) } != nil }
        return (program, try #require(URL(string: "wss://localhost:\(program.lines[0])/")))
    }

    /// Opens a WebSocket, and tells why not.
    private func attempt(_ url: URL, _ delegate: (any URLSessionDelegate)?) async throws -> String {
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        let task = session.webSocketTask(with: url)
        let heard = Record<String>()
        task.receiveAll(into: heard)
        task.resume()
        task.send(.string("hello")) { _ in }
        await eventually("an answer or an error") { !heard.values.isEmpty }
        session.invalidateAndCancel()
        return heard.values.first ?? ""
    }

    @Test func `a delegate may trust localhost`() async throws {
        let (server, url) = try await serve()
        let watcher = Watcher.trusting
        #expect(try await attempt(url, watcher) == "string olleh")
        await eventually("the end") { watcher.told.values.last == "invalid -" && server.lines.last == "closed 1001" }
        #expect(watcher.told.values == ["open -", "complete url -999", "invalid -"])
        let challenge = try #require(watcher.challenges.values.first)
        #expect(watcher.challenges.values.count == 1 && challenge.previousFailureCount == 0)
        let space = challenge.protectionSpace
        #expect(space.host == "localhost" && space.port == url.port && space.protocol == "https" && space.realm == nil)
        #expect(space.receivesCredentialSecurely && challenge.error as? NWError == .tls(errSSLUnknownRootCert))
        #expect(challenge.proposedCredential == nil && challenge.failureResponse == nil)
        #expect(space.serverTrust?.linuxCertificates.count == 1)
    }

    @Test func `by default nobody trusts it`() async throws {
        let (server, url) = try await serve()
        #expect(try await attempt(url, nil) == "url -1202")
        #expect(try await attempt(url, Silent()) == "url -1202")
        #expect(try await attempt(url, Watcher()) == "url -1202")
        #expect(try await attempt(url, Watcher { _ in (.useCredential, nil) }) == "url -1202")
        #expect(try await attempt(url, Watcher { _ in (.rejectProtectionSpace, nil) }) == "url -1202")
        #expect(try await attempt(url, Watcher { _ in (.cancelAuthenticationChallenge, nil) }) == "url -999")
        withExtendedLifetime(server) {}
    }

    @Test func `completions are answered as well, those of the session and those of tasks`() async throws {
        let (server, url) = try await serve()
        #expect(try await attempt(url, CompletingDelegate()) == "string olleh")
        #expect(try await attempt(url, TaskLevelDelegate()) == "string olleh")
        withExtendedLifetime(server) {}
    }

    @Test func `a program that computes holds nobody up`() async throws {
        let (server, url) = try await serve()
        let isOver = Atomic(false)
        defer { isOver.store(true, ordering: .relaxed) }
        // As many as there are threads for tasks.
        for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
            Task.detached(priority: .medium) { @Sendable in while !isOver.load(ordering: .relaxed) {} }
        }
        #expect(try await attempt(url, Watcher.trusting) == "string olleh")
        withExtendedLifetime(server) {}
    }

    @Test func `a space is described by whoever makes one`() {
        let space = URLProtectionSpace(
            host: "example.net",
            port: 80,
            protocol: "http",
            realm: "all",
            authenticationMethod: nil
        )
        #expect(space.authenticationMethod == NSURLAuthenticationMethodDefault && space.serverTrust == nil)
        #expect(space.realm == "all" && !space.receivesCredentialSecurely)
    }
}

/// Leaves everything out.
private final class Silent: NSObject, URLSessionWebSocketDelegate {}

/// Answers with a completion, later and elsewhere.
private final class CompletingDelegate: NSObject, URLSessionDelegate {
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        DispatchQueue.apart.async {
            completionHandler(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
    }
}

/// Answers for tasks only.
private final class TaskLevelDelegate: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
    }
}
