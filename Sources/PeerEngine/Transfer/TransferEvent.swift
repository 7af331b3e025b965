// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import LinuxIO

/// What names a resource or a stream among all, of connections that are over, too.
package struct TransferID: Hashable, Sendable {
    let connection: UInt64
    let channel: UInt16
}

/// Why something did not get through.
package enum TransferFailure: Error, Hashable, Sendable {
    /// One of both ends gave it up.
    case cancelled
    /// The peer is gone.
    case disconnected
    /// There are too many at once.
    case tooMany
    /// The file could not be read or written here.
    case file(Errno)
    /// The peer could not read or write it, or what arrived is not what was announced.
    case incomplete
}

/// What becomes of resources and streams that a peer sends.
package enum TransferEvent {
    case resourceStarted(TransferID, name: String, size: UInt64)
    case resourceProgress(TransferID, count: UInt64)
    /// A file, which is the program's from now on, or why there is none.
    case resourceFinished(TransferID, name: String, Result<String, TransferFailure>)
    case streamOpened(TransferID, name: String)
    /// Say ``PeerTransfers/consume(_:of:)`` when they are read.
    case streamBytes(TransferID, [UInt8])
    /// The peer has sent all, or why there is no more.
    case streamEnded(TransferID, TransferFailure?)
}

/// Where the bytes of a stream that is sent come from; used on the loop's thread.
package protocol ByteSource: AnyObject {
    /// Reads what there is.
    func read(upTo limit: Int) -> ByteSourceContent
    /// Nobody reads any more.
    func fail(_ failure: TransferFailure)
}

/// What a source has.
package enum ByteSourceContent {
    case bytes([UInt8])
    /// Nothing now; ``PeerTransfers/wake(_:)`` reports that there is something.
    case nothing
    /// Nothing any more.
    case end
}
