// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import Glibc
internal import LinuxIO

/// A command that did not exit with 0.
public struct CommandFailure: Error, CustomStringConvertible {
    /// The words of the command.
    public let command: [String]
    /// Its exit code, or 128 plus the signal that ended it.
    public let code: Int32
    /// What it printed on standard output and standard error.
    public let output: String

    /// The command, its exit code and its output.
    public var description: String { "\(command.joined(separator: " ")): exit \(code): \(output)" }
}

/// Runs other programs.
public enum Command {
    /// Runs a program found in PATH and waits for it.
    /// - Returns: What it printed on standard output and standard error.
    /// - Throws: ``CommandFailure`` when it exits with anything but 0.
    @discardableResult
    public static func run(_ arguments: [String], input: String = "") throws -> String {
        let process = try RunningCommand(arguments, captures: true)
        return try process.finish(input: input)
    }
}

/// A program that runs beside the test; it is killed when this value goes, with all it started that is in its group.
public final class RunningCommand {
    private let arguments: [String]
    private let process: pid_t
    private let input: Int32
    private let output: Int32
    private var isReaped = false

    /// Starts a program found in PATH.
    ///
    /// `nsenter --net=…` before its words costs no program: the thread enters that namespace while it starts the next one.
    ///
    /// - Parameters:
    ///   - arguments: The program and its words.
    ///   - captures: Whether its output is kept for ``finish(input:)``; otherwise it goes to `/dev/null`.
    /// - Throws: The errno of pipe(2) or posix_spawn(3).
    public init(_ arguments: [String], captures: Bool = false) throws {
        self.arguments = arguments
        var stdin: [Int32] = [-1, -1]
        var stdout: [Int32] = [-1, -1]
        guard unsafe nwp_pipe(&stdin) == 0, unsafe nwp_pipe(&stdout) == 0 else { throw Errno.current }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, stdin[0], 0)
        if captures {
            unsafe posix_spawn_file_actions_adddup2(&actions, stdout[1], 1)
            unsafe posix_spawn_file_actions_adddup2(&actions, stdout[1], 2)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
            unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        unsafe sigemptyset(&noSignals)
        unsafe posix_spawnattr_setsigmask(&attributes, &noSignals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        let network = Self.network(of: arguments)
        let program = network == nil ? arguments : Array(arguments.dropFirst(2))
        var words: [UnsafeMutablePointer<CChar>?] = unsafe program.map { unsafe strdup($0) }
        unsafe words.append(nil)
        defer { unsafe words.forEach { unsafe free($0) } }
        var process: pid_t = 0
        func spawn() -> Int32 { unsafe posix_spawnp(&process, program[0], &actions, &attributes, words, environ) }
        let code = try network.map { network throws(Errno) in try Namespace.inside(network, spawn) } ?? spawn()
        close(stdin[0])
        close(stdout[1])
        input = stdin[1]
        output = stdout[0]
        self.process = process
        guard code == 0 else {
            isReaped = true
            throw Errno(code)
        }
    }

    /// The namespace in which a command line starts another one; nothing else of nsenter(1) is known here.
    private static func network(of arguments: [String]) -> String? {
        guard arguments.count > 2, arguments[0] == "nsenter", !arguments[2].hasPrefix("-") else { return nil }
        let option = "--net="
        return arguments[1].hasPrefix(option) ? String(arguments[1].dropFirst(option.count)) : nil
    }

    deinit {
        close(input)
        close(output)
        guard !isReaped else { return }
        killGroup()
        _ = wait()
    }

    /// Kills it with all it started that is in its group, before it was waited for.
    public func killGroup() { kill(-process, SIGKILL) }

    /// The process id.
    public var processID: Int32 { process }

    /// Sends a signal.
    public func signal(_ signal: Int32) { kill(process, signal) }

    /// Writes to the program's standard input; one that has ended reads nothing, and its SIGPIPE is not for this process.
    private func write(_ text: String) {
        var (pipe, before) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&pipe)
        unsafe sigaddset(&pipe, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &pipe, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(input, $0.baseAddress, min($0.count, 4096)) }
            guard count > 0 else {
                var now = timespec()
                if errno == EPIPE { unsafe sigtimedwait(&pipe, nil, &now) }
                return
            }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Hands `input` to the program, then waits until it ends.
    /// - Returns: What it printed.
    /// - Throws: ``CommandFailure`` when it exits with anything but 0.
    @discardableResult
    public func finish(input text: String = "") throws -> String {
        write(text)
        closeInput()
        var printed: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(output, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            // What cannot be read must not look like a program that printed nothing.
            guard count >= 0 else { throw Errno.current }
            guard count > 0 else { break }
            printed += chunk[..<count]
        }
        let text = String(decoding: printed, as: UTF8.self)
        let code = wait()
        guard code == 0 else { throw CommandFailure(command: arguments, code: code, output: text) }
        return text
    }

    /// Waits until the program ends.
    /// - Returns: Its exit code, or 128 plus the signal that ended it.
    public func wait() -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 && errno == EINTR {}
        isReaped = true
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
    }

    private func closeInput() {
        // The number stays ours until deinit: only its connection is given up.
        let null = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        dup2(null, input)
        close(null)
    }
}
