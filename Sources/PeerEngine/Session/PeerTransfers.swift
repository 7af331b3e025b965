// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import LinuxIO

/// Why something did not get through.
package enum TransferFailure: Error, Hashable, Sendable {
    /// One of both ends gave it up.
    case cancelled
    /// The peer is gone.
    case disconnected
    /// There are too many at once.
    case tooMany
    /// The file could not be read or written.
    case file(Errno)
    /// What arrived is not what was announced.
    case incomplete
}

/// What becomes of resources and streams.
package enum TransferEvent {
    case resourceStarted(UInt16, name: String, size: UInt64)
    case resourceProgress(UInt16, count: UInt64)
    /// A file, which is the program's from now on, or why there is none.
    case resourceFinished(UInt16, name: String, Result<String, TransferFailure>)
    case streamOpened(UInt16, name: String)
    case streamBytes(UInt16, [UInt8])
    /// The peer has sent all, or is gone.
    case streamEnded(UInt16, TransferFailure?)
}

/// Resources and streams with one member; confined to the thread of its loop.
package final class PeerTransfers {
    private let link: PeerLink
    private let files: FileWorker
    private let onEvent: (TransferEvent) -> Void

    init(_ link: PeerLink, files: FileWorker, onEvent: @escaping (TransferEvent) -> Void) {
        self.link = link
        self.files = files
        self.onEvent = onEvent
    }

    func take(_ event: LinkEvent) {
        if case .channelOpened(let channel, _) = event { link.reset(channel: channel) }
    }

    func end(_ reason: RefusalReason) {}
}
