// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
public import FoundationNetworking

/// Receives the events of a whole session; every method may be left out.
@preconcurrency public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    /// The session is over, because the program has invalidated it.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)
    /// A server shows its certificate, which is to be evaluated; by default the form without a completion answers.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )
    /// A server shows its certificate, which is to be evaluated; by default the usual checks decide.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)
}

/// Receives the events of tasks; every method may be left out.
@preconcurrency public protocol URLSessionTaskDelegate: URLSessionDelegate {
    /// A server sends the request elsewhere; by default it is followed.
    func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    )
    /// A server is to be evaluated, or requires authentication; by default the form without a completion answers.
    func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )
    /// A server is to be evaluated, or requires authentication; by default the usual checks decide.
    func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)
    /// A request needs its body once more.
    func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    )
    /// So much of a body was sent.
    func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    )
    /// The task is over; its last event.
    func urlSession(_ session: URLSession, task: any URLSessionTask, didCompleteWithError error: (any Error)?)
}

/// Receives the events of HTTP requests; every method may be left out.
@preconcurrency public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
    /// The head of an answer has come.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    )
    /// A part of the body has come.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
    /// An answer may be kept.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    )
}

/// Receives the events of downloads.
@preconcurrency public protocol URLSessionDownloadDelegate: URLSessionTaskDelegate {
    /// A file is there, until this method returns.
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    )
    /// So much of a file has come; may be left out.
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    )
}

/// Receives the events of WebSockets; every method may be left out.
@preconcurrency public protocol URLSessionWebSocketDelegate: URLSessionTaskDelegate {
    /// Both ends have shaken hands; `protocol` is the subprotocol that the server chose.
    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    )
    /// An end has closed.
    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    )
}
