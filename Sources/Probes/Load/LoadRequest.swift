// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import CLinuxShims
internal import Glibc
internal import LinuxIO

/// One request of a load test: a small page, or a share of the load.
///
/// Confined to the loop's thread.
@safe final class LoadRequest: PageTransfer {
    enum Purpose: Equatable {
        /// A small page, over a connection of its own.
        case foreign
        /// A small page, over one that is kept open.
        case own
        /// So many bytes, one way or the other.
        case load(LoadDirection, bytes: Int)
    }

    enum Ending: Equatable {
        /// The answer came, or as much of it as was wanted.
        case answered(status: Int)
        /// There was none; the text says why.
        case failed(String)
    }

    /// What is read of a small page at most.
    private static let longestPage = 16_384
    /// What is sent: bytes that no tunnel can make smaller.
    private static let filler: [UInt8] = (0..<65_536).map { _ in .random(in: 0...255) }

    let purpose: Purpose
    let started: Duration
    private let target: LoadOrder.Page
    private let client: PageClient
    private let clock: KernelClock
    private var raw: OpaquePointer?
    private var head = PageHead()
    /// The bytes of the body that came, or were handed over.
    private var moved = 0
    /// The connection of a load, kept open after libcurl has closed its own descriptor.
    private var connection: FileDescriptor?
    private var progress = (confirmed: 0, carried: 0)
    private var finish: (LoadRequest, Ending) -> Void = { _, _ in }
    private var heads = (sent: 0, received: 0)
    private var lastMoments = RequestMoments()

    init(_ target: LoadOrder.Page, for purpose: Purpose, client: PageClient, clock: KernelClock) {
        self.target = target
        self.purpose = purpose
        self.client = client
        self.clock = clock
        started = clock.boot
    }

    deinit { cancel() }

