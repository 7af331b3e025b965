// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
public import FoundationNetworking
public import Network

/// The method of authentication by which a server shows its certificate.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

/// What authentication is required for: a server, or a realm of it.
public final class URLProtectionSpace: NSObject, Sendable {
    /// The host.
    public let host: String
    /// The port.
    public let port: Int
    /// The protocol, such as `https`.
    public let `protocol`: String?
    /// The realm; `nil` for a whole server.
    public let realm: String?
    /// How one authenticates, such as ``NSURLAuthenticationMethodServerTrust``.
    public let authenticationMethod: String
    /// The certificate of the server and what the usual checks say, where server trust is to be evaluated.
    public let serverTrust: SecTrust?

    /// Describes a server, or a realm of it.
    public convenience init(
        host: String,
        port: Int,
        protocol: String?,
        realm: String?,
        authenticationMethod: String?
    ) {
        self.init(
            host: host,
            port: port,
            protocol: `protocol`,
            realm: realm,
            authenticationMethod: authenticationMethod ?? NSURLAuthenticationMethodDefault,
            serverTrust: nil
        )
    }

    init(
        host: String,
        port: Int,
        protocol: String?,
        realm: String? = nil,
        authenticationMethod: String,
        serverTrust: SecTrust?
    ) {
        self.host = host
        self.port = port
        self.protocol = `protocol`
        self.realm = realm
        self.authenticationMethod = authenticationMethod
        self.serverTrust = serverTrust
    }

    /// Whether what is sent can be read by nobody else.
    public var receivesCredentialSecurely: Bool {
        ["https", NSURLProtectionSpaceHTTPS].contains(self.protocol)
    }
}

/// The question whether, or as whom, to talk to a server.
public final class URLAuthenticationChallenge: NSObject, Sendable {
    /// What is to be evaluated.
    public let protectionSpace: URLProtectionSpace
    /// What would be sent without the program; `nil` when there is nothing.
    public let proposedCredential: URLCredential?
    /// How often the server has refused so far.
    public let previousFailureCount: Int
    /// The answer by which the server refused.
    public let failureResponse: URLResponse?
    /// Why the server refused.
    public let error: (any Error)?

    /// A server shows its certificate.
    init(host: String, port: Int, trust: SecTrust) {
        protectionSpace = URLProtectionSpace(
            host: host,
            port: port,
            protocol: "https",
            authenticationMethod: NSURLAuthenticationMethodServerTrust,
            serverTrust: trust
        )
        (proposedCredential, previousFailureCount, failureResponse) = (nil, 0, nil)
        error = trust.linuxError
    }

    /// The challenge of a request of HTTP.
    init(_ challenge: FoundationNetworking.URLAuthenticationChallenge) {
        let space = challenge.protectionSpace
        protectionSpace = URLProtectionSpace(
            host: space.host,
            port: space.port,
            protocol: space.protocol,
            realm: space.realm,
            authenticationMethod: space.authenticationMethod
        )
        proposedCredential = challenge.proposedCredential
        previousFailureCount = challenge.previousFailureCount
        failureResponse = challenge.failureResponse
        error = challenge.error
    }
}

extension FoundationNetworking.URLCredential {
    /// The credential that says: this server is trusted, whatever the usual checks say.
    public convenience init(trust: SecTrust) {
        self.init(user: "", password: "", persistence: .none)
    }
}
