// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
public import FoundationNetworking

extension URLSessionDelegate {
    /// Does nothing.
    public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {}

    /// Calls the form without a completion; a peer waits, and tasks of the program that compute must not hold it up.
    public func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        Task(priority: .high) {
            let (disposition, credential) = await urlSession(session, didReceive: challenge)
            completionHandler(disposition, credential)
        }
    }

    /// Leaves it to the usual checks.
    public func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        (.performDefaultHandling, nil)
    }
}

extension URLSessionTaskDelegate {
    /// Follows.
    public func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(request)
    }

    /// Calls the form without a completion, as that of the session does.
    public func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        Task(priority: .high) {
            let (disposition, credential) = await urlSession(session, task: task, didReceive: challenge)
            completionHandler(disposition, credential)
        }
    }

    /// Leaves it to the usual checks.
    public func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        (.performDefaultHandling, nil)
    }

    /// Has none.
    public func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(nil)
    }

    /// Does nothing.
    public func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {}

    /// Does nothing.
    public func urlSession(
        _ session: URLSession,
        task: any URLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {}
}

extension URLSessionDataDelegate {
    /// Goes on.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.allow)
    }

    /// Does nothing.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {}

    /// Keeps it.
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(proposedResponse)
    }
}

extension URLSessionDownloadDelegate {
    /// Does nothing.
    public func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {}
}

extension URLSessionWebSocketDelegate {
    /// Does nothing.
    public func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    ) {}

    /// Does nothing.
    public func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    ) {}
}
