// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The program that Tests/Conformance/run puts before a conformance suite, as server and as client.
@main enum WebSocketEcho {
    static func main() throws {
        let words = CommandLine.arguments.dropFirst()
        guard words.count == 2, let port = words.last.flatMap({ UInt16($0) }) else {
            preconditionFailure("usage: WebSocketEcho serve|client|listen|connect PORT")
        }
        switch words.first {
        case "client": try EchoClient.run(port: port)
        case "listen": try NetworkEcho.listen(port: port)
        case "connect": try NetworkEcho.connect(port: port)
        default: try EchoServer.run(port: port)
        }
    }
}
