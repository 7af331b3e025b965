// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import FoundationEssentials
internal import WebSocketWire

/// What a client's request is for: its `Host` and its target.
struct WebSocketAddress: Hashable, Sendable {
    /// A name or an address, and the port unless it is the usual one.
    let host: String
    /// Path and query.
    let target: String

    /// The address of an endpoint; one without a name is that of the peer's address.
    init(_ endpoint: NWEndpoint, remote: SocketEnd?, isSecure: Bool) {
        let usual: UInt16 = isSecure ? 443 : 80
        switch endpoint {
        case .hostPort(let host, let port):
            self.host = Self.text(host, port: port.rawValue == usual ? nil : Int(port.rawValue))
            target = "/"
        case .url(let url):
            let usual = ["http", "ws"].contains(url.scheme?.lowercased()) ? 80 : 443
            host = Self.text(NWEndpoint.Host(url.host() ?? ""), port: url.port == usual ? nil : url.port)
            let path = url.path(percentEncoded: true)
            let query = url.query(percentEncoded: true).map { "?" + $0 } ?? ""
            target = (path.hasPrefix("/") ? path : "/" + path) + query
        case .service, .unix:
            let port = remote.flatMap { $0.port == usual ? nil : Int($0.port) }
            host = remote.map { Self.text(NWEndpoint.Host($0.address, interface: nil), port: port) } ?? "localhost"
            target = "/"
        }
    }

    private static func text(_ host: NWEndpoint.Host, port: Int?) -> String {
        let name =
            switch host {
            case .name(let name, _): name.hasSuffix(".") ? String(name.dropLast()) : name
            case .ipv4(let address): address.raw.description
            case .ipv6(let address): "[\(address.raw)]"
            }
        return name + (port.map { ":\($0)" } ?? "")
    }
}

extension NWProtocolWebSocket.Options.Values {
    /// A client's handshake with a server; `nil` when something would break the lines of the request.
    func handshake(at address: WebSocketAddress) -> WebSocketClientHandshake? {
        func values(of name: String) -> [String] {
            additionalHeaders.filter { $0.name.lowercased() == name }.map(\.value)
        }
        let offered = values(of: "sec-websocket-protocol").flatMap { WebSocketRequest.elements(of: $0) }
        return WebSocketClientHandshake(
            host: values(of: "host").first ?? address.host,
            target: address.target,
            subprotocols: (subprotocols + offered).filter { !$0.isEmpty },
            fields: additionalHeaders.filter { field in
                field.name.lowercased() != "host" && !WebSocketRequest.isOfHandshake(field.name)
            }
        )
    }
}
