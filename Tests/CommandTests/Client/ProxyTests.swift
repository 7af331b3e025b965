// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import CLinuxShims
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Probes
@testable import nwpath

@Suite struct EnvironmentProxyTests {
    @Test(
        arguments: [
            ("http_proxy == 'http://127.0.0.1:9'", "the proxy http://127.0.0.1:9 of http_proxy"),
            ("HTTPS_PROXY == 'http://user:p@ss@proxy:3128/'", "the proxy http://proxy:3128/ of HTTPS_PROXY"),
            ("all_proxy == 'user:pass://word@proxy'", "the proxy proxy of all_proxy"),
            ("http_proxy == 'http://user:se'cret@proxy:9'\n", "the proxy http://proxy:9 of http_proxy"),
            ("http_proxy == 'http://user:sec", "the proxy of http_proxy"),
            ("", nil), ("http_proxy", nil),
        ] as [(String, String?)]
    )
    func `a proxy is named without its password`(note: String, text: String?) {
        #expect(EnvironmentProxy(note: note)?.description == text)
    }

    @Test func `what libcurl says of a proxy that it does not understand is said without its URL`() {
        let unsupported = "Unsupported proxy syntax in 'http://user:secret@127.0.0.1:99999'"
        #expect(EnvironmentProxy.reason(unsupported) == "libcurl does not understand the proxy's URL")
        #expect(EnvironmentProxy.reason("Connection refused") == "Connection refused")
    }

    @Test(arguments: [
        ("http://127.0.0.1:8353", true), ("http://127.255.0.9", true), ("https://[::1]:8353/x", true),
        ("http://localhost:8353", true), ("http://LOCALHOST./", true), ("http://a.localhost", true),
        ("http://[::ffff:127.0.0.1]:8353", true), ("http://127.1:8353", true), ("http://0x7f000001", true),
        ("http://0.0.0.0:8353", true), ("http://[::]:8353", true), ("http://user:pass@127.0.0.1:1", true),
        ("http://192.0.2.1:8353", false), ("http://[2001:db8::1]", false), ("http://[::ffff:192.0.2.1]", false),
        ("http://localhost.example.test", false), ("http://127.0.0.1.example.test", false),
        ("http://127.0.0.1@192.0.2.1", false), ("http://edge:8353/127.0.0.1", false),
    ])
    func `loopback stays on this machine`(url: String, isLocal: Bool) {
        #expect(StatusClient.Endpoint.url(url).isLocal == isLocal, "\(url)")
        #expect(StatusClient.Endpoint.unix(path: "/run/nwpath/api.sock").isLocal)
    }
}

@Suite(.inNamespace) struct ProxyTests {
    private let tool: Tool

    init() throws {
        tool = Tool(
            scratch: try Scratch(),
            environment: ["http_proxy": "http://user:secret@127.0.0.1:3128", "no_proxy": "", "NO_PROXY": ""]
        )
    }

    private func listen() throws -> Int32 {
        let address: [UInt8] = [127, 0, 0, 1]
        let listener = unsafe nwp_tcp_listen(address, address.count, 0, 3128, 8)
        guard listener >= 0 else { throw Errno(listener) }
        return listener
    }

    @Test(arguments: [
        "http://127.0.0.1:8353", "http://localhost:8353", "http://[::1]:8353", "http://[::ffff:127.0.0.1]:8353",
        "http://127.1:8353",
    ])
    func `a request to loopback uses no proxy`(url: String) async throws {
        let listener = try listen()
        defer { close(listener) }
        let result = try await tool.run("status", "--url", url)
        #expect(result.status == 4)
        #expect(result.messages.contains("tried \(url) (Connection refused)"), "\(result.messages)")
        #expect(nwp_accept(listener) < 0, "the proxy was contacted")
    }

    @Test func `a request to another host uses the proxy, and an answer that fails names it`() async throws {
        let listener = try listen()
        defer { close(listener) }
        let running = try tool.launch("status", "--url", "http://192.0.2.1:8353")
        await Namespace.current.loop.eventually(within: .seconds(20), "a connection to the proxy") {
            let client = nwp_accept(listener)
            guard client >= 0 else { return false }
            close(client)
            return true
        }
        #expect(running.command.wait() == 4)
        let named = "http://192.0.2.1:8353 through the proxy http://127.0.0.1:3128 of http_proxy"
        #expect(running.messages.contains(named), "\(running.messages)")
        #expect(!running.messages.contains("secret"))
    }

    @Test func `a proxy that cannot be reached is named`() async throws {
        let result = try await tool.run("status", "--url", "http://192.0.2.1:8353")
        #expect(result.status == 4)
        let named = "tried http://192.0.2.1:8353 through the proxy http://127.0.0.1:3128 of http_proxy"
        #expect(result.messages.contains("\(named) (Connection refused)"), "\(result.messages)")
        #expect(!result.messages.contains("secret"))
    }
}
