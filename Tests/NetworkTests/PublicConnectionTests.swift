// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Network
import TestSupport
import Testing

/// What a program sees of connections and listeners: every member in the type that Apple's interface gives it.
@Suite struct PublicConnectionTests {
    private func words(_ state: NWConnection.State) -> String {
        switch state {
        case .setup: "setup"
        case .waiting(let error): "waiting \(error.errorCode)"
        case .preparing: "preparing"
        case .ready: "ready"
        case .failed(let error): "failed \(error.errorCode)"
        case .cancelled: "cancelled"
        @unknown default: "?"
        }
    }

    private func words(_ state: NWListener.State) -> String {
        switch state {
        case .setup: "setup"
        case .waiting(let error): "waiting \(error.errorCode)"
        case .ready: "ready"
        case .failed(let error): "failed \(error.errorCode)"
        case .cancelled: "cancelled"
        @unknown default: "?"
        }
    }

    @Test func `states are switched over as on Apple's systems`() {
        let error = NWError.posix(.ECONNREFUSED)
        let states: [NWConnection.State] = [
            .setup, .waiting(error), .preparing, .ready, .failed(error), .cancelled,
        ]
        #expect(states.map(words) == ["setup", "waiting 111", "preparing", "ready", "failed 111", "cancelled"])
        let others: [NWListener.State] = [.setup, .waiting(error), .ready, .failed(error), .cancelled]
        #expect(others.map(words) == ["setup", "waiting 111", "ready", "failed 111", "cancelled"])
    }

    @Test func `a connection has the members of Apple's interface`() {
        let connection = NWConnection(host: "127.0.0.1", port: 9, using: .tcp)
        let endpoint: NWEndpoint = connection.endpoint
        let parameters: NWParameters = connection.parameters
        let path: NWPath? = connection.currentPath
        let queue: DispatchQueue? = connection.queue
        let size: Int = connection.maximumDatagramSize
        #expect(endpoint == .hostPort(host: "127.0.0.1", port: 9) && path == nil && queue == nil && size == 0)
        #expect(parameters.defaultProtocolStack.transportProtocol is NWProtocolTCP.Options)
        connection.stateUpdateHandler = { (_: NWConnection.State) in }
        connection.pathUpdateHandler = { (_: NWPath) in }
        connection.viabilityUpdateHandler = { (_: Bool) in }
        connection.betterPathUpdateHandler = { (_: Bool) in }
        #expect(connection.stateUpdateHandler != nil && connection.pathUpdateHandler != nil)
        #expect(connection.viabilityUpdateHandler != nil && connection.betterPathUpdateHandler != nil)
        let metadata: (any NWProtocolMetadata)? = connection.metadata(definition: NWProtocolTCP.definition)
        #expect(metadata == nil)
        connection.restart()
        connection.cancelCurrentEndpoint()
        connection.batch {}
        connection.forceCancel()
        #expect(words(connection.state) == "cancelled")
    }

    @Test(.inNamespace) func `completions have the types of Apple's interface`() async {
        let connection = NWConnection(to: .unix(path: "/nowhere"), using: .tcp)
        let errors = Record<NWError?>()
        connection.send(content: Data(), completion: .contentProcessed { (error: NWError?) in errors.append(error) })
        connection.send(
            content: nil,
            contentContext: .finalMessage,
            isComplete: true,
            completion: .contentProcessed { error in errors.append(error) }
        )
        connection.send(content: [1, 2, 3] as [UInt8], completion: .idempotent)
        connection.receive(minimumIncompleteLength: 1, maximumLength: 10) {
            (content: Data?, context: NWConnection.ContentContext?, isComplete: Bool, error: NWError?) in
            if content == nil, context == nil, !isComplete { errors.append(error) }
        }
        connection.receiveMessage { (content, context, isComplete, error) in
            if content == nil, context == nil, !isComplete { errors.append(error) }
        }
        connection.cancel()
        await Namespace.current.loop.eventually("all") { errors.values.count == 4 }
        #expect(errors.values.allSatisfy { $0 == .posix(.ECANCELED) })
    }

    @Test func `a listener has the members of Apple's interface`() throws {
        let listener = try NWListener(using: .udp, on: 0)
        listener.service = NWListener.Service(name: "Lamp", type: "_demo._udp")
        listener.newConnectionLimit = NWListener.InfiniteConnectionLimit
        listener.stateUpdateHandler = { (_: NWListener.State) in }
        listener.newConnectionHandler = { (connection: NWConnection) in connection.cancel() }
        listener.serviceRegistrationUpdateHandler = { (change: NWListener.ServiceRegistrationChange) in
            switch change {
            case .add(let endpoint), .remove(let endpoint): print(endpoint)
            @unknown default: break
            }
        }
        let port: NWEndpoint.Port? = listener.port
        let queue: DispatchQueue? = listener.queue
        #expect(port == nil && queue == nil && listener.newConnectionLimit == NWListener.InfiniteConnectionLimit)
        #expect(listener.service?.name == "Lamp" && words(listener.state) == "setup")
        listener.newConnectionLimit = -5
        #expect(listener.newConnectionLimit == 0)
        listener.cancel()
        #expect(words(listener.state) == "cancelled")
    }

    @Test func `a service has its record as data and as an object`() {
        var service = NWListener.Service(type: "_demo._tcp", txtRecord: NWTXTRecord(["path": "/"]))
        #expect(service.name == nil && service.domain == nil && !service.noAutoRename)
        #expect(service.txtRecordObject?["path"] == "/" && service.txtRecord == Data([6] + Array("path=/".utf8)))
        service.txtRecordObject = nil
        #expect(service == NWListener.Service(name: nil, type: "_demo._tcp", domain: nil, txtRecord: nil))
        let other = NWListener.Service(name: "a", type: "_demo._tcp", domain: "local", txtRecord: Data([0]))
        #expect(other != service && other.txtRecordObject?.isEmpty == true)
    }
}
