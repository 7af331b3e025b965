// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import Glibc
internal import LinuxIO

/// Gets a page by a unix socket and prints it as `curl -s --unix-socket` does, without starting a program each time.
///
/// For tests that look at a service again and again; what curl makes of it is tested with curl.
public enum UnixSocketClient {
    /// Sends a GET request with `Connection: close` and reads the answer to its end.
    ///
    /// - Parameters:
    ///   - path: The path with its query.
    ///   - socket: The file of the socket.
    ///   - fields: Further header fields, as `Accept: text/plain`.
    ///   - limit: How long each read may take.
    /// - Returns: The body, whatever the status.
    /// - Throws: ``CommandFailure`` with curl's exit code: 7 when nobody accepts, 28 when the time is over, 52 for an empty
    ///   answer, 18 for one that is cut off, and 56 when it cannot be read.
    public static func get(
        _ path: String,
        from socket: String,
        fields: [String] = [],
        limit: Duration = .seconds(60)
    ) throws -> String {
        func failure(_ code: Int32, _ text: String) -> CommandFailure {
            CommandFailure(command: ["GET", path, socket], code: code, output: text)
        }
        let raw = unsafe nwp_unix_connect(socket)
        guard raw >= 0 else { throw failure(7, Errno(raw).description) }
        defer { close(raw) }
        var time = timeval(tv_sec: Int(limit / .seconds(1)), tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        let lines = ["GET \(path) HTTP/1.1", "Host: localhost", "Connection: close"] + fields
        let request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        // A request is smaller than the buffer of a socket that was connected just now.
        guard unsafe nwp_send(raw, request, request.count) == request.count else {
            throw failure(56, Errno.current.description)
        }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(raw, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            if count < 0 { throw failure(errno == EAGAIN ? 28 : 56, Errno.current.description) }
            guard count > 0 else { break }
            answer += chunk[..<count]
        }
        guard !answer.isEmpty else { throw failure(52, "an empty answer") }
        guard let body = HTTPAnswer(answer).body else { throw failure(18, "an answer that is cut off") }
        return String(decoding: body, as: UTF8.self)
    }
}

/// An answer of HTTP/1.1 that ends with its connection (RFC 9112 section 6.3).
struct HTTPAnswer {
    /// `nil` when it is not whole.
    let body: [UInt8]?

    init(_ bytes: [UInt8]) {
        let mark: [UInt8] = [13, 10, 13, 10]
        guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: mark) }) else {
            body = nil
            return
        }
        let head = String(decoding: bytes[..<end], as: UTF8.self).lowercased()
        let rest = bytes[(end + mark.count)...]
        let lengths = head.split(separator: "\r\n").compactMap { line -> Int? in
            guard line.hasPrefix("content-length:") else { return nil }
            return Int(line.dropFirst("content-length:".count).drop { $0 == " " })
        }
        body = lengths.first.map { $0 == rest.count } ?? true ? Array(rest) : nil
    }
}
