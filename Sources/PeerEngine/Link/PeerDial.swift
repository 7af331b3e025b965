// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims
internal import Glibc
internal import LinuxIO

/// Connects to one of several addresses: the next one is tried when one failed, or was slow (RFC 8305 section 5);
/// confined to the thread of its loop.
final class PeerDial {
    private struct Attempt {
        let descriptor: Int32
        let registration: EventLoop.Registration
    }

    private let loop: EventLoop
    private var ends: [nwp_end]
    private var attempts: [Attempt] = []
    private var timer: EventLoop.Timer?
    private var completion: ((Int32?) -> Void)?

    private static let delay = Duration.milliseconds(250)

    /// Begins; `completion` gets a connected socket, which it owns, or nothing, later and once.
    init(_ ends: [nwp_end], loop: EventLoop, completion: @escaping (Int32?) -> Void) {
        self.ends = ends
        self.loop = loop
        self.completion = completion
        timer = loop.schedule(after: .zero) { [weak self] in self?.advance() }
    }

    deinit { cancel() }

    func cancel() {
        completion = nil
        if let timer { loop.cancel(timer) }
        timer = nil
        for attempt in attempts { abandon(attempt) }
        attempts = []
    }

    private func abandon(_ attempt: Attempt) {
        loop.unregister(attempt.registration)
        Glibc.close(attempt.descriptor)
    }

    private func advance() {
        if let timer { loop.cancel(timer) }
        timer = nil
        while !ends.isEmpty {
            let end = ends.removeFirst()
            guard begin(end) else { continue }
            if completion != nil, !ends.isEmpty {
                timer = loop.schedule(after: Self.delay) { [weak self] in self?.advance() }
            }
            return
        }
        if attempts.isEmpty { finish(nil) }
    }

    private func begin(_ end: nwp_end) -> Bool {
        let descriptor = nwp_flow_open(end.length, 1)
        guard descriptor >= 0 else { return false }
        var end = end
        let code = unsafe nwp_flow_connect(descriptor, &end)
        if code == 0 {
            finish(descriptor)
            return true
        }
        guard code == -EINPROGRESS,
            let registration = try? loop.register(
                descriptor,
                for: .writable,
                handler: { [weak self] _ in self?.handle(descriptor) }
            )
        else {
            Glibc.close(descriptor)
            return false
        }
        attempts.append(Attempt(descriptor: descriptor, registration: registration))
        return true
    }

    private func handle(_ descriptor: Int32) {
        guard let index = attempts.firstIndex(where: { $0.descriptor == descriptor }) else { return }
        let attempt = attempts.remove(at: index)
        loop.unregister(attempt.registration)
        guard nwp_flow_value(descriptor, SOL_SOCKET, SO_ERROR) == 0 else {
            Glibc.close(descriptor)
            return advance()
        }
        finish(descriptor)
    }

    private func finish(_ descriptor: Int32?) {
        guard let completion else {
            if let descriptor { Glibc.close(descriptor) }
            return
        }
        cancel()
        completion(descriptor)
    }
}
