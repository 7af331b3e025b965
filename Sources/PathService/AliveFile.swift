// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// The file of the state directory that holds the last sign of life.
///
/// It is written in place, without a timer of its own and without being synchronised: the kernel keeps what was written
/// when the process is killed. A file that cannot be had costs the knowledge of a killed daemon's last seconds, nothing
/// else.
public struct AliveFile: ~Copyable {
    public static let name = "alive"

    /// What an earlier run left; `nil` without one.
    let earlier: SignOfLife?
    /// What is wrong with the file, for people; `nil` when all is well.
    let problem: String?
    private let file: FileDescriptor?
    private var pulse = Pulse()

    /// Opens the file of a state directory and reads what an earlier run left.
    init(directory: String) {
        let state = StateFile(path: directory + "/" + Self.name)
        var (earlier, problem): (SignOfLife?, String?)
        var isNew = false
        var file: FileDescriptor?
        do throws(FileRefusal.Cause) {
            if let bytes = try state.read(upTo: 2 * SignOfLife.length) {
                earlier = SignOfLife(bytes)
                if earlier == nil && SignOfLife.isOurs(bytes) {
                    problem = "\(state.path) was damaged and starts empty"
                } else if earlier == nil {
                    problem = state.setAside(because: "was not a heartbeat file")
                    isNew = true
                }
            }
            let opened = try state.open(O_WRONLY, making: 0o600, isNew: isNew)
            if problem != nil { ftruncate(opened.rawValue, 0) }
            file = consume opened
        } catch {
            problem =
                "\(state.path) cannot be used (\(error)); after a crash only the log shows when the service stopped"
        }
        self.earlier = earlier
        self.problem = problem
        self.file = file
    }

    /// Whether the next sign is due; asked in every turn of the loop.
    mutating func isDue(_ clock: some TimeSource) -> Bool {
        file != nil && pulse.isDue(wall: clock.wall, boot: clock.boot)
    }

    /// Leaves a sign now; the final one is on the disk afterwards.
    func write(_ sign: SignOfLife) {
        // The next one is as good as this; until then the last that was written counts.
        try? file?.write(sign.record.span, at: 0)
        if sign.isFinal { file?.synchronize() }
    }

    /// What the file of a state directory says, for a reader of logs.
    public static func read(directory: String) -> SignOfLife? {
        guard let bytes = try? StateFile(path: directory + "/" + name).read(upTo: SignOfLife.length) else { return nil }
        return SignOfLife(bytes)
    }
}

extension FileDescriptor {
    fileprivate borrowing func synchronize() { fdatasync(rawValue) }

    /// Writes at a place of a regular file, pwrite(2).
    fileprivate borrowing func write(_ bytes: Span<UInt8>, at offset: Int64) throws(Errno) {
        let count = unsafe bytes.withUnsafeBytes { unsafe pwrite(rawValue, $0.baseAddress, $0.count, off_t(offset)) }
        guard count >= 0 else { throw .current }
    }
}
