// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims
internal import Glibc
internal import LinuxIO

/// Runs an event loop on a thread of its own.
enum LoopThread {
    /// Starts a detached thread that serves the loop until it is stopped.
    ///
    /// It is in the namespaces of the calling thread, and blocks all signals: those are for the program.
    /// - Throws: pthread_create(3)'s error, such as `EAGAIN`.
    static func start(_ loop: EventLoop) throws(Errno) {
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        try DetachedThread.start {
            unsafe nwp_thread_name("network")
            loop.run()
        }
    }
}
