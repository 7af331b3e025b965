// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CZlib

/// Compresses answers for clients that want it (RFC 9110 section 12.5.3).
enum ContentCoding {
    /// Smaller answers fit into one packet anyway.
    static let smallest = 1024
    /// What the entity tag of a compressed answer ends with, for it is another representation.
    static let tagSuffix = "-gzip"

    /// Whether a client likes gzip better than, or as much as, no coding at all.
    static func acceptsGzip(_ field: String?) -> Bool {
        guard let field else { return false }
        var gzip: Double?
        var identity: Double?
        var rest: Double?
        for item in field.split(separator: ",") {
            let parts = item.split(separator: ";").map { part in
                String(part.filter { $0 != " " && $0 != "\t" }).lowercased()
            }
            guard let name = parts.first else { continue }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            switch name {
            case "gzip", "x-gzip": gzip = max(gzip ?? 0, quality)
            case "identity": identity = quality
            case "*": rest = quality
            default: break
            }
        }
        let wish = gzip ?? rest ?? 0
        return wish > 0 && wish >= identity ?? 0
    }

    /// An answer as the client of a request gets it: compressed where that is wanted and worth it.
    static func apply(to response: HTTPResponse, for request: HTTPRequest) -> HTTPResponse {
        var response = response
        if response.status == 304 {
            // The client has the compressed one, and is told of that.
            let known = Snapshot.entityTags(request.field("If-None-Match") ?? "")
            response.fields = response.fields.map { field in
                guard field.name == "ETag" else { return field }
                let tag = Self.tag(field.value)
                return known.contains(tag[...]) ? HTTPField("ETag", tag) : field
            }
            return response
        }
        guard case .bytes(let bytes) = response.body, bytes.count >= smallest, response.isText else { return response }
        response.vary("Accept-Encoding")
        guard acceptsGzip(request.field("Accept-Encoding")), let compressed = bytes.compressed else { return response }
        response.body = .bytes(compressed)
        response.fields = response.fields.map { $0.name == "ETag" ? HTTPField("ETag", tag($0.value)) : $0 }
        response.fields.append(HTTPField("Content-Encoding", "gzip"))
        return response
    }

    /// `"7f3a.45"` as `"7f3a.45-gzip"`.
    private static func tag(_ entityTag: String) -> String { "\(entityTag.dropLast())\(tagSuffix)\"" }
}

extension HTTPResponse {
    /// Whether the content shrinks: all that is sent here does, but for problems, which are small.
    fileprivate var isText: Bool {
        let type = fields.first { $0.name == "Content-Type" }?.value ?? ""
        return status == 200 && !type.isEmpty
    }

    /// Adds a field name to `Vary`.
    mutating func vary(_ name: String) {
        guard let index = fields.firstIndex(where: { $0.name == "Vary" }) else {
            return fields.append(HTTPField("Vary", name))
        }
        fields[index] = HTTPField("Vary", "\(fields[index].value), \(name)")
    }
}

/// The gzip file format (RFC 1952), by zlib.
enum Gzip {
    /// A level that costs little and shrinks JSON to a fifth.
    private static let level: Int32 = 4

    /// The bytes as one gzip member; `nil` without memory.
    static func compress(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var stream = unsafe z_stream()
        // 15 bits of window, and 16 for the format.
        let opened = unsafe deflateInit2_(
            &stream,
            level,
            Z_DEFLATED,
            15 + 16,
            8,
            Z_DEFAULT_STRATEGY,
            ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size)
        )
        guard opened == Z_OK else { return nil }
        defer { unsafe deflateEnd(&stream) }
        let room = unsafe Int(deflateBound(&stream, UInt(bytes.count)))
        let input = unsafe bytes.bindMemory(to: UInt8.self)
        var isDone = false
        let result = unsafe [UInt8](unsafeUninitializedCapacity: room) { output, count in
            unsafe stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            unsafe stream.avail_in = UInt32(input.count)
            unsafe stream.next_out = output.baseAddress
            unsafe stream.avail_out = UInt32(room)
            isDone = unsafe deflate(&stream, Z_FINISH) == Z_STREAM_END
            count = unsafe room - Int(stream.avail_out)
        }
        return isDone ? result : nil
    }
}
