// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Bytes rendered once and sent many times, without a copy for each answer.
///
/// The bytes stay where they are for as long as anybody refers to this object, which is what lets an answer that is
/// still being sent outlive the state it shows.
@safe public final class SharedBytes {
    static var empty: SharedBytes { SharedBytes([]) }

    public let count: Int
    private let storage: UnsafeMutableRawPointer
    /// The same bytes compressed, made when they are first asked for; `nil` without memory.
    private(set) lazy var compressed = unsafe Gzip.compress(UnsafeRawBufferPointer(start: storage, count: count))
        .map(SharedBytes.init)

    /// Copies `bytes` once.
    public init(_ bytes: [UInt8]) {
        count = bytes.count
        unsafe storage = .allocate(byteCount: max(1, bytes.count), alignment: 1)
        unsafe bytes.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            unsafe storage.copyMemory(from: base, byteCount: source.count)
        }
    }

    deinit {
        unsafe storage.deallocate()
    }

    /// The address of the first byte, valid while this object lives.
    @unsafe var address: UnsafeRawPointer { unsafe UnsafeRawPointer(storage) }

    /// A copy as an array.
    public var bytes: [UInt8] {
        unsafe [UInt8](UnsafeRawBufferPointer(start: storage, count: count))
    }
}
