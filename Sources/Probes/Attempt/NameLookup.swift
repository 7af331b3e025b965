// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
internal import Glibc
internal import LinuxIO

/// Looks a host name up as any program does: hosts file, mDNS, name servers, as nsswitch.conf(5) says.
///
/// Source: getaddrinfo(3) on a thread of its own, since it waits.
@safe final class NameLookup {
    enum Outcome: Equatable {
        /// The addresses in the order of preference.
        case addresses([ScopedAddress])
        case failed(String, certainty: Certainty)
    }

    enum Certainty: Equatable {
        /// There is no such name (`EAI_NONAME`).
        case noSuchName
        /// The name is there and has no address (`EAI_NODATA`).
        case noAddress
        /// Nothing: it could not be found out.
        case none

        init(_ code: Int32) {
            switch code {
            case -2: self = .noSuchName
            case -5: self = .noAddress
            default: self = .none
            }
        }
    }

    private let loop: EventLoop
    private var raw: OpaquePointer?
    private var watch: EventLoop.Registration?

    /// Starts; `completion` is called once, later.
    /// - Throws: `EAGAIN` when too many look-ups already wait, or what else keeps a thread from starting.
    init(
        _ name: String,
        family: AddressFamily?,
        loop: EventLoop,
        completion: @escaping (Outcome) -> Void
    ) throws(Errno) {
        self.loop = loop
        let code = family.map { $0 == .ipv4 ? AF_INET : AF_INET6 } ?? 0
        var raw: OpaquePointer?
        let descriptor = unsafe nwp_resolve_start(name, code, &raw)
        guard descriptor >= 0 else { throw Errno(descriptor) }
        unsafe self.raw = raw
        watch = try loop.register(descriptor, for: .readable) { [weak self] _ in
            guard let outcome = self?.outcome() else { return }
            self?.cancel()
            completion(outcome)
        }
    }

    deinit { cancel() }

    /// Gives up; the thread ends by itself.
    func cancel() {
        if let watch { loop.unregister(watch) }
        watch = nil
        guard let raw = unsafe raw else { return }
        unsafe self.raw = nil
        unsafe nwp_resolve_release(raw)
    }

    private func outcome() -> Outcome? {
        guard let raw = unsafe raw else { return nil }
        var entries = [nwp_resolved](repeating: nwp_resolved(), count: 16)
        let count = unsafe nwp_resolve_result(raw, &entries, 16)
        guard count >= 0 else {
            return .failed(unsafe String(cString: nwp_resolve_text(count)), certainty: Certainty(count))
        }
        return .addresses(entries.prefix(Int(count)).compactMap(Self.address))
    }

    private static func address(_ entry: nwp_resolved) -> ScopedAddress? {
        var entry = entry
        let length = Int(entry.length)
        let bytes = unsafe withUnsafeBytes(of: &entry.bytes) { unsafe Array($0.prefix(length)) }
        let scope = entry.scope == 0 ? nil : "\(entry.scope)"
        return IPAddress(bytes: bytes.span).map { ScopedAddress($0, scope: scope) }
    }
}
