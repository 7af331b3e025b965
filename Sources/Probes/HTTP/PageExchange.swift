// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CCurl
internal import CLinuxShims
internal import Glibc
internal import LinuxIO

/// Requests one page over a connection of its own, without following redirects and without reading more than a little.
@safe final class PageExchange: ProbeExchange, PageTransfer {
    /// What is read of a page: enough for any that a check serves.
    static let longestBody = 65_536

    private let page: PageAddress
    private let address: ScopedAddress
    private let expectation: PageExpectation
    private let route: ProbeRoute
    private let client: PageClient
    private var raw: OpaquePointer?
    private var head = PageHead()
    private var bodyLength = 0
    private var body: [UInt8] = []
    private var failure: SocketFailure?
    private var descriptor: Int32?
    private let completion: (ProbeResult) -> Void

    /// Starts a request; the completion may run before this call returns.
    init(
        _ page: PageAddress,
        at address: ScopedAddress,
        expecting expectation: PageExpectation,
        route: ProbeRoute,
        client: PageClient,
        completion: @escaping (ProbeResult) -> Void
    ) {
        self.page = page
        self.address = address
        self.expectation = expectation
        self.route = route
        self.client = client
        self.completion = completion
        start()
    }

    deinit { cancel() }

    var gap: String? { head.gap }
    var bytesSent: Int { 0 }
    /// As long as the request goes on.
    var isConnected: Bool { descriptor.map { nwp_probe_connected($0) == 1 } ?? false }

    private func start() {
        if let complaint = client.load() { return completion(ProbeResult(.notAssessed(advice: complaint))) }
        guard let raw = unsafe nwp_curl_open("\(page)") else { return completion(Self.withoutMemory) }
        unsafe self.raw = raw
        unsafe nwp_curl_header(raw, "Cache-Control: no-cache")
        if let type = expectation.accepted { unsafe nwp_curl_header(raw, "Accept: \(type)") }
        for field in Self.handshake(expectation.key) { unsafe nwp_curl_header(raw, field) }
        if expectation.padding > 0 {
            unsafe nwp_curl_header(raw, "X-NWPath-Padding: " + String(repeating: "x", count: expectation.padding))
        }
        if let limit = expectation.limit { unsafe nwp_curl_timeout(raw, 0, max(1, Int(limit / .milliseconds(1)))) }
        if let challenge = expectation.challenge { unsafe nwp_curl_header(raw, "X-NWPath-Challenge: \(challenge)") }
        unsafe nwp_curl_probe(
            raw,
            expectation.usesProxy ? "" : page.pin(to: address),
            expectation.authorities ?? "",
            { context, bytes, count in
                let line = unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
                return unsafe PageExchange.at(context)?.receiveHead(line) ?? false ? 1 : 0
            },
            { context, bytes, count in
                let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                return unsafe PageExchange.at(context)?.receiveBody(piece) ?? false ? 1 : 0
            },
            { context, descriptor in unsafe PageExchange.at(context)?.prepare(descriptor) ?? false ? 1 : 0 },
            unsafe Unmanaged.passUnretained(self).toOpaque()
        )
        if expectation.usesProxy { unsafe nwp_curl_use_proxy(raw) }
        guard unsafe client.add(raw, for: self) else { return completion(Self.withoutMemory) }
    }

    private static var withoutMemory: ProbeResult { ProbeResult(.failure(.resources, detail: "no memory is left")) }

