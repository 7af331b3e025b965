// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import CLinuxShims
import Glibc
import LinuxIO
import TestSupport
import Testing

/// One answer as it came over the wire.
struct RawResponse: Equatable {
    var status: Int
    var fields: [String: String]
    var body: String
}

/// A client that speaks bytes; it shares the thread with the server and never blocks.
final class RawClient {
    private(set) var received: [UInt8] = []
    private(set) var isClosed = false
    private let descriptor: FileDescriptor
    private let loop: EventLoop

    init(unix path: String, loop: EventLoop) throws {
        let raw = unsafe nwp_unix_connect(path)
        guard raw >= 0 else { throw Errno(raw) }
        descriptor = FileDescriptor(owning: raw)
        self.loop = loop
        try descriptor.setNonBlocking()
    }

    init(port: UInt16, address: [UInt8] = [127, 0, 0, 1], loop: EventLoop) throws {
        let raw = unsafe nwp_tcp_connect(address, address.count, port)
        guard raw >= 0 else { throw Errno(raw) }
        descriptor = FileDescriptor(owning: raw)
        self.loop = loop
        try descriptor.setNonBlocking()
    }

    var text: String { String(decoding: received, as: UTF8.self) }

    /// Sends all bytes; an error is what a closed connection gives and is left to the reading side.
    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { _ = unsafe nwp_send(descriptor.rawValue, $0.baseAddress, $0.count) }
    }

    func get(_ target: String, fields: String = "") {
        send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n")
    }

    /// Says that no more will be sent.
    func finishSending() { shutdown(descriptor.rawValue, Int32(SHUT_WR)) }

    /// Makes the kernel's receive buffer small, so that a reader that does not read stalls soon.
    func shrinkReceiveBuffer() {
        var size: Int32 = 2048
        unsafe setsockopt(descriptor.rawValue, SOL_SOCKET, SO_RCVBUF, &size, 4)
    }

    /// Takes what is there.
    func pump() {
        while !isClosed {
            do {
                let bytes = try descriptor.read(upTo: 65_536)
                if bytes.isEmpty { isClosed = true }
                received += bytes
            } catch Errno.again {
                return
            } catch {
                isClosed = true
            }
        }
    }

    /// Waits until something holds for what was received.
    @discardableResult
    func wait(
        _ what: String,
        within limit: Duration = .seconds(5),
        sourceLocation: SourceLocation = #_sourceLocation,
        until condition: (RawClient) -> Bool
    ) async -> Bool {
        await loop.eventually(within: limit, what, sourceLocation: sourceLocation) {
            pump()
            return condition(self)
        }
    }

    func waitForClose(sourceLocation: SourceLocation = #_sourceLocation) async {
        await wait("the connection closed", sourceLocation: sourceLocation) { $0.isClosed }
    }

    /// Waits for one complete answer with a Content-Length and takes it from what was received.
    func response(headOnly: Bool = false, sourceLocation: SourceLocation = #_sourceLocation) async throws -> RawResponse
    {
        var response: RawResponse?
        await wait("an answer came", sourceLocation: sourceLocation) { client in
            response = client.takeResponse(headOnly: headOnly)
            return response != nil || client.isClosed
        }
        return try #require(response, "got \(text)", sourceLocation: sourceLocation)
    }

    private func takeResponse(headOnly: Bool) -> RawResponse? {
        let end = Array("\r\n\r\n".utf8)
        guard let start = received.indices.first(where: { received[$0...].starts(with: end) }) else { return nil }
        let lines = String(decoding: received[..<start], as: UTF8.self).split(separator: "\r\n")
        let status = lines.first.flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int($0) }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            // A field that stands there twice is seen to.
            let name = line[..<colon].lowercased()
            fields[name] = fields[name].map { "\($0), \(value)" } ?? String(value)
        }
        let length = headOnly || status == 304 ? 0 : Int(fields["content-length"] ?? "0") ?? 0
        guard received.count >= start + 4 + length else { return nil }
        let body = String(decoding: received[(start + 4)..<(start + 4 + length)], as: UTF8.self)
        received.removeFirst(start + 4 + length)
        return RawResponse(status: status ?? 0, fields: fields, body: body)
    }

    /// The content of a chunked answer so far, without the chunk framing.
    var chunkedContent: String {
        let end = Array("\r\n\r\n".utf8)
        guard let start = received.indices.first(where: { received[$0...].starts(with: end) }) else { return "" }
        var rest = received[(start + 4)...]
        var content: [UInt8] = []
        while let newline = rest.firstIndex(of: 13),
            let count = Int(String(decoding: rest[..<newline], as: UTF8.self), radix: 16), count > 0,
            rest.endIndex >= newline + 2 + count
        {
            content += rest[(newline + 2)..<(newline + 2 + count)]
            rest = rest[(newline + 2 + count)...].dropFirst(2)
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// Whether a chunked answer has come to its proper end.
    var isComplete: Bool { received.suffix(5).elementsEqual("0\r\n\r\n".utf8) }
}
