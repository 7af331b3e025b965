// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LinuxIO
import Network
import Synchronization
import TestSupport
import Testing

/// Stands between a client and a server of UDP, and loses, doubles or changes what they say.
final class Relay: Sendable {
    /// Where a datagram goes.
    enum Way: Hashable, Sendable {
        case toServer, toClient
    }

    /// What arrives in the place of a datagram, which is counted from 0 for each way.
    typealias Change = @Sendable (_ way: Way, _ number: Int, _ datagram: Data) -> [Data]

    /// Everything that came, before it was changed.
    let seen = Record<(way: Way, datagram: Data)>()
    private let listener: NWListener
    private let ends = Record<(client: NWConnection, server: NWConnection)>()
    private let counts = Mutex<[Way: Int]>([:])
    private let change: Change
    private let port: NWEndpoint.Port
    private let namespace: Namespace
    private let queue = DispatchQueue(label: "relay")

    private init(to port: NWEndpoint.Port, in namespace: Namespace, change: @escaping Change) throws {
        listener = try NWListener(using: .udp)
        (self.port, self.namespace, self.change) = (port, namespace, change)
    }

    /// Starts one at a port of its own.
    static func start(
        to port: NWEndpoint.Port,
        change: @escaping Change = { [$2] }
    ) async throws -> (Relay, NWEndpoint.Port) {
        let namespace = Namespace.current
        let relay = try Relay(to: port, in: namespace, change: change)
        relay.listener.newConnectionHandler = { [weak relay] in relay?.take($0) }
        namespace.loop.perform { relay.listener.start(queue: relay.queue) }
        await namespace.loop.eventually("the relay") { relay.listener.port != nil }
        return (relay, relay.listener.port ?? .any)
    }

    deinit {
        listener.cancel()
        for (client, server) in ends.values {
            client.cancel()
            server.cancel()
        }
    }

    private func take(_ client: NWConnection) {
        let server = NWConnection(host: "127.0.0.1", port: port, using: .udp)
        ends.append((client, server))
        pump(client, into: server, .toServer)
        pump(server, into: client, .toClient)
        namespace.loop.perform { [queue] in
            for connection in [client, server] { connection.start(queue: queue) }
        }
    }

    private func pump(_ source: NWConnection, into target: NWConnection, _ way: Way) {
        source.receiveMessage { [weak self] content, _, _, error in
            guard let self, let content, error == nil else { return }
            let number = counts.withLock { counts in
                defer { counts[way, default: 0] += 1 }
                return counts[way, default: 0]
            }
            seen.append((way, content))
            for datagram in change(way, number, content) { target.send(content: datagram, completion: .idempotent) }
            pump(source, into: target, way)
        }
    }

    /// Sends something as if an end had said it.
    func inject(_ way: Way, _ datagram: Data) {
        for (client, server) in ends.values {
            (way == .toServer ? server : client).send(content: datagram, completion: .idempotent)
        }
    }
}
