// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims
internal import Glibc
internal import LinuxIO

/// One port for connections and datagrams, on all addresses of both families; confined to the thread of its loop.
@safe final class PeerPort {
    let number: UInt16
    var onConnection: (Int32, nwp_end) -> Void = { descriptor, _ in Glibc.close(descriptor) }
    var onDatagram: (UnsafeRawBufferPointer, nwp_end) -> Void = { _, _ in }

    private let loop: EventLoop
    private let buffer: LinkBuffer
    private let stream: Int32
    private let datagrams: Int32
    private var registrations: [EventLoop.Registration] = []

    private static let attempts = 32
    /// How much is read in one iteration, so that others are served.
    private static let maximumPerTick = 64
    private static let pause = Duration.milliseconds(100)

    init(loop: EventLoop, buffer: LinkBuffer) throws(Errno) {
        self.loop = loop
        self.buffer = buffer
        (stream, datagrams, number) = try Self.open()
        do throws(Errno) {
            registrations.append(try loop.register(stream, for: .readable) { [weak self] _ in self?.accept() })
            registrations.append(try loop.register(datagrams, for: .readable) { [weak self] _ in self?.receive() })
        } catch {
            close()
            throw error
        }
    }

    deinit { close() }

    private func close() {
        for registration in registrations { loop.unregister(registration) }
        Glibc.close(stream)
        Glibc.close(datagrams)
    }

    /// A port that is free for both; by IPv4 alone where there is no IPv6.
    private static func open() throws(Errno) -> (stream: Int32, datagrams: Int32, number: UInt16) {
        var last = Errno.addressInUse
        for _ in 0..<attempts {
            do throws(Errno) {
                return try open(length: 16)
            } catch {
                last = error
                if error != .addressInUse { return try open(length: 4) }
            }
        }
        throw last
    }

    private static func open(length: Int32) throws(Errno) -> (stream: Int32, datagrams: Int32, number: UInt16) {
        let stream = try bound(length, isStream: true, port: 0)
        var end = nwp_end()
        _ = unsafe nwp_flow_end(stream, 0, &end)
        do throws(Errno) {
            guard Glibc.listen(stream, 128) == 0 else { throw .current }
            return (stream, try bound(length, isStream: false, port: end.port), end.port)
        } catch {
            Glibc.close(stream)
            throw error
        }
    }

    private static func bound(_ length: Int32, isStream: Bool, port: UInt16) throws(Errno) -> Int32 {
        let descriptor = nwp_flow_open(length, isStream ? 1 : 0)
        guard descriptor >= 0 else { throw Errno(descriptor) }
        if length == 16 { _ = nwp_flow_option(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
        var end = nwp_end()
        end.length = length
        end.port = port
        let code = unsafe nwp_flow_bind(descriptor, &end)
        guard code == 0 else {
            Glibc.close(descriptor)
            throw Errno(code)
        }
        return descriptor
    }

    private func accept() {
        for _ in 0..<Self.maximumPerTick {
            var peer = nwp_end()
            let descriptor = unsafe nwp_flow_accept(stream, &peer)
            guard descriptor >= 0 else {
                if Errno(descriptor) != .again { rest() }
                return
            }
            onConnection(descriptor, peer)
        }
    }

    /// There is no descriptor for who calls: without a pause the loop would do nothing but try.
    private func rest() {
        guard let registration = registrations.first else { return }
        try? loop.change(registration, to: [])
        loop.schedule(after: Self.pause) { [weak self] in
            guard let self, let registration = registrations.first else { return }
            try? loop.change(registration, to: .readable)
        }
    }

    private func receive() {
        for _ in 0..<Self.maximumPerTick {
            var datagram = nwp_flow_datagram()
            let count = unsafe nwp_flow_receive(datagrams, buffer.wire.baseAddress, buffer.wire.count, &datagram)
            guard count >= 0 else { return }
            unsafe onDatagram(UnsafeRawBufferPointer(rebasing: buffer.wire[..<count]), datagram.source)
        }
    }

    /// Sends a datagram; one for which there is no room is lost.
    func send(_ bytes: [UInt8], to end: nwp_end) {
        var (end, from) = (end, nwp_end())
        _ = unsafe nwp_flow_send(datagrams, bytes, bytes.count, &end, &from)
    }
}
