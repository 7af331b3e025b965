// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
@_exported public import FoundationNetworking

/// Something that a session does: a request of HTTP, or a WebSocket.
///
/// On Apple's systems this is a class; here it is a protocol that the tasks of FoundationNetworking and
/// ``URLSessionWebSocketTask`` have in common, which reads the same.
public protocol URLSessionTask: NSObjectProtocol, Sendable {
    /// A number that no other task of the session has.
    var taskIdentifier: Int { get }
    /// What was requested.
    var originalRequest: URLRequest? { get }
    /// The current request, after redirections.
    var currentRequest: URLRequest? { get }
    /// What the server answered.
    var response: URLResponse? { get }
    /// What became of the task.
    var state: FoundationNetworking.URLSessionTask.State { get }
    /// Why the task failed.
    var error: (any Error)? { get }
    /// What the program calls the task.
    var taskDescription: String? { get set }
    /// How much the task matters, from 0 to 1.
    var priority: Float { get set }

    /// Begins, or goes on.
    func resume()
    /// Pauses.
    func suspend()
    /// Ends the task; its last word is `NSURLErrorCancelled`.
    func cancel()
}

extension URLSessionTask {
    /// What became of a task.
    public typealias State = FoundationNetworking.URLSessionTask.State

    /// The priority of a task for which none was set.
    public static var defaultPriority: Float { FoundationNetworking.URLSessionTask.defaultPriority }
    /// A priority below that.
    public static var lowPriority: Float { FoundationNetworking.URLSessionTask.lowPriority }
    /// A priority above that.
    public static var highPriority: Float { FoundationNetworking.URLSessionTask.highPriority }
}

extension FoundationNetworking.URLSessionTask: URLSessionTask {}
