// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// Bytes for a peer.
///
/// Used by one thread at a time, as streams are; the engine reads the bytes on a thread of its own.
final class SessionOutputStream: OutputStream {
    private let pipe: StreamPipe
    private let onEnd: @Sendable () -> Void
    private var status = Stream.Status.notOpen
    private var events: StreamEvents?
    private var hasReportedRoom = false
    private weak var hearer: (any StreamDelegate)?

    init(_ pipe: StreamPipe, onEnd: @escaping @Sendable () -> Void) {
        self.pipe = pipe
        self.onEnd = onEnd
        super.init(toMemory: ())
        events = StreamEvents { [weak self] in self?.update() }
    }

    /// Required of every stream; one to memory is none of a session's, and accepts nothing.
    required init(toMemory: ()) {
        pipe = StreamPipe(capacity: 0)
        pipe.fail(MCError(.unsupported))
        onEnd = {}
        super.init(toMemory: toMemory)
    }

    deinit {
        pipe.setOnChange {}
        pipe.end()
        onEnd()
    }

    override var delegate: (any StreamDelegate)? {
        get { hearer }
        set { hearer = newValue }
    }

    override var streamStatus: Stream.Status {
        if status == .open, pipe.error != nil { return .error }
        return status
    }

    override var streamError: (any Error)? { pipe.error }

    override var hasSpaceAvailable: Bool { status == .open && pipe.hasRoom }

    override func open() {
        guard status == .notOpen else { return }
        status = .open
        hearer?.stream(self, handle: .openCompleted)
        pipe.setOnChange { [events] in events?.post() }
    }

    override func close() {
        guard status == .open || status == .notOpen else { return }
        status = .closed
        pipe.setOnChange {}
        pipe.end()
        onEnd()
    }

    override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
        guard status == .open, len > 0 else { return status == .open ? 0 : -1 }
        let count = unsafe pipe.write(UnsafeBufferPointer(start: buffer, count: len))
        hasReportedRoom = false
        onEnd()
        events?.post()
        return count
    }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }

    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        events?.schedule(in: aRunLoop, forMode: mode)
    }

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        events?.remove(from: aRunLoop, forMode: mode)
    }

    private func update() {
        guard status == .open else { return }
        if pipe.error != nil {
            status = .error
            hearer?.stream(self, handle: .errorOccurred)
        } else if pipe.hasRoom, !hasReportedRoom {
            hasReportedRoom = true
            hearer?.stream(self, handle: .hasSpaceAvailable)
        }
    }
}

/// Bytes of a peer.
///
/// Used by one thread at a time, as streams are; the engine puts the bytes on a thread of its own.
final class SessionInputStream: InputStream {
    private let pipe: StreamPipe
    private let onRead: @Sendable (Int) -> Void
    private let onClose: @Sendable () -> Void
    private var status = Stream.Status.notOpen
    private var events: StreamEvents?
    private weak var hearer: (any StreamDelegate)?

    init(_ pipe: StreamPipe, onRead: @escaping @Sendable (Int) -> Void, onClose: @escaping @Sendable () -> Void) {
        self.pipe = pipe
        self.onRead = onRead
        self.onClose = onClose
        super.init(data: Data())
        events = StreamEvents { [weak self] in self?.update() }
    }

    deinit {
        pipe.setOnChange {}
        if status != .closed { onClose() }
    }

    override var delegate: (any StreamDelegate)? {
        get { hearer }
        set { hearer = newValue }
    }

    override var streamStatus: Stream.Status {
        guard status == .open else { return status }
        return pipe.hasBytes ? .open : pipe.error != nil ? .error : pipe.isOver ? .atEnd : .open
    }

    override var streamError: (any Error)? { pipe.hasBytes ? nil : pipe.error }

    override var hasBytesAvailable: Bool { status == .open && pipe.hasBytes }

    override func open() {
        guard status == .notOpen else { return }
        status = .open
        hearer?.stream(self, handle: .openCompleted)
        pipe.setOnChange { [events] in events?.post() }
    }

    override func close() {
        guard status != .closed else { return }
        status = .closed
        pipe.setOnChange {}
        onClose()
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        guard status == .open, len > 0 else { return status == .open || status == .atEnd ? 0 : -1 }
        let bytes = pipe.read(upTo: len, waits: true)
        guard !bytes.isEmpty else { return pipe.error == nil ? 0 : -1 }
        unsafe UnsafeMutableBufferPointer(start: buffer, count: len).baseAddress?.update(
            from: bytes,
            count: bytes.count
        )
        onRead(bytes.count)
        events?.post()
        return bytes.count
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
        length len: UnsafeMutablePointer<Int>
    ) -> Bool {
        false
    }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }

    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        events?.schedule(in: aRunLoop, forMode: mode)
    }

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        events?.remove(from: aRunLoop, forMode: mode)
    }

    private func update() {
        guard status == .open else { return }
        if pipe.hasBytes {
            hearer?.stream(self, handle: .hasBytesAvailable)
        } else if pipe.error != nil {
            status = .error
            hearer?.stream(self, handle: .errorOccurred)
        } else if pipe.isOver {
            status = .atEnd
            hearer?.stream(self, handle: .endEncountered)
        }
    }
}
