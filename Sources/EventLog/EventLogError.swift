// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO

/// Why an event log cannot be used.
public enum EventLogError: Error, Hashable, Sendable {
    /// The operation on `file` failed.
    case failed(operation: String, file: String, reason: Errno)
    /// Another process writes `file`; `holder` is its process id where that is known.
    case locked(file: String, holder: Int32?)
    /// The file has other content than our records; it is left as it is.
    case foreign(file: String, found: String)
    case damaged(file: String, reason: String)
    /// Somebody else may have prepared the file, or a directory on its path.
    case refused(FileRefusal)
}

extension EventLogError {
    /// What the opening of `file` was refused for.
    init(_ refusal: FileRefusal, operation: String, file: String) {
        self =
            switch refusal.cause {
            case .failed(let reason): .failed(operation: operation, file: file, reason: reason)
            case .notRegular: .notRegular(file)
            default: .refused(refusal)
            }
    }

    static func notRegular(_ file: String) -> EventLogError {
        .foreign(file: file, found: "something that is not a regular file (- is standard output)")
    }
}

extension EventLogError: CustomStringConvertible {
    /// One line for the operator, naming the file and what was expected.
    public var description: String {
        switch self {
        case .failed(let operation, let file, let reason):
            "\(file): cannot \(operation): \(reason)"
        case .locked(let file, let holder?):
            "\(file): is in use by another nwpath (process \(holder)); use another log file"
        case .locked(let file, nil):
            "\(file): is in use by another nwpath; use another log file"
        case .foreign(let file, let found):
            "\(file): is not an nwpath event log: expected a record of schema nwpath.event/1, found \(found); "
                + "nothing was changed"
        case .damaged(let file, let reason):
            "\(file): is damaged: \(reason)"
        case .refused(let refusal): refusal.description
        }
    }
}
