// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Why a command cannot do what it is for, and the exit status that says so.
struct CommandFailure: Error, Equatable {
    /// One or more lines for standard error.
    let message: String
    let status: ExitStatus

    init(_ message: String, _ status: ExitStatus) {
        self.message = message
        self.status = status
    }

    /// Says what the daemon, or the way to it, had to say.
    init(_ error: StatusClientError) {
        switch error {
        case .notReachable, .failed, .libraryMissing: self.init(error.description, .unreachable)
        case .permissionDenied, .refused: self.init(error.description, .refused)
        case .timedOut: self.init(error.description, .timedOut)
        case .problem(let status, _, let detail):
            switch status {
            case 400: self.init(detail, .usage)
            case 421: self.init(detail, .refused)
            default: self.init(detail, .negative)
            }
        }
    }
}

extension Command {
    /// Runs the body of a command; a failure becomes a message and an exit status.
    func attempt(_ body: () throws(CommandFailure) -> ExitStatus) -> ExitStatus {
        do {
            return try body()
        } catch {
            Terminal.complain(error.message)
            return error.status
        }
    }
}
