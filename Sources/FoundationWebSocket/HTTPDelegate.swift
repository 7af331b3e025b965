// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// Forwards the HTTP events of FoundationNetworking to the program's delegate, with our types.
final class HTTPDelegate: NSObject, FoundationNetworking.URLSessionDataDelegate,
    FoundationNetworking.URLSessionDownloadDelegate
{
    typealias Answer = @Sendable (FoundationNetworking.URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    private let session = Mutex<URLSession?>(nil)

    /// Keeps the session until it is invalid, as Apple's does.
    func attach(_ session: URLSession) { self.session.withLock { $0 = session } }

    private func notify<Delegate>(_ type: Delegate.Type, _ call: (Delegate, URLSession) -> Void) {
        guard let session = session.withLock({ $0 }), let delegate = session.delegate as? Delegate else { return }
        call(delegate, session)
    }

    private func resolve<Delegate>(_ type: Delegate.Type) -> (Delegate, URLSession)? {
        guard let session = session.withLock({ $0 }), let delegate = session.delegate as? Delegate else { return nil }
        return (delegate, session)
    }

    func urlSession(_: FoundationNetworking.URLSession, didBecomeInvalidWithError error: (any Error)?) {
        let session = session.withLock { session in
            defer { session = nil }
            return session
        }
        session?.requestsEnded(error)
    }

    func urlSession(
        _: FoundationNetworking.URLSession,
        didReceive challenge: FoundationNetworking.URLAuthenticationChallenge,
        completionHandler: @escaping Answer
    ) {
        guard let (delegate, session) = resolve((any URLSessionDelegate).self) else {
            return completionHandler(.performDefaultHandling, nil)
        }
        let challenge = URLAuthenticationChallenge(challenge)
        delegate.urlSession(session, didReceive: challenge, completionHandler: completionHandler)
    }
}

// MARK: - Tasks

extension HTTPDelegate {
    func urlSession(
        _: FoundationNetworking.URLSession,
        task: FoundationNetworking.URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard let (delegate, session) = resolve((any URLSessionTaskDelegate).self) else {
            return completionHandler(request)
        }
        delegate.urlSession(
            session,
            task: task,
            willPerformHTTPRedirection: response,
            newRequest: request,
            completionHandler: completionHandler
        )
    }

    func urlSession(
        _: FoundationNetworking.URLSession,
        task: FoundationNetworking.URLSessionTask,
        didReceive challenge: FoundationNetworking.URLAuthenticationChallenge,
        completionHandler: @escaping Answer
    ) {
        guard let (delegate, session) = resolve((any URLSessionTaskDelegate).self) else {
            return completionHandler(.performDefaultHandling, nil)
        }
        let challenge = URLAuthenticationChallenge(challenge)
        delegate.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
    }

    func urlSession(
        _: FoundationNetworking.URLSession,
        task: FoundationNetworking.URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        guard let (delegate, session) = resolve((any URLSessionTaskDelegate).self) else {
            return completionHandler(nil)
        }
        delegate.urlSession(session, task: task, needNewBodyStream: completionHandler)
    }

    func urlSession(
        _: FoundationNetworking.URLSession,
        task: FoundationNetworking.URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        notify((any URLSessionTaskDelegate).self) { delegate, session in
            delegate.urlSession(
                session,
                task: task,
                didSendBodyData: bytesSent,
                totalBytesSent: totalBytesSent,
                totalBytesExpectedToSend: totalBytesExpectedToSend
            )
        }
    }

    func urlSession(
        _: FoundationNetworking.URLSession,
        task: FoundationNetworking.URLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {
        notify((any URLSessionTaskDelegate).self) { $0.urlSession($1, task: task, didCompleteWithError: error) }
    }
}

// MARK: - Content

extension HTTPDelegate {
    func urlSession(
        _: FoundationNetworking.URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (FoundationNetworking.URLSession.ResponseDisposition) -> Void
    ) {
        guard let (delegate, session) = resolve((any URLSessionDataDelegate).self) else {
            return completionHandler(.allow)
        }
        delegate.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
    }

    func urlSession(_: FoundationNetworking.URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        notify((any URLSessionDataDelegate).self) { $0.urlSession($1, dataTask: dataTask, didReceive: data) }
    }

    func urlSession(
        _: FoundationNetworking.URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        guard let (delegate, session) = resolve((any URLSessionDataDelegate).self) else {
            return completionHandler(proposedResponse)
        }
        delegate.urlSession(
            session,
            dataTask: dataTask,
            willCacheResponse: proposedResponse,
            completionHandler: completionHandler
        )
    }

    func urlSession(
        _: FoundationNetworking.URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        notify((any URLSessionDownloadDelegate).self) { delegate, session in
            delegate.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
        }
    }

    func urlSession(
        _: FoundationNetworking.URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        notify((any URLSessionDownloadDelegate).self) { delegate, session in
            delegate.urlSession(
                session,
                downloadTask: downloadTask,
                didWriteData: bytesWritten,
                totalBytesWritten: totalBytesWritten,
                totalBytesExpectedToWrite: totalBytesExpectedToWrite
            )
        }
    }
}
