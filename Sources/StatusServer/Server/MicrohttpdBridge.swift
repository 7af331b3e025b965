// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CMicrohttpdShims
internal import Glibc
internal import Metrics

/// The C functions libmicrohttpd calls; each finds its Swift object and hands over.
enum MicrohttpdCallbacks {
    /// The table for `nwp_http_start`.
    static var table: nwp_http_handlers {
        var table = nwp_http_handlers()
        unsafe table.opened = { server, descriptor in
            guard let connection = unsafe object(MicrohttpdServer.self, server)?.opened(descriptor) else { return nil }
            return unsafe Unmanaged.passUnretained(connection).toOpaque()
        }
        unsafe table.closed = { server, connection in
            guard let connection = unsafe object(HTTPConnection.self, connection) else { return }
            unsafe object(MicrohttpdServer.self, server)?.closed(connection)
        }
        unsafe table.target = { _, connection, target in
            guard let connection = unsafe object(HTTPConnection.self, connection), let target = unsafe target else {
                return nil
            }
            let bytes = unsafe Array(UnsafeRawBufferPointer(start: target, count: strlen(target)))
            let exchange = connection.begin(target: bytes, address: UInt(bitPattern: target))
            return unsafe Unmanaged.passUnretained(exchange).toOpaque()
        }
        unsafe table.request = { _, exchange, raw, method, version, body, size in
            guard let exchange = unsafe object(MicrohttpdExchange.self, exchange), let raw = unsafe raw,
                let method = unsafe method, let version = unsafe version, let size = unsafe size
            else { return 0 }
            guard unsafe size.pointee > 0 else { return unsafe exchange.proceed(raw, method: method, version: version) }
            let count = unsafe size.pointee
            unsafe size.pointee = 0
            return unsafe exchange.take(UnsafeRawBufferPointer(start: body, count: count)) ? 1 : 0
        }
        unsafe table.upgraded = { _, exchange, descriptor, bytes, count, handle in
            guard let handle = unsafe handle else { return }
            guard let exchange = unsafe object(MicrohttpdExchange.self, exchange) else {
                return unsafe nwp_http_upgrade_close(handle)
            }
            let early = unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
            unsafe exchange.upgraded(descriptor, early: early, handle: handle)
        }
        unsafe table.completed = { _, exchange in
            unsafe object(MicrohttpdExchange.self, exchange)?.finish()
        }
        unsafe table.refused = { server, status in
            unsafe object(MicrohttpdServer.self, server)?.metrics.refused(status: Int(status))
        }
        return table
    }
}

/// The object behind a context pointer.
private func object<Object: AnyObject>(_: Object.Type, _ raw: UnsafeMutableRawPointer?) -> Object? {
    guard let raw = unsafe raw else { return nil }
    return unsafe Unmanaged<Object>.fromOpaque(raw).takeUnretainedValue()
}

/// Turns answers into libmicrohttpd's.
enum MicrohttpdResponse {
    /// How many bytes of a stream are sent at a time.
    private static let block = 2048

    /// Makes a response that the caller releases; `nil` without memory or with a field the library refuses.
    static func make(_ response: HTTPResponse, for exchange: MicrohttpdExchange) -> OpaquePointer? {
        guard let native = unsafe makeBody(response.body, for: exchange) else { return nil }
        var fields = response.fields
        if response.closes { fields.append(HTTPField("Connection", "close")) }
        for field in fields where unsafe nwp_http_header(native, field.name, field.value) == 0 {
            unsafe nwp_http_release(native)
            return nil
        }
        return unsafe native
    }

    private static func makeBody(_ body: HTTPBody, for exchange: MicrohttpdExchange) -> OpaquePointer? {
        switch body {
        case .bytes(let bytes):
            let context = unsafe Unmanaged.passRetained(bytes).toOpaque()
            return unsafe nwp_http_fixed(
                bytes.address,
                bytes.count,
                { raw in
                    guard let raw = unsafe raw else { return }
                    unsafe Unmanaged<SharedBytes>.fromOpaque(raw).release()
                },
                context
            )
        case .upgrade: return unsafe exchange.makeUpgrade()
        case .stream(let stream):
            exchange.attach(stream)
            let context = unsafe Unmanaged.passRetained(exchange).toOpaque()
            return unsafe nwp_http_stream(
                block,
                { raw, _, buffer, count in
                    guard let raw = unsafe raw else { return -2 }
                    let exchange = unsafe Unmanaged<MicrohttpdExchange>.fromOpaque(raw).takeUnretainedValue()
                    return unsafe exchange.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: count))
                },
                { raw in
                    guard let raw = unsafe raw else { return }
                    unsafe Unmanaged<MicrohttpdExchange>.fromOpaque(raw).release()
                },
                context
            )
        }
    }
}

/// Reads a request's head as the library kept it.
enum MicrohttpdHead {
    /// One more than is ever allowed.
    private static let capacity = 65

    /// Copies the head, and counts the bytes around its parts.
    ///
    /// The library leaves the head in one buffer, parts ended by NUL in place. A part that is shorter than the room it
    /// has, which is how it hides a NUL that a client sent and how it moves folded fields, shows in the distances.
    static func read(
        _ raw: OpaquePointer,
        method: UnsafePointer<CChar>,
        target: [UInt8],
        targetAddress: UInt,
        version: UnsafePointer<CChar>
    ) -> RequestHead {
        let methodBytes = unsafe copy(method)
        let versionBytes = unsafe copy(version)
        var head = RequestHead(method: methodBytes, target: target, version: versionBytes)
        let start = UInt(bitPattern: method)
        let versionStart = UInt(bitPattern: version)
        head.hiddenInLine =
            distance(from: start &+ UInt(methodBytes.count) &+ 1, to: targetAddress)
            + distance(from: targetAddress &+ UInt(target.count) &+ 1, to: versionStart)
        head.size = unsafe nwp_http_head_size(raw)
        var parts: [(start: UInt, end: UInt)] = []
        unsafe withUnsafeTemporaryAllocation(of: nwp_http_field.self, capacity: capacity) { buffer in
            unsafe buffer.initialize(repeating: nwp_http_field())
            let count = unsafe nwp_http_fields(raw, buffer.baseAddress, Int32(capacity))
            for index in 0..<min(Int(count), capacity) {
                let field = unsafe buffer[index]
                let name = unsafe Array(UnsafeRawBufferPointer(start: field.name, count: field.name_length))
                let value = unsafe Array(UnsafeRawBufferPointer(start: field.value, count: field.value_length))
                head.fields.append(RequestHead.Field(name: name, value: value))
                let end = unsafe UInt(bitPattern: field.value) &+ UInt(value.count)
                parts.append((unsafe UInt(bitPattern: field.name), end))
            }
        }
        // Behind the last value come its own line end and the empty line.
        let end = start &+ UInt(head.size) &- 2
        for index in parts.indices {
            let next = index + 1 < parts.count ? parts[index + 1].start : end
            head.fields[index].trailing = distance(from: parts[index].end, to: next)
        }
        return head
    }

    private static func distance(from left: UInt, to right: UInt) -> Int { Int(bitPattern: right &- left) }

    private static func copy(_ text: UnsafePointer<CChar>) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
}
