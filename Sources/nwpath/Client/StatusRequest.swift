// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import Probes

@safe final class StatusRequest {
    private static let largest = 64 << 20

    private let raw: OpaquePointer
    private let endpoint: StatusClient.Endpoint
    private var fields: [String: String] = [:]
    private var body: [UInt8] = []
    private var isTooLarge = false
    /// Takes a line of a stream; `false` ends it.
    private var line: ((String) -> Bool)?
    private var tick: (() -> Void)?
    private var wasStopped = false

    init(
        _ client: StatusClient,
        target: String,
        fields: [(name: String, value: String)]
    ) throws(StatusClientError) {
        guard nwp_curl_load() == 0 else {
            throw .libraryMissing(reason: unsafe String(cString: nwp_curl_load_error()))
        }
        endpoint = client.endpoint
        let base =
            switch client.endpoint {
            case .unix: "http://localhost"
            case .url(let url): url.hasSuffix("/") ? String(url.dropLast()) : url
            }
        guard let raw = unsafe nwp_curl_open(base + target) else {
            throw .failed(endpoint: client.endpoint.description, reason: "out of memory")
        }
        unsafe self.raw = raw
        if case .unix(let path) = client.endpoint { unsafe nwp_curl_unix_socket(raw, path) }
        if client.endpoint.isLocal { unsafe nwp_curl_without_proxy(raw) } else { unsafe nwp_curl_note_proxy(raw) }
        if let authorities = client.authorities { unsafe nwp_curl_authorities(raw, authorities) }
        for field in client.fields + fields { unsafe nwp_curl_header(raw, "\(field.name): \(field.value)") }
    }

    deinit {
        unsafe nwp_curl_close(raw)
    }

    func post(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { buffer in
            let start = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            unsafe nwp_curl_post(raw, start, buffer.count)
        }
    }

    /// Makes the request and waits for the whole answer.
    func run(timeout: Duration) throws(StatusClientError) -> StatusResponse {
        let limit = Self.milliseconds(timeout)
        unsafe nwp_curl_timeout(raw, limit, limit)
        let result = perform()
        guard result == NWP_CURL_OK else { throw failure(result) }
        return response
    }

    /// Makes the request and hands lines over as they come; `tick` is called about once a second.
    func stream(
        connecting: Duration,
        line: @escaping (String) -> Bool,
        tick: @escaping () -> Void
    ) throws(StatusClientError) -> Bool {
        unsafe nwp_curl_timeout(raw, Self.milliseconds(connecting), 0)
        unsafe nwp_curl_tick(raw) { context in unsafe StatusRequest.at(context)?.tick?() }
        (self.line, self.tick) = (line, tick)
        defer { (self.line, self.tick) = (nil, nil) }
        let result = perform()
        if wasStopped { return true }
        guard result == NWP_CURL_OK else { throw failure(result) }
        _ = try response.checked(accepting: [])
        return false
    }

    private var response: StatusResponse {
        StatusResponse(status: unsafe nwp_curl_status(raw), fields: fields, body: body)
    }

    private func perform() -> nwp_curl_result {
        unsafe nwp_curl_perform(
            raw,
            { context, bytes, count in
                guard let request = unsafe StatusRequest.at(context) else { return 0 }
                request.receiveHead(unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count)))
                return 1
            },
            { context, bytes, count in
                guard let request = unsafe StatusRequest.at(context) else { return 0 }
                return unsafe request.receiveBody(UnsafeRawBufferPointer(start: bytes, count: count)) ? 1 : 0
            },
            unsafe Unmanaged.passUnretained(self).toOpaque()
        )
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> StatusRequest? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<StatusRequest>.fromOpaque(context).takeUnretainedValue()
    }

    private func receiveHead(_ bytes: [UInt8]) {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return }
        let name = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
        let value = String(decoding: bytes[(colon + 1)...], as: UTF8.self)
        fields[name] = String(value.drop { $0 == " " }.prefix { !$0.isNewline })
    }

    private func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= Self.largest else {
            isTooLarge = true
            return false
        }
        unsafe body.append(contentsOf: bytes)
        guard let line, (200...299).contains(unsafe nwp_curl_status(raw)) else { return true }
        var start = body.startIndex
        while let end = body[start...].firstIndex(of: UInt8(ascii: "\n")) {
            if end > start, !line(String(decoding: body[start..<end], as: UTF8.self)) {
                wasStopped = true
                return false
            }
            start = end + 1
        }
        body.removeFirst(start)
        return true
    }

    private func failure(_ result: nwp_curl_result) -> StatusClientError {
        let proxy = EnvironmentProxy(note: unsafe String(cString: nwp_curl_proxy(raw)))
        let peer = proxy.map { "\(endpoint) through \($0)" } ?? endpoint.description
        let reason = EnvironmentProxy.reason(unsafe String(cString: nwp_curl_error(raw)))
        switch result {
        case NWP_CURL_UNREACHABLE: return .notReachable(endpoint: peer, reason: reason)
        case NWP_CURL_DENIED: return .permissionDenied(endpoint: peer)
        case NWP_CURL_TIMED_OUT: return .timedOut(endpoint: peer)
        default: return .failed(endpoint: peer, reason: isTooLarge ? "it is too large" : reason)
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        return Int(clamping: max(0, seconds)) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
