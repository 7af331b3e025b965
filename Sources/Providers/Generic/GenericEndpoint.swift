// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// A generic netlink socket that an event loop listens to.
final class GenericEndpoint {
    var socket: GenericSocket
    private let loop: EventLoop
    private let onMessage: (GenericMessage) -> Void
    private let onLoss: (Errno) -> Void
    private var registration: EventLoop.Registration?

    /// Opens a socket and listens.
    ///
    /// - Parameters:
    ///   - loop: Calls the closures.
    ///   - onLoss: Called when messages were lost.
    ///   - onMessage: Called with every message of the kernel.
    /// - Throws: ``ProviderError/system(call:code:)``.
    init(
        loop: EventLoop,
        onLoss: @escaping (Errno) -> Void,
        onMessage: @escaping (GenericMessage) -> Void
    ) throws(ProviderError) {
        self.loop = loop
        self.onMessage = onMessage
        self.onLoss = onLoss
        socket = try GenericSocket()
        do throws(Errno) {
            registration = try loop.register(socket.descriptor, for: .readable) { [weak self] _ in self?.read() }
        } catch {
            throw .system(call: "epoll_ctl", code: error)
        }
    }

    /// Ends listening; the socket goes with the value.
    func close() {
        if let registration { loop.unregister(registration) }
        registration = nil
    }

    /// Handles what there is now.
    func read() {
        for _ in 0..<64 {
            do throws(Errno) {
                guard registration != nil, let bytes = try socket.receive() else { return }
                for message in GenericMessage.parse(bytes) { onMessage(message) }
            } catch {
                return onLoss(error)
            }
        }
    }
}
