// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// What was written to a log and may not be on the disk yet, for a thread that may wait for that.
public struct UnsavedLog: Sendable {
    let files: [SavedFile]

    /// How many files that is.
    public var count: Int { files.count }

    /// Saves it, fdatasync(2).
    public func save() {
        for file in files { file.save() }
    }
}

/// A file of a log, open for as long as it is not saved.
final class SavedFile: Sendable {
    private let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    func save() { fdatasync(descriptor.rawValue) }

    /// Whether it has a name; without one it only occupies a full disk.
    var isLinked: Bool { ((try? FileStatus(of: descriptor))?.links ?? 0) > 0 }
}
