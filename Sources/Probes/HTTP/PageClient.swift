// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CCurl
public import LinuxIO

protocol PageTransfer: AnyObject {
    func end(_ result: nwp_curl_result)
}

/// Makes HTTP requests side by side on an event loop.
///
/// libcurl (libcurl-multi(3)) is loaded by the first request, so that a daemon without HTTP probes never pays for it.
/// Confined to the loop's thread.
@safe public final class PageClient {
    let loop: EventLoop
    private var raw: OpaquePointer?
    private var watches: [Int32: EventLoop.Registration] = [:]
    private var timer: EventLoop.Timer?
    private var requests: [UInt: any PageTransfer] = [:]

    /// Makes a client; nothing is loaded yet.
    public init(loop: EventLoop) {
        self.loop = loop
    }

    // A request keeps its client, so that there are none when the client goes.
    deinit {
        for watch in watches.values { loop.unregister(watch) }
        if let timer { loop.cancel(timer) }
        if let raw = unsafe raw { unsafe nwp_multi_close(raw) }
    }

    /// Why libcurl cannot be used; `nil` when it can.
    func load() -> String? {
        if unsafe raw != nil { return nil }
        guard nwp_curl_load() == 0 else {
            return "HTTP needs libcurl (apt install libcurl4): \(unsafe String(cString: nwp_curl_load_error()))"
        }
        unsafe raw = unsafe nwp_multi_open(
            { context, descriptor, wanted in unsafe PageClient.at(context)?.watch(descriptor, wanted) },
            { context, milliseconds in unsafe PageClient.at(context)?.setTimer(milliseconds) },
            unsafe Unmanaged.passUnretained(self).toOpaque()
        )
        return unsafe raw == nil ? "out of memory" : nil
    }

    /// Starts a request, which stays valid until it is removed.
    /// - Returns: Whether it could be started.
    func add(_ request: OpaquePointer, for exchange: any PageTransfer) -> Bool {
        guard let raw = unsafe raw, unsafe nwp_multi_add(raw, request) == 0 else { return false }
        requests[UInt(bitPattern: request)] = exchange
        return true
    }

    func remove(_ request: OpaquePointer) {
        guard requests.removeValue(forKey: UInt(bitPattern: request)) != nil, let raw = unsafe raw else { return }
        unsafe nwp_multi_remove(raw, request)
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> PageClient? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<PageClient>.fromOpaque(context).takeUnretainedValue()
    }

    private func watch(_ descriptor: Int32, _ wanted: Int32) {
        if let watch = watches.removeValue(forKey: descriptor) { loop.unregister(watch) }
        guard wanted != 0 else { return }
        var interest: EventLoop.Interest = []
        if wanted & 1 != 0 { interest.insert(.readable) }
        if wanted & 2 != 0 { interest.insert(.writable) }
        watches[descriptor] = try? loop.register(descriptor, for: interest) { [weak self] readiness in
            var events: Int32 = 0
            if readiness.contains(.readable) { events |= 1 }
            if readiness.contains(.writable) { events |= 2 }
            if readiness.contains(.failed) || !readiness.isDisjoint(with: .peerClosed) { events |= 4 }
            self?.act(descriptor, events)
        }
    }

    private func setTimer(_ milliseconds: Int) {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard milliseconds >= 0 else { return }
        timer = loop.schedule(after: .milliseconds(milliseconds)) { [weak self] in
            self?.timer = nil
            self?.act(-1, 0)
        }
    }

    private func act(_ descriptor: Int32, _ events: Int32) {
        guard let raw = unsafe raw else { return }
        unsafe nwp_multi_act(raw, descriptor, events)
        var result = NWP_CURL_OK
        while let request = unsafe nwp_multi_next(raw, &result) {
            guard let exchange = requests[UInt(bitPattern: request)] else { continue }
            exchange.end(result)
        }
    }
}
