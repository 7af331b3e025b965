// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The program that Tests/Conformance/run puts before a conformance suite, as server and as client.
@main enum WebSocketEcho {
    static func main() throws {
        let words = CommandLine.arguments.dropFirst()
        guard words.count == 2, let port = words.last.flatMap({ UInt16($0) }) else {
            preconditionFailure("usage: WebSocketEcho serve|client PORT")
        }
        if words.first == "client" { try EchoClient.run(port: port) } else { try EchoServer.run(port: port) }
    }
}
