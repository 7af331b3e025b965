// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import FoundationNetworking
internal import Network

/// What errors of connections are in the words of Foundation.
enum TaskFailure {
    /// Nothing can be sent or received, because an end has closed.
    static var closed: any Error { POSIXError(.ENOTCONN) }

    /// The error of a task whose connection could not be opened, or broke.
    static func error(_ error: NWError, isOpen: Bool) -> any Error {
        switch error {
        case .posix(let code): isOpen ? broken(code) : unopened(code)
        case .dns(kDNSServiceErr_Timeout): URLError(.timedOut)
        case .dns: URLError(.cannotFindHost)
        case .tls(let status): URLError(Self.code(status))
        }
    }

    private static func unopened(_ code: POSIXErrorCode) -> any Error {
        switch code {
        case .ETIMEDOUT: URLError(.timedOut)
        case .ENETUNREACH, .ENETDOWN, .EHOSTUNREACH: URLError(.notConnectedToInternet)
        case .EINVAL: URLError(.badURL)
        // A server that answers, but not with a WebSocket.
        case .EPROTO: URLError(.badServerResponse)
        case .ECONNABORTED, .ECONNRESET, .EPIPE: URLError(.networkConnectionLost)
        case .ECANCELED: URLError(.cancelled)
        default: URLError(.cannotConnectToHost)
        }
    }

    private static func broken(_ code: POSIXErrorCode) -> any Error {
        switch code {
        case .ECONNABORTED, .ECONNRESET, .EPIPE, .ETIMEDOUT, .ENETDOWN, .EHOSTUNREACH:
            URLError(.networkConnectionLost)
        case .ECANCELED: URLError(.cancelled)
        default: POSIXError(code)
        }
    }

    private static func code(_ status: OSStatus) -> URLError.Code {
        switch status {
        case errSSLCertExpired: .serverCertificateHasBadDate
        case errSSLCertNotYetValid: .serverCertificateNotYetValid
        case errSSLNoRootCert: .serverCertificateHasUnknownRoot
        case errSSLUnknownRootCert, errSSLXCertChainInvalid, errSSLHostNameMismatch, errSSLBadCert:
            .serverCertificateUntrusted
        default: .secureConnectionFailed
        }
    }

    /// The close code of a connection that broke because its peer broke the protocol; `nil` otherwise.
    static func closeCode(_ error: NWError) -> URLSessionWebSocketTask.CloseCode? {
        switch error {
        case .posix(.EMSGSIZE): .messageTooBig
        case .posix(.EILSEQ): .invalidFramePayloadData
        case .posix(.EPROTO): .protocolError
        default: nil
        }
    }
}
