// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims
internal import Glibc
internal import LinuxIO

/// Runs an event loop on a thread of its own.
enum LoopThread {
    private final class Body {
        let loop: EventLoop
        init(_ loop: EventLoop) { self.loop = loop }
    }

    /// Starts a detached thread that serves the loop until it is stopped.
    ///
    /// It is in the namespaces of the calling thread, and takes no signals: those are for the program.
    /// - Throws: pthread_create(3)'s error, such as `EAGAIN`.
    static func start(_ loop: EventLoop) throws(Errno) {
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let body = unsafe Unmanaged.passRetained(Body(loop)).toOpaque()
        let code = unsafe pthread_create(
            &thread,
            nil,
            { raw in
                guard let raw = unsafe raw else { return nil }
                unsafe nwp_thread_name("network")
                unsafe Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().loop.run()
                return nil
            },
            body
        )
        guard code == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(body).release()
            throw Errno(code)
        }
        pthread_detach(thread)
    }
}
