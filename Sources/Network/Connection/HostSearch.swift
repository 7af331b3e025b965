// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
internal import Glibc
internal import LinuxIO

/// Resolves the addresses of one family of a host, as any program does: hosts file, name servers, nsswitch.conf(5).
///
/// Source: getaddrinfo(3) on a thread of its own, since it waits. Confined to the thread of its loop.
@safe final class HostSearch {
    /// What was found, or why nothing.
    typealias Outcome = Result<[SocketEnd], NWError>

    private let loop: EventLoop
    private let completion: (Outcome) -> Void
    private var raw: OpaquePointer?
    private var registration: EventLoop.Registration?
    private var retry: EventLoop.Timer?

    /// How long it waits for one of the few threads that look up.
    private static let pause = Duration.milliseconds(50)

    /// Begins; `completion` is called once, later, unless it is cancelled.
    init(
        _ name: String,
        _ family: AddressFamily,
        port: UInt16,
        loop: EventLoop,
        completion: @escaping (Outcome) -> Void
    ) {
        self.loop = loop
        self.completion = completion
        begin(name, family, port: port)
    }

    deinit { cancel() }

    /// Gives up; a running lookup ends by itself.
    func cancel() {
        if let registration { loop.unregister(registration) }
        if let retry { loop.cancel(retry) }
        (registration, retry) = (nil, nil)
        guard let raw = unsafe raw else { return }
        unsafe self.raw = nil
        unsafe nwp_resolve_release(raw)
    }

    private func begin(_ name: String, _ family: AddressFamily, port: UInt16) {
        var raw: OpaquePointer?
        let descriptor = unsafe nwp_resolve_start(name, family == .ipv4 ? AF_INET : AF_INET6, &raw)
        unsafe self.raw = raw
        do throws(Errno) {
            guard descriptor >= 0 else { throw Errno(descriptor) }
            registration = try loop.register(descriptor, for: .readable) { [weak self] _ in self?.finish(port: port) }
        } catch .again {
            retry = loop.schedule(after: Self.pause) { [weak self] in
                self?.retry = nil
                self?.begin(name, family, port: port)
            }
        } catch {
            let outcome = Outcome.failure(NWError(error))
            loop.deferring { [weak self] in self?.completion(outcome) }
        }
    }

    private func finish(port: UInt16) {
        guard let raw = unsafe raw else { return }
        var entries = [nwp_resolved](repeating: nwp_resolved(), count: 16)
        let count = unsafe nwp_resolve_result(raw, &entries, 16)
        cancel()
        guard count >= 0 else { return completion(.failure(Self.error(of: count))) }
        completion(.success(entries.prefix(Int(count)).compactMap { Self.end($0, port: port) }))
    }

    /// What a result of getaddrinfo(3) is in Apple's words.
    static func error(of result: Int32) -> NWError {
        switch result {
        case EAI_NONAME, -5: .dns(kDNSServiceErr_NoSuchRecord)
        case EAI_AGAIN: .dns(kDNSServiceErr_Timeout)
        case EAI_MEMORY: .dns(kDNSServiceErr_NoMemory)
        default: .dns(kDNSServiceErr_Unknown)
        }
    }

    private static func end(_ entry: nwp_resolved, port: UInt16) -> SocketEnd? {
        var entry = entry
        let length = Int(entry.length)
        let bytes = unsafe withUnsafeBytes(of: &entry.bytes) { unsafe Array($0.prefix(length)) }
        return RawAddress(bytes: bytes.span).map { SocketEnd(address: $0, scope: entry.scope, port: port) }
    }
}
