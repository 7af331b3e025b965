// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CWslay

/// The bytes that wslay's callbacks read and write.
private final class FrameBuffers {
    var input: [UInt8] = []
    var output: [UInt8] = []
    let makeMask: () -> UInt32
    private var offset = 0

    init(makeMask: @escaping () -> UInt32) { self.makeMask = makeMask }

    func feed(_ bytes: [UInt8]) {
        input = offset == input.count ? bytes : Array(input[offset...]) + bytes
        offset = 0
    }

    /// Gives wslay what there is; -1 means that more bytes are needed.
    func fill(_ buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let count = min(buffer.count, input.count - offset)
        guard count > 0 else { return -1 }
        _ = unsafe buffer.update(fromContentsOf: input[offset..<offset + count])
        offset += count
        if offset == input.count {
            input = []
            offset = 0
        }
        return count
    }

    static func at(_ context: UnsafeMutableRawPointer?) -> FrameBuffers? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<FrameBuffers>.fromOpaque(context).takeUnretainedValue()
    }

    static var callbacks: wslay_frame_callbacks {
        var callbacks = wslay_frame_callbacks()
        unsafe callbacks.recv_callback = { buffer, count, _, context in
            guard let buffer = unsafe buffer, let buffers = unsafe FrameBuffers.at(context) else { return -1 }
            return unsafe buffers.fill(UnsafeMutableBufferPointer(start: buffer, count: count))
        }
        unsafe callbacks.send_callback = { bytes, count, _, context in
            guard let buffers = unsafe FrameBuffers.at(context) else { return -1 }
            unsafe buffers.output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
            return count
        }
        unsafe callbacks.genmask_callback = { buffer, count, context in
            guard let buffer = unsafe buffer, let buffers = unsafe FrameBuffers.at(context), count == 4 else {
                return -1
            }
            let mask = buffers.makeMask()
            for index in 0..<4 { unsafe buffer[index] = UInt8(truncatingIfNeeded: mask >> (24 - 8 * UInt32(index))) }
            return 0
        }
        return callbacks
    }
}

/// Owns one wslay frame context: bytes to pieces of frames, and payloads to frames (RFC 6455 section 5.2).
@safe struct FrameCodec: ~Copyable {
    /// What arrived of one frame; a frame comes in one piece or in several.
    struct Piece: Equatable {
        var opcode: UInt8
        var isFinal: Bool
        /// RSV1 to RSV3, 0 without extensions.
        var reserved: UInt8
        var isMasked: Bool
        /// The length of the whole payload in bytes.
        var length: UInt64
        var bytes: [UInt8]
        /// Whether this is the first piece of its frame.
        var isStart: Bool
        var isEnd: Bool
    }

    private let raw: OpaquePointer
    private let buffers: FrameBuffers
    /// How much of the payload of the frame in hand has come.
    private var received: UInt64 = 0

    /// Makes a codec; `makeMask` gives the masking key of each masked frame, which must not be predictable.
    ///
    /// Source: wslay_frame_context_init(); a lack of memory stops the program, as everywhere in Swift.
    init(makeMask: @escaping () -> UInt32) {
        buffers = FrameBuffers(makeMask: makeMask)
        var callbacks = FrameBuffers.callbacks
        var context: OpaquePointer?
        let code = unsafe wslay_frame_context_init(&context, &callbacks, Unmanaged.passUnretained(buffers).toOpaque())
        guard code == 0, let context = unsafe context else { preconditionFailure("no memory for a frame context") }
        unsafe raw = context
    }

    deinit { unsafe wslay_frame_context_free(raw) }

    /// Adds bytes to read.
    func feed(_ bytes: [UInt8]) { buffers.feed(bytes) }

    /// The next piece of a frame; `nil` when more bytes are needed.
    /// - Throws: ``WebSocketFailure/malformedFrame`` for a control frame that is fragmented or longer than 125 bytes,
    ///   or a length that is not written in its shortest form (RFC 6455 sections 5.2 and 5.5).
    mutating func next() throws(WebSocketFailure) -> Piece? {
        var frame = unsafe wslay_frame_iocb()
        let count = unsafe wslay_frame_recv(raw, &frame)
        guard count >= 0 else {
            guard count == Int(WSLAY_ERR_WANT_READ.rawValue) else { throw .malformedFrame }
            return nil
        }
        let isStart = received == 0
        received += UInt64(count)
        let isEnd = unsafe received == frame.payload_length
        if isEnd { received = 0 }
        return unsafe Piece(
            opcode: frame.opcode,
            isFinal: frame.fin != 0,
            reserved: frame.rsv,
            isMasked: frame.mask != 0,
            length: frame.payload_length,
            bytes: Array(UnsafeBufferPointer(start: frame.data, count: frame.data_length)),
            isStart: isStart,
            isEnd: isEnd
        )
    }

    /// One frame, ready to send.
    ///
    /// A codec masks every frame or none, as a side of a connection does: once wslay has masked one it masks all.
    func encode(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, isMasked: Bool) -> [UInt8] {
        buffers.output = []
        buffers.output.reserveCapacity(payload.count + 14)
        unsafe payload.withUnsafeBufferPointer { payload in
            var frame = unsafe wslay_frame_iocb()
            unsafe frame.fin = isFinal ? 1 : 0
            unsafe frame.opcode = opcode
            unsafe frame.mask = isMasked ? 1 : 0
            unsafe frame.payload_length = UInt64(payload.count)
            unsafe frame.data = payload.baseAddress
            unsafe frame.data_length = payload.count
            let sent = unsafe wslay_frame_send(raw, &frame)
            precondition(sent == payload.count, "a frame was not encoded: \(sent)")
        }
        defer { buffers.output = [] }
        return buffers.output
    }
}
