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
            let exchange = unsafe connection.begin(target: target)
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
        // A browser takes an answer for what it says it is, whatever names and texts in it look like.
        fields.append(HTTPField("X-Content-Type-Options", "nosniff"))
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

/// A request's head as the library keeps it, valid during one call.
///
/// The library leaves the head in one buffer, parts ended by NUL in place. A part that is shorter than the room it
/// has, which is how it hides a NUL that a client sent and how it moves folded fields, shows in the distances.
@safe struct MicrohttpdHead {
    /// One more than is ever allowed.
    private static let capacity = 65

    private let raw: OpaquePointer
    private let method: UnsafeRawBufferPointer
    private let target: [UInt8]
    private let version: UnsafeRawBufferPointer
    /// Bytes between the parts of the request line that no part accounts for.
    private let hiddenInLine: Int
    /// Bytes of the whole head.
    private let size: Int

    init(
        raw: OpaquePointer,
        method: UnsafePointer<CChar>,
        target: [UInt8],
        targetAddress: UInt,
        version: UnsafePointer<CChar>
    ) {
        unsafe self.raw = raw
        unsafe self.method = UnsafeRawBufferPointer(start: method, count: strlen(method))
        self.target = target
        unsafe self.version = UnsafeRawBufferPointer(start: version, count: strlen(version))
        let start = UInt(bitPattern: method)
        unsafe hiddenInLine =
            Self.distance(from: start &+ UInt(self.method.count) &+ 1, to: targetAddress)
            + Self.distance(from: targetAddress &+ UInt(target.count) &+ 1, to: UInt(bitPattern: version))
        size = unsafe nwp_http_head_size(raw)
    }

    /// Copies the head, and counts the bytes around its parts.
    func copy() -> RequestHead {
        var head = unsafe RequestHead(method: Array(method), target: target, version: Array(version))
        head.hiddenInLine = hiddenInLine
        head.size = size
        unsafe withFields { fields, _ in
            for place in fields.indices {
                let (name, value) = unsafe Self.parts(of: fields[place])
                var field = unsafe RequestHead.Field(name: Array(name), value: Array(value))
                field.trailing = unsafe trailing(place, of: fields)
                head.fields.append(field)
            }
        }
        return head
    }

    /// Whether ``copy()`` would be equal to `head`, without making it.
    func equals(_ head: RequestHead) -> Bool {
        guard size == head.size, hiddenInLine == head.hiddenInLine, target == head.target else { return false }
        guard unsafe Self.areEqual(method, head.method) && Self.areEqual(version, head.version) else { return false }
        return unsafe withFields { fields, isComplete in
            guard isComplete, fields.count == head.fields.count else { return false }
            return fields.indices.allSatisfy { place in
                let (name, value) = unsafe Self.parts(of: fields[place])
                let field = head.fields[place]
                return unsafe Self.areEqual(name, field.name) && Self.areEqual(value, field.value)
                    && trailing(place, of: fields) == field.trailing
            }
        }
    }

    /// The bytes of a text of the library, in an array that is there already where it is equal.
    static func copy(_ text: UnsafePointer<CChar>, orShare repeated: RepeatedRequests) -> [UInt8] {
        let bytes = unsafe UnsafeRawBufferPointer(start: text, count: strlen(text))
        return unsafe repeated.target { unsafe areEqual(bytes, $0) } ?? Array(bytes)
    }

    private func withFields<Result>(
        _ body: (_ fields: UnsafeBufferPointer<nwp_http_field>, _ isComplete: Bool) -> Result
    ) -> Result {
        unsafe withUnsafeTemporaryAllocation(of: nwp_http_field.self, capacity: Self.capacity) { buffer in
            unsafe buffer.initialize(repeating: nwp_http_field())
            let count = unsafe Int(nwp_http_fields(raw, buffer.baseAddress, Int32(Self.capacity)))
            let fields = unsafe UnsafeBufferPointer(rebasing: buffer.prefix(min(count, Self.capacity)))
            return unsafe body(fields, count <= Self.capacity)
        }
    }

    /// Bytes between the end of a value and what follows: the next field, or the line end and the empty line.
    private func trailing(_ place: Int, of fields: UnsafeBufferPointer<nwp_http_field>) -> Int {
        let end = unsafe UInt(bitPattern: fields[place].value) &+ UInt(fields[place].value_length)
        let next =
            unsafe place + 1 < fields.count
            ? UInt(bitPattern: fields[place + 1].name) : UInt(bitPattern: method.baseAddress) &+ UInt(size) &- 2
        return Self.distance(from: end, to: next)
    }

    private static func parts(
        of field: nwp_http_field
    ) -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        unsafe (
            UnsafeRawBufferPointer(start: field.name, count: field.name_length),
            UnsafeRawBufferPointer(start: field.value, count: field.value_length)
        )
    }

    private static func areEqual(_ left: UnsafeRawBufferPointer, _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe right.withUnsafeBytes { bytes in
            guard let start = left.baseAddress, let other = bytes.baseAddress else { return true }
            return unsafe memcmp(start, other, left.count) == 0
        }
    }

    private static func distance(from left: UInt, to right: UInt) -> Int { Int(bitPattern: right &- left) }
}
