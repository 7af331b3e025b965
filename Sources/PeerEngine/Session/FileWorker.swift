// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// Reads and writes files beside the loop.
final class FileWorker {
    init(loop: EventLoop) {}
}
