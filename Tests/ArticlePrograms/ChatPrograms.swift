// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import Network

/// One end of a chat over TCP: it reads lines, and ends when the peer does.
final class ChatConnection {
    private static var nextID = 0

    let id: Int
    let connection: NWConnection
    var didStop: ((Error?) -> Void)?
    var didReceive: ((String) -> Void)?
    private var rest = ""

    init(_ connection: NWConnection) {
        self.connection = connection
        id = ChatConnection.nextID
        ChatConnection.nextID += 1
    }

    func start() {
        connection.stateUpdateHandler = { [weak self] in self?.stateDidChange(to: $0) }
        receive()
        connection.start(queue: .main)
    }

    func send(_ line: String) {
        connection.send(
            content: "\(line)\n".data(using: .utf8),
            completion: .contentProcessed { [weak self] error in
                if let error = error { self?.stop(error: error) }
            }
        )
    }

    func finish() {
        connection.send(content: nil, contentContext: .finalMessage, isComplete: true, completion: .idempotent)
    }

    func stop(error: Error?) {
        connection.stateUpdateHandler = nil
        connection.cancel()
        if let didStop = didStop {
            self.didStop = nil
            didStop(error)
        }
    }

    private func stateDidChange(to state: NWConnection.State) {
        switch state {
        case .waiting(let error): stop(error: error)
        case .ready: print("connection \(id) ready")
        case .failed(let error): stop(error: error)
        default: break
        }
    }

    private func receive() {
        connection.receive(minimumIncompleteLength: 1, maximumLength: 1024) { [weak self] data, _, isComplete, error in
            guard let self = self else { return }
            if let data = data, !data.isEmpty {
                self.rest += String(decoding: data, as: UTF8.self)
                var lines = self.rest.components(separatedBy: "\n")
                self.rest = lines.removeLast()
                for line in lines { self.didReceive?(line) }
            }
            if isComplete {
                self.stop(error: nil)
            } else if let error = error {
                self.stop(error: error)
            } else {
                self.receive()
            }
        }
    }
}

/// Hands what one says to all who are there.
final class ChatServer {
    private let listener: NWListener
    private var connections: [Int: ChatConnection] = [:]

    init(port: UInt16) throws {
        listener = try NWListener(using: .tcp, on: NWEndpoint.Port(rawValue: port) ?? .any)
    }

    func start() {
        listener.stateUpdateHandler = { state in
            switch state {
            case .ready: print("server ready")
            case .failed(let error): print("server failed: \(error)")
            default: break
            }
        }
        listener.newConnectionHandler = { [weak self] in self?.accept($0) }
        listener.start(queue: .main)
    }

    private func accept(_ connection: NWConnection) {
        let member = ChatConnection(connection)
        connections[member.id] = member
        member.didReceive = { [weak self] line in
            print("\(member.id): \(line)")
            self?.connections.values.forEach { $0.send("\(member.id) says \(line)") }
        }
        member.didStop = { [weak self] error in
            self?.connections[member.id] = nil
            print("\(member.id) left\(error.map { ": \($0)" } ?? "")")
        }
        member.start()
    }
}

extension ArticlePrograms {
    static func serveChat(_ port: String) async {
        guard let number = UInt16(port), let server = try? ChatServer(port: number) else { return print("no port") }
        server.start()
        await waitForever()
        withExtendedLifetime(server) {}
    }

    static func joinChat(_ host: String, _ port: String, _ lines: [String]) async {
        guard let number = UInt16(port), let port = NWEndpoint.Port(rawValue: number) else { return print("no port") }
        let member = ChatConnection(NWConnection(host: NWEndpoint.Host(host), port: port, using: .tcp))
        var expected = lines.count
        member.didReceive = { line in
            print(line)
            expected -= 1
            if expected == 0 { member.finish() }
        }
        member.didStop = { error in
            print(error.map { "stopped: \($0)" } ?? "over")
            exit(error == nil ? 0 : 1)
        }
        member.start()
        for line in lines { member.send(line) }
        await waitForever()
        withExtendedLifetime(member) {}
    }
}
