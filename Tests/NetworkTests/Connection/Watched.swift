// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// What one completion of a receive was called with.
struct Receipt: Sendable, Equatable {
    let text: String?
    let isComplete: Bool
    /// `nil` without a context.
    let isFinal: Bool?
    let error: NWError?

    init(_ text: String?, isComplete: Bool = false, isFinal: Bool? = false, error: NWError? = nil) {
        (self.text, self.isComplete, self.isFinal, self.error) = (text, isComplete, isFinal, error)
    }

    static func failed(_ error: NWError) -> Receipt { Receipt(nil, isFinal: nil, error: error) }
    static let end = Receipt(nil, isComplete: true, isFinal: true)
    static func message(_ text: String) -> Receipt { Receipt(text, isComplete: true) }
}

/// A connection with a record of everything that it tells.
final class Watched: Sendable {
    let connection: NWConnection
    let states = Record<NWConnection.State>()
    let viability = Record<Bool>()
    let betterPath = Record<Bool>()
    let paths = Record<NWPath>()
    let received = Record<Receipt>()
    let sent = Record<NWError?>()
    let contexts = Record<NWConnection.ContentContext?>()

    init(_ connection: NWConnection) {
        self.connection = connection
        connection.stateUpdateHandler = { [states] in states.append($0) }
        connection.viabilityUpdateHandler = { [viability] in viability.append($0) }
        connection.betterPathUpdateHandler = { [betterPath] in betterPath.append($0) }
        connection.pathUpdateHandler = { [paths] in paths.append($0) }
    }

    convenience init(to host: String, _ port: NWEndpoint.Port, _ parameters: NWParameters = .tcp) {
        self.init(NWConnection(host: NWEndpoint.Host(host), port: port, using: parameters))
    }

    /// The state that was told last.
    var state: NWConnection.State { states.values.last ?? connection.state }

    /// Starts it in the namespace of the calling thread, or in another one.
    @discardableResult
    func start(in namespace: Namespace? = nil) -> Watched {
        let queue = DispatchQueue(label: "watched")
        if let namespace {
            namespace.loop.perform { [connection] in connection.start(queue: queue) }
        } else {
            connection.start(queue: queue)
        }
        return self
    }

    func send(_ text: String?, _ context: NWConnection.ContentContext = .defaultMessage, isComplete: Bool = true) {
        connection.send(
            content: text.map { Data($0.utf8) },
            contentContext: context,
            isComplete: isComplete,
            completion: .contentProcessed { [sent] in sent.append($0) }
        )
    }

    func receive(_ minimum: Int = 1, _ maximum: Int = 65_536) {
        connection.receive(minimumIncompleteLength: minimum, maximumLength: maximum) { [received, contexts] in
            contexts.append($1)
            received.append(Receipt($0, $1, $2, $3))
        }
    }

    func receiveMessage() {
        connection.receiveMessage { [received, contexts] in
            contexts.append($1)
            received.append(Receipt($0, $1, $2, $3))
        }
    }
}

extension Receipt {
    init(_ content: Data?, _ context: NWConnection.ContentContext?, _ isComplete: Bool, _ error: NWError?) {
        self.init(
            content.map { String(decoding: $0, as: UTF8.self) },
            isComplete: isComplete,
            isFinal: context?.isFinal,
            error: error
        )
    }
}

/// A listener with a record of what it tells, and of its connections, which it starts.
final class WatchedListener: Sendable {
    let listener: NWListener
    let states = Record<NWListener.State>()
    let changes = Record<NWListener.ServiceRegistrationChange>()
    let accepted = Record<Watched>()

    init(_ listener: NWListener, starting: Bool = true) {
        self.listener = listener
        listener.stateUpdateHandler = { [states] in states.append($0) }
        listener.serviceRegistrationUpdateHandler = { [changes] in changes.append($0) }
        listener.newConnectionHandler = { [accepted] connection in
            let watched = Watched(connection)
            if starting { watched.start() }
            accepted.append(watched)
        }
    }

    convenience init(_ parameters: NWParameters = .tcp, on port: NWEndpoint.Port = .any, starting: Bool = true) throws {
        self.init(try NWListener(using: parameters, on: port), starting: starting)
    }

    /// Starts it, and waits until it is ready.
    func start(in namespace: Namespace = .current) async -> NWEndpoint.Port {
        let queue = DispatchQueue(label: "listener")
        namespace.loop.perform { [listener] in listener.start(queue: queue) }
        await Namespace.current.loop.eventually("the listener") { [states] in !states.values.isEmpty }
        return listener.port ?? .any
    }

    /// Waits until a client and the connection that was accepted last are ready.
    /// - Returns: The one that was accepted.
    func serve(_ client: Watched) async throws -> Watched {
        await Namespace.current.loop.eventually("both, but \(client.state) and \(states.values)") { [accepted] in
            client.state == .ready && accepted.values.last?.state == .ready
        }
        return try #require(accepted.values.last)
    }
}

/// A peer written in Python, in the namespace of the test or in another one.
enum PythonPeer {
    /// Starts a program; `$PORT` in it is replaced.
    static func start(
        _ program: String,
        port: NWEndpoint.Port,
        in namespace: Namespace = .current
    ) throws
        -> RunningCommand
    {
        let text = "import socket, struct, sys\n" + program.replacingOccurrences(of: "$PORT", with: "\(port.rawValue)")
        return try RunningCommand(["nsenter", "--net=\(namespace.path)", "python3", "-c", text])
    }
}
