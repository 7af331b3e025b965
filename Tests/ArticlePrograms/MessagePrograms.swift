// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import Network

/// Offers a service over UDP and answers every message, as people wrote it when the framework was new.
final class MessageHost {
    private var listener: NWListener?
    private var connections: [NWConnection] = []

    func advertise(_ name: String, _ type: String) throws {
        let listener = try NWListener(using: .udp)
        listener.service = NWListener.Service(name: name, type: type)
        listener.serviceRegistrationUpdateHandler = { change in
            switch change {
            case .add(let endpoint):
                switch endpoint {
                case let .service(name: name, type: _, domain: _, interface: _): print("advertised \(name)")
                default: break
                }
            case .remove: print("removed")
            @unknown default: break
            }
        }
        listener.stateUpdateHandler = { state in
            switch state {
            case .ready: print("listening")
            case .failed(let error): print("failed \(error)")
            default: break
            }
        }
        listener.newConnectionHandler = { [weak self] connection in
            self?.connections.append(connection)
            self?.serve(connection)
        }
        listener.start(queue: .main)
        self.listener = listener
    }

    private func serve(_ connection: NWConnection) {
        connection.start(queue: .main)
        func receive() {
            connection.receiveMessage { content, _, isComplete, error in
                if let content = content, isComplete, let text = String(data: content, encoding: .utf8) {
                    print("heard \(text)")
                    connection.send(
                        content: "you said \(text)".data(using: .utf8),
                        completion: .contentProcessed { error in
                            if let error = error { print("cannot send: \(error)") }
                        }
                    )
                }
                if error == nil { receive() }
            }
        }
        receive()
    }
}

/// Connects to the first service that is found, and says what it was told to say.
final class MessageGuest {
    private var browser: NWBrowser?
    private var connection: NWConnection?
    private let words: [String]

    init(words: [String]) { self.words = words }

    func search(for type: String) {
        let parameters = NWParameters()
        parameters.includePeerToPeer = true
        let browser = NWBrowser(for: .bonjour(type: type, domain: nil), using: parameters)
        browser.browseResultsChangedHandler = { [weak self] results, _ in
            guard let self = self, self.connection == nil, let result = results.first else { return }
            print("found \(result.endpoint)")
            self.connect(to: result.endpoint)
        }
        browser.start(queue: .main)
        self.browser = browser
    }

    private func connect(to endpoint: NWEndpoint) {
        let connection = NWConnection(to: endpoint, using: .udp)
        connection.stateUpdateHandler = { [weak self] state in
            switch state {
            case .ready:
                print("ready")
                self?.talk(on: connection)
            case .waiting(let error): print("waiting \(error)")
            case .failed(let error): print("failed \(error)")
            case .cancelled: print("cancelled")
            case .setup, .preparing: break
            @unknown default: break
            }
        }
        connection.start(queue: .main)
        self.connection = connection
    }

    private func talk(on connection: NWConnection) {
        func exchange(_ rest: ArraySlice<String>) {
            guard let word = rest.first else {
                connection.cancel()
                return
            }
            connection.send(content: Data(word.utf8), completion: .idempotent)
            connection.receiveMessage { content, context, isComplete, error in
                guard let content = content, isComplete, error == nil else {
                    print("no answer: \(String(describing: error))")
                    return
                }
                print("\(String(decoding: content, as: UTF8.self)) \(context?.isFinal == true ? "at last" : "so far")")
                exchange(rest.dropFirst())
            }
        }
        exchange(words[...])
    }
}

extension ArticlePrograms {
    static func hostMessages(_ name: String, _ type: String) async {
        let host = MessageHost()
        do {
            try host.advertise(name, type)
        } catch {
            print("cannot listen: \(error)")
        }
        await waitForever()
        withExtendedLifetime(host) {}
    }

    static func exchangeMessages(_ type: String, _ words: [String]) async {
        let guest = MessageGuest(words: words)
        guest.search(for: type)
        await waitForever()
        withExtendedLifetime(guest) {}
    }
}