    /// Sends it; `finish` is called once, never before this call returns.
    /// - Returns: Whether it could be sent.
    func start(finish: @escaping (LoadRequest, Ending) -> Void) -> Bool {
        guard let raw = unsafe nwp_curl_open("\(target.page)") else { return false }
        self.finish = finish
        unsafe self.raw = raw
        unsafe nwp_curl_header(raw, "Cache-Control: no-cache")
        unsafe nwp_curl_probe(
            raw,
            target.page.pin(to: target.address),
            target.authorities ?? "",
            { context, bytes, count in
                let line = unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
                unsafe LoadRequest.at(context)?.head.append(line)
                return 1
            },
            { context, _, count in unsafe LoadRequest.at(context)?.receive(count) ?? false ? 1 : 0 },
            { context, descriptor in unsafe LoadRequest.at(context)?.prepare(descriptor) ?? false ? 1 : 0 },
            unsafe Unmanaged.passUnretained(self).toOpaque()
        )
        switch purpose {
        case .foreign: break
        case .own: unsafe nwp_curl_keep(raw)
        // Who heeds this sends no more than is wanted; from others it is cut.
        case .load(.down, let bytes): unsafe nwp_curl_header(raw, "Range: bytes=0-\(max(1, bytes) - 1)")
        case .load(.up, let bytes):
            unsafe nwp_curl_upload(raw, bytes) { context, buffer, room in
                guard let buffer = unsafe buffer else { return 0 }
                return unsafe LoadRequest.at(context)?.give(to: buffer, room) ?? 0
            }
        }
        return unsafe client.add(raw, for: self)
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> LoadRequest? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<LoadRequest>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: - libcurl's calls

    private func receive(_ count: Int) -> Bool {
        switch purpose {
        case .load(.up, _): return true
        case .load(.down, let bytes):
            moved += count
            return moved < bytes
        case .foreign, .own:
            moved += count
            return moved <= Self.longestPage
        }
    }

    private func give(to buffer: UnsafeMutablePointer<CChar>, _ room: Int) -> Int {
        guard case .load(_, let bytes) = purpose else { return 0 }
        let count = min(room, bytes - moved, Self.filler.count)
        guard count > 0 else { return 0 }
        unsafe Self.filler.withUnsafeBytes { filler in
            guard let start = filler.baseAddress else { return }
            unsafe UnsafeMutableRawPointer(buffer).copyMemory(from: start, byteCount: count)
        }
        moved += count
        return count
    }

    private func prepare(_ descriptor: Int32) -> Bool {
        guard case .load = purpose else { return true }
        guard nwp_load_drop_on_close(descriptor) == 0 else { return false }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        connection = copy < 0 ? nil : FileDescriptor(owning: copy)
        return copy >= 0
    }

    func end(_ result: nwp_curl_result) {
        guard let raw = unsafe raw else { return }
        let text = unsafe String(cString: nwp_curl_error(raw))
        let finish = finish
        if head.status == 0, !target.page.isSecure { readStatus() }
        cancel()
        let isWhole = result == NWP_CURL_OK || result == NWP_CURL_STOPPED
        // A refusal says more than how its connection ended.
        if head.status >= (isWhole ? 1 : 300) { return finish(self, .answered(status: head.status)) }
        finish(self, .failed(result == NWP_CURL_TIMED_OUT ? "no answer in time" : text))
    }

    /// Reads the status that had arrived when sending failed, which libcurl leaves unread.
    private func readStatus() {
        guard let socket = connection?.rawValue else { return }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = unsafe recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        if count > 0 { head.append(Array(bytes.prefix(count).prefix { $0 != 10 })) }
    }

    // MARK: - What is known of it

    /// The bytes of the body that arrived at the other end without a gap.
    var delivered: Int {
        guard case .load(.up, _) = purpose else { return moved }
        noteProgress()
        return min(moved, progress.confirmed)
    }

    /// The bytes of the body that the line has carried, whether or not something before them is missing.
    var carried: Int {
        guard case .load(let direction, let bytes) = purpose else { return moved }
        noteProgress()
        let most = direction == .up ? moved : bytes
        return max(delivered, min(most, progress.carried))
    }

    var isDone: Bool {
        guard case .load(_, let bytes) = purpose else { return false }
        return delivered >= bytes
    }

    /// Asks the kernel, whose figures include the head and what encryption adds.
    private func noteProgress() {
        guard let socket = connection?.rawValue else { return }
        var flow = nwp_load_flow()
        guard unsafe nwp_load_progress(socket, &flow) == 0 else { return }
        progress.confirmed = max(progress.confirmed, Int(clamping: flow.confirmed))
        let carried = if case .load(.up, _) = purpose { flow.delivered } else { flow.arrived }
        progress.carried = max(progress.carried, Int(clamping: carried))
    }

    /// The bytes that were sent and received, the heads included.
    var traffic: (sent: Int, received: Int) {
        noteHeads()
        switch purpose {
        case .load(.up, _): return (heads.sent + delivered, heads.received)
        default: return (heads.sent, heads.received + moved)
        }
    }

    private func noteHeads() {
        guard let raw = unsafe raw else { return }
        var (sent, received) = (0, 0)
        unsafe nwp_curl_traffic(raw, &sent, &received)
        let isUpload = if case .load(.up, _) = purpose { true } else { false }
        heads = (sent, isUpload ? received : max(0, received - moved))
    }

    /// How long its steps took until now.
    var steps: RequestSteps { moments.steps(isSecure: target.page.isSecure, isKept: purpose == .own, age: age) }

    private var age: Duration { clock.boot - started }

    private var moments: RequestMoments {
        guard let raw = unsafe raw else { return lastMoments }
        var found = nwp_curl_timings()
        unsafe nwp_curl_timings(raw, &found)
        return RequestMoments(
            resolved: found.resolved,
            connected: found.connected,
            secured: found.secured,
            ready: found.ready,
            answered: found.answered
        )
    }

    /// Ends it; what is known of it stays.
    func cancel() {
        guard let raw = unsafe raw else { return }
        noteHeads()
        lastMoments = moments
        noteProgress()
        connection = nil
        unsafe self.raw = nil
        unsafe client.remove(raw)
        unsafe nwp_curl_close(raw)
    }
}
