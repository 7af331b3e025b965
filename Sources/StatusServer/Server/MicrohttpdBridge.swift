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
            unsafe object(MicrohttpdServer.self, server)?.refused(status: Int(status))
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
        // Nor does it give it to a page of another site, unless it is meant for one.
        let policy = "Cross-Origin-Resource-Policy"
        if !fields.contains(where: { $0.name == policy }) { fields.append(HTTPField(policy, "same-origin")) }
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
@safe struct MicrohttpdHead {
    /// One more than is ever allowed.
    private static let capacity = 65

    private let head: nwp_http_head
    private let fields: UnsafeBufferPointer<nwp_http_field>
    private let target: [UInt8]
    /// Whether the distances between the parts tell what lies between them.
    private let tellsHidden: Bool

    /// Reads the head of a request whose target lies at `address`.
    static func read<Result>(
        _ raw: OpaquePointer,
        method: UnsafePointer<CChar>,
        target: (bytes: [UInt8], address: UInt),
        version: UnsafePointer<CChar>,
        tellsHidden: Bool,
        _ body: (MicrohttpdHead) -> Result
    ) -> Result {
        unsafe withUnsafeTemporaryAllocation(of: nwp_http_field.self, capacity: capacity) { buffer in
            unsafe buffer.initialize(repeating: nwp_http_field())
            var head = unsafe nwp_http_head()
            let count = target.bytes.count
            let room = Int32(capacity)
            unsafe nwp_http_read_head(raw, method, target.address, count, version, buffer.baseAddress, room, &head)
            let fields = unsafe UnsafeBufferPointer(rebasing: buffer.prefix(min(Int(head.count), capacity)))
            return unsafe body(Self(head: head, fields: fields, target: target.bytes, tellsHidden: tellsHidden))
        }
    }

    /// Copies the head, and counts the bytes around its parts.
    func copy() -> RequestHead {
        var copy = unsafe RequestHead(method: Array(method), target: target, version: Array(version))
        copy.hiddenInLine = hiddenInLine
        copy.size = unsafe head.size
        unsafe copy.fields.reserveCapacity(fields.count)
        for place in unsafe fields.indices {
            let (name, value) = unsafe Self.parts(of: fields[place])
            var part = unsafe RequestHead.Field(name: Array(name), value: Array(value))
            part.trailing = unsafe trailing(fields[place])
            copy.fields.append(part)
        }
        return copy
    }

    /// Whether ``copy()`` would be equal to `other`, without making it.
    func equals(_ other: RequestHead) -> Bool {
        guard unsafe head.size == other.size, hiddenInLine == other.hiddenInLine, target == other.target else {
            return false
        }
        guard unsafe Self.areEqual(method, other.method) && Self.areEqual(version, other.version) else { return false }
        guard unsafe Int(head.count) == other.fields.count, unsafe fields.count == other.fields.count else {
            return false
        }
        return unsafe fields.indices.allSatisfy { place in
            let (name, value) = unsafe Self.parts(of: fields[place])
            let field = other.fields[place]
            return unsafe Self.areEqual(name, field.name) && Self.areEqual(value, field.value)
                && trailing(fields[place]) == field.trailing
        }
    }

    /// The bytes of a text of the library, in an array that is there already where it is equal.
    static func copy(_ text: UnsafePointer<CChar>, orShare repeated: RepeatedRequests) -> [UInt8] {
        let bytes = unsafe UnsafeRawBufferPointer(start: text, count: strlen(text))
        return unsafe repeated.target { unsafe areEqual(bytes, $0) } ?? Array(bytes)
    }

    private var method: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: head.method, count: head.method_length)
    }

    private var version: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: head.version, count: head.version_length)
    }

    private var hiddenInLine: Int { tellsHidden ? unsafe head.hidden_in_line : 0 }

    private func trailing(_ field: nwp_http_field) -> Int { tellsHidden ? unsafe field.trailing : 2 }

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
}
