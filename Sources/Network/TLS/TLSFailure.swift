// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Why TLS failed, as OpenSSL reports it; pure.
struct TLSFailure: Hashable, Sendable {
    /// What the checks of the certificate said (`X509_V_ERR_*`); 0 when there was nothing to be said.
    var verification: Int32 = 0
    /// The alert that the peer sent (RFC 8446 section 6); `nil` when it sent none.
    var alert: Int32?

    /// The code of Apple's Security framework that says about the same.
    var status: OSStatus {
        if let alert { return Self.alerts[alert] ?? errSSLPeerHandshakeFail }
        guard verification != 0 else { return errSSLProtocol }
        return Self.verifications[verification] ?? errSSLXCertChainInvalid
    }

    /// By the number of the alert.
    private static let alerts: [Int32: OSStatus] = [
        0: errSSLClosedGraceful, 10: errSSLPeerUnexpectedMsg, 40: errSSLPeerHandshakeFail, 42: errSSLPeerBadCert,
        43: errSSLPeerBadCert, 44: errSSLPeerCertRevoked, 45: errSSLPeerCertExpired, 46: errSSLPeerCertUnknown,
        48: errSSLPeerUnknownCA, 70: errSSLPeerProtocolVersion, 116: errSSLPeerCertUnknown,
        120: errSSLPeerHandshakeFail,
    ]

    /// By `X509_V_ERR_*` of OpenSSL.
    private static let verifications: [Int32: OSStatus] = [
        9: errSSLCertNotYetValid, 10: errSSLCertExpired, 18: errSSLUnknownRootCert, 19: errSSLUnknownRootCert,
        20: errSSLNoRootCert, 21: errSSLNoRootCert, 23: errSSLPeerCertRevoked, 62: errSSLHostNameMismatch,
        64: errSSLHostNameMismatch,
    ]
}

/// The peer broke the protocol.
public let errSSLProtocol: OSStatus = -9800
/// The peer has closed the connection as it should.
public let errSSLClosedGraceful: OSStatus = -9805
/// The chain of certificates is not valid.
public let errSSLXCertChainInvalid: OSStatus = -9807
/// The certificate is bad.
public let errSSLBadCert: OSStatus = -9808
/// The chain ends in a certificate that nobody trusts, such as one that signed itself.
public let errSSLUnknownRootCert: OSStatus = -9812
/// The chain has no end that is known.
public let errSSLNoRootCert: OSStatus = -9813
/// A certificate of the chain has expired.
public let errSSLCertExpired: OSStatus = -9814
/// A certificate of the chain is not valid yet.
public let errSSLCertNotYetValid: OSStatus = -9815
/// The connection was closed without the peer saying so: content may be missing.
public let errSSLClosedNoNotify: OSStatus = -9816
/// The peer sent something that does not belong there.
public let errSSLPeerUnexpectedMsg: OSStatus = -9819
/// The peer found no common ground.
public let errSSLPeerHandshakeFail: OSStatus = -9824
/// The peer does not like our certificate.
public let errSSLPeerBadCert: OSStatus = -9825
/// A certificate was revoked.
public let errSSLPeerCertRevoked: OSStatus = -9827
/// The peer finds that our certificate has expired.
public let errSSLPeerCertExpired: OSStatus = -9828
/// The peer wants to know more about our certificate.
public let errSSLPeerCertUnknown: OSStatus = -9829
/// The peer does not trust the authority behind our certificate.
public let errSSLPeerUnknownCA: OSStatus = -9831
/// The peer speaks no version of TLS that we do.
public let errSSLPeerProtocolVersion: OSStatus = -9836
/// The certificate is for another name.
public let errSSLHostNameMismatch: OSStatus = -9843
/// The options make no sense, such as a listener without a certificate.
public let errSSLBadConfiguration: OSStatus = -9848
