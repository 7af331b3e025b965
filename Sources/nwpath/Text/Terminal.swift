// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// Standard output and standard error.
enum Terminal {
    /// Writes text and a line feed to standard output at once; a reader that is gone ends the program quietly.
    static func print(_ text: String) {
        write(Array((text.hasSuffix("\n") ? text : text + "\n").utf8), to: STDOUT_FILENO)
    }

    /// Writes bytes to standard output at once.
    static func print(_ bytes: some Sequence<UInt8>) { write(Array(bytes), to: STDOUT_FILENO) }

    /// Discards all further standard output.
    static func discardOutput() {
        let null = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
        if null >= 0 { dup2(null, STDOUT_FILENO) }
    }

    /// Writes one line to standard error, after the program's name.
    static func complain(_ text: String) { explain("nwpath: \(text)") }

    static func explain(_ text: String) { write(Array("\(text)\n".utf8), to: STDERR_FILENO) }

    static var isInteractive: Bool { isatty(STDOUT_FILENO) == 1 }

    static var showsProgress: Bool { isInteractive && isatty(STDERR_FILENO) == 1 }

    /// Replaces the last line of standard error, which must be a terminal.
    static func rewrite(_ text: String) { write(Array("\r\u{1B}[K\(text)".utf8), to: STDERR_FILENO) }

    /// The width of the terminal in columns; 80 where it cannot be found out.
    static var width: Int {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Ends the program as soon as nobody can read its output any more, although nothing is written.
    ///
    /// A thread waits for it in poll(2), so that a quiet stream does not outlive its reader.
    static func endWithReader() {
        var status = stat()
        guard unsafe fstat(STDOUT_FILENO, &status) == 0, [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT) else {
            return
        }
        try? DetachedThread.start {
            var entry = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
            while unsafe poll(&entry, 1, -1) < 0 && errno == EINTR {}
            exit(0)
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN && descriptor == STDOUT_FILENO {
                // Somebody else made the pipe non-blocking; it takes more as soon as its reader has read.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&entry, 1, -1)
                continue
            }
            guard count > 0 else {
                let reason = Errno.current
                guard descriptor == STDOUT_FILENO else { return }
                if reason == Errno(EPIPE) { exit(0) }
                // A result that is not there must not look like one.
                complain("cannot write the output: \(reason)")
                exit(1)
            }
            rest = rest.dropFirst(count)
        }
    }
}

enum Environment {
    static var variables: [String: String] {
        var variables: [String: String] = [:]
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            let pair = unsafe String(cString: text).split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            if pair.count == 2 { variables[String(pair[0])] = String(pair[1]) }
            unsafe entry += 1
        }
        return variables
    }

    /// A path as the configuration wants it: absolute.
    static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let directory = unsafe getcwd(nil, 0) else { return path }
        defer { unsafe free(directory) }
        return unsafe "\(String(cString: directory))/\(path)"
    }
}
