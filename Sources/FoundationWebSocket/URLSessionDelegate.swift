// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
public import FoundationNetworking

/// Hears what concerns a whole session; every method may be left out.
@preconcurrency public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    /// The session is over, because the program has invalidated it.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)
    /// A server shows its certificate, and is to be judged; by default the form without a completion answers.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )
    /// A server shows its certificate, and is to be judged; by default the usual checks decide.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)
}

/// Hears what becomes of tasks; every method may be left out.
@preconcurrency public protocol URLSessionTaskDelegate: URLSessionDelegate {
    /// A server sends the request elsewhere; by default it is followed.
    func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    )
    /// A server is to be judged, or wants to know who asks; by default the form without a completion answers.
    func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )
    /// A server is to be judged, or wants to know who asks; by default the usual checks decide.
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
    /// The task is over; the last that is told of it.
    func urlSession(_ session: URLSession, task: any URLSessionTask, didCompleteWithError error: (any Error)?)
}

/// Hears what requests of HTTP bring; every method may be left out.
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

/// Hears of downloads.
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

/// Hears of WebSockets; every method may be left out.
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
