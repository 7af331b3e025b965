// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
public import FoundationNetworking

/// Requests of HTTP, which FoundationNetworking does.
extension URLSession {
    /// Prepares a request; the delegate is notified.
    public func dataTask(with request: URLRequest) -> URLSessionDataTask { original.dataTask(with: request) }

    /// Prepares a request; the delegate is notified.
    public func dataTask(with url: URL) -> URLSessionDataTask { original.dataTask(with: url) }

    /// Prepares a request.
    public func dataTask(
        with request: URLRequest,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        original.dataTask(with: request, completionHandler: completionHandler)
    }

    /// Prepares a request.
    public func dataTask(
        with url: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        original.dataTask(with: url, completionHandler: completionHandler)
    }

    /// Prepares to send a file; the delegate is notified.
    public func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        original.uploadTask(with: request, fromFile: fileURL)
    }

    /// Prepares to send data; the delegate is notified.
    public func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        original.uploadTask(with: request, from: bodyData)
    }

    /// Prepares to send what the delegate gives.
    public func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        original.uploadTask(withStreamedRequest: request)
    }

    /// Prepares to send a file.
    public func uploadTask(
        with request: URLRequest,
        fromFile fileURL: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        original.uploadTask(with: request, fromFile: fileURL, completionHandler: completionHandler)
    }

    /// Prepares to send data.
    public func uploadTask(
        with request: URLRequest,
        from bodyData: Data?,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        original.uploadTask(with: request, from: bodyData ?? Data(), completionHandler: completionHandler)
    }

    /// Prepares to fetch a file; the delegate is notified.
    public func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        original.downloadTask(with: request)
    }

    /// Prepares to fetch a file; the delegate is notified.
    public func downloadTask(with url: URL) -> URLSessionDownloadTask { original.downloadTask(with: url) }

    /// Prepares to fetch a file.
    public func downloadTask(
        with request: URLRequest,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        original.downloadTask(with: request, completionHandler: completionHandler)
    }

    /// Prepares to fetch a file.
    public func downloadTask(
        with url: URL,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        original.downloadTask(with: url, completionHandler: completionHandler)
    }

    /// Fetches a URL.
    public func data(from url: URL) async throws -> (Data, URLResponse) { try await original.data(from: url) }

    /// Performs a request.
    public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        try await original.data(for: request)
    }

    /// Sends a file.
    public func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, URLResponse) {
        try await original.upload(for: request, fromFile: fileURL)
    }

    /// Sends data.
    public func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, URLResponse) {
        try await original.upload(for: request, from: bodyData)
    }

    /// Fetches a file.
    public func download(from url: URL) async throws -> (URL, URLResponse) { try await original.download(from: url) }

    /// Fetches a file.
    public func download(for request: URLRequest) async throws -> (URL, URLResponse) {
        try await original.download(for: request)
    }

    /// Forgets what was kept, such as cookies and credentials.
    public func reset(completionHandler: @escaping @Sendable () -> Void) {
        original.reset(completionHandler: completionHandler)
    }

    /// Writes what is kept.
    public func flush(completionHandler: @escaping @Sendable () -> Void) {
        original.flush(completionHandler: completionHandler)
    }

    /// Returns the requests in progress.
    public func getTasksWithCompletionHandler(
        _ completionHandler:
            @escaping @Sendable ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) -> Void
    ) {
        original.getTasksWithCompletionHandler(completionHandler)
    }

    /// Returns all tasks in progress.
    public func getAllTasks(completionHandler: @escaping @Sendable ([any URLSessionTask]) -> Void) {
        original.getAllTasks { [self] tasks in completionHandler(tasks + webSockets) }
    }
}