    private static func at(_ context: UnsafeMutableRawPointer?) -> PageExchange? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<PageExchange>.fromOpaque(context).takeUnretainedValue()
    }

    /// The fields that request a WebSocket (RFC 6455 section 4.1).
    private static func handshake(_ key: String?) -> [String] {
        key.map {
            ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: \($0)"]
        } ?? []
    }

    /// - Returns: Whether more is wanted.
    private func receiveHead(_ line: [UInt8]) -> Bool {
        head.append(line)
        return !(expectation.isHeadEnough && head.isComplete)
    }

    private func receiveBody(_ piece: UnsafeRawBufferPointer) -> Bool {
        bodyLength += piece.count
        if expectation.measuredBody > 0 { return bodyLength < expectation.measuredBody }
        guard expectation.longestBody > 0 else { return bodyLength <= Self.longestBody }
        guard bodyLength <= expectation.longestBody else { return false }
        unsafe body.append(contentsOf: piece)
        return true
    }

    private func prepare(_ descriptor: Int32) -> Bool {
        var raw = RawRoute.make(route)
        var step: Int32 = 0
        let code = unsafe nwp_probe_apply(descriptor, &raw, &step)
        guard code != 0 else {
            self.descriptor = descriptor
            return true
        }
        failure = SocketFailure(error: Errno(code), step: SocketStep(rawValue: step) ?? .use)
        return false
    }

    func end(_ result: nwp_curl_result) {
        guard let raw = unsafe raw else { return }
        var (sent, received) = (0, 0)
        unsafe nwp_curl_traffic(raw, &sent, &received)
        // Neither interim answers (1xx) nor half a head are an answer.
        var answer = !head.isComplete ? nil : PageAnswer(status: head.status, location: head.location)
        answer?.acceptance = head.acceptance
        answer?.mediaType = head.mediaType
        answer?.bodyRead = bodyLength
        answer?.bodyLength = head.length
        answer?.offersQUIC = head.offersQUIC
        if result == NWP_CURL_OK && expectation.longestBody > 0 { answer?.body = body }
        answer?.isEchoed = expectation.challenge.map { "response \($0)" == head.response } ?? false
        var ended = ProbeResult(outcome(result, answer), sent: sent, received: received, page: answer)
        let hasPort = unsafe nwp_curl_connected(raw) == 1
        let isMade = [NWP_CURL_OK, NWP_CURL_STOPPED, NWP_CURL_FAILED, NWP_CURL_UNTRUSTED].contains(result)
        ended.isConnected = failure == nil && (isMade || hasPort)
        ended.isSecured = unsafe nwp_curl_secured(raw) == 1
        ended.proxy = EnvironmentProxy(note: unsafe String(cString: nwp_curl_proxy(raw)))
        switch unsafe nwp_curl_certificate(raw) {
        case 1: ended.certificate = .untrusted
        case 2: ended.certificate = .outOfDate
        default: break
        }
        cancel()
        completion(ended)
    }

    private func outcome(_ result: nwp_curl_result, _ answer: PageAnswer?) -> ProbeResult.Outcome {
        if let failure { return FailureClassifier.outcome(of: failure.error, at: failure.step, route: route) }
        let text = EnvironmentProxy.reason(unsafe raw.map { unsafe String(cString: nwp_curl_error($0)) } ?? "")
        switch result {
        case NWP_CURL_OK, NWP_CURL_STOPPED:
            guard let answer else { return .failure(.answer, detail: gap ?? "the reply is not HTTP") }
            return PageClassifier.outcome(of: answer, to: page, expecting: expectation)
        case NWP_CURL_UNTRUSTED: return .failure(.tls, detail: text)
        case NWP_CURL_TIMED_OUT:
            return .failure(.timeout, detail: "no answer in time" + (gap.map { ": \($0)" } ?? ""))
        case NWP_CURL_UNREACHABLE, NWP_CURL_DENIED:
            let number = unsafe raw.map { unsafe nwp_curl_errno($0) } ?? 0
            guard number != 0 else { return .failure(.unreachable, detail: text) }
            let target = SocketAddress(address, port: page.port)
            let isSourceless =
                address.address.family == .ipv6 && number == EADDRNOTAVAIL
                && ProbeSocket.lacksSource(for: target, route: route, loop: client.loop)
            return FailureClassifier.outcome(of: Errno(number), at: isSourceless ? .source : .connect)
        default: return .failure(.answer, detail: text)
        }
    }

    func cancel() {
        descriptor = nil
        guard let raw = unsafe raw else { return }
        unsafe self.raw = nil
        unsafe client.remove(raw)
        unsafe nwp_curl_close(raw)
    }
}
