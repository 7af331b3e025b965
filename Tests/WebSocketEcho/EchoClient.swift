// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import CLinuxShims
import Glibc
import LinuxIO
import WebSocketWire

/// Connects to a fuzzing server and sends back every message of every case.
enum EchoClient {
    private static let agent = "nwpath"

    /// Runs all cases of the server at a loopback port, and lets it write its report.
    static func run(port: UInt16) throws {
        signal(SIGPIPE, SIG_IGN)
        guard let count = Int(try talk("/getCaseCount", port: port) ?? "") else { throw Errno(EPROTO) }
        for number in 1...max(1, count) { _ = try talk("/runCase?case=\(number)&agent=\(agent)", port: port) }
        _ = try talk("/updateReports?agent=\(agent)", port: port)
        print("\(count) cases were run")
    }

    /// One connection, to its end.
    /// - Returns: The first text that came.
    private static func talk(_ target: String, port: UInt16) throws -> String? {
        guard var handshake = WebSocketClientHandshake(host: "127.0.0.1:\(port)", target: target) else { return nil }
        let raw = unsafe nwp_tcp_connect([127, 0, 0, 1], 4, port)
        guard raw >= 0 else { throw Errno(raw) }
        let socket = FileDescriptor(owning: raw)
        try socket.writeAll(handshake.request.span)
        var options = WebSocketOptions()
        options.longestMessage = 1 << 26
        options.mostOutput = 1 << 26
        var connection = WebSocketConnection(role: .client, options: options)
        var isOpen = false
        var first: String?
        while true {
            // The suite ends some with a reset, as it does not read what is sent after its last word; it is the judge.
            guard var bytes = try? socket.read(upTo: 65_536), !bytes.isEmpty else { return first }
            if !isOpen {
                guard case .opened(_, let rest) = try handshake.receive(bytes) else { continue }
                isOpen = true
                bytes = rest
            }
            connection.feed(bytes)
            while let event = connection.nextEvent() {
                guard case .message(let message) = event else { continue }
                if first == nil, case .text(let text) = message { first = text }
                try? connection.send(message)
            }
            let answer = connection.drainOutput()
            if !answer.isEmpty { try? socket.writeAll(answer.span) }
            // A server that was told of its fault need not answer (section 7.1.7).
            if connection.failure != nil { return first }
        }
    }
}
