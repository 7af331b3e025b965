// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Configuration
import OrderedJSON
import Testing

@testable import nwpath

@Suite struct ConnectionTests {
    private func places(
        socket: String? = nil,
        url: String? = nil,
        _ environment: [String: String] = [:],
        user: UInt32 = 1000
    ) throws -> [StatusClient.Endpoint] {
        var common = CommonOptions()
        common.socket = socket
        common.url = url
        return try ServiceConnection(common, environment: environment, userID: user).endpoints
    }

    @Test func `a flag wins over the environment, and that over the usual places`() throws {
        let environment = ["NWPATH_URL": "http://[::1]:8353", "XDG_RUNTIME_DIR": "/run/user/1000"]
        #expect(try places(socket: "/x", environment) == [.unix(path: "/x")])
        #expect(try places(socket: "unix:/x", environment) == [.unix(path: "/x")])
        #expect(try places(url: "https://h:1", environment) == [.url("https://h:1")])
        #expect(try places(url: "unix:/y", environment) == [.unix(path: "/y")])
        #expect(try places(environment) == [.url("http://[::1]:8353")])
        let own = StatusClient.Endpoint.unix(path: "/run/user/1000/nwpath/api.sock")
        let system = StatusClient.Endpoint.unix(path: "/run/nwpath/api.sock")
        #expect(try places(["XDG_RUNTIME_DIR": "/run/user/1000", "NWPATH_URL": ""]) == [own, system])
        #expect(try places(user: 0) == [system])
    }

    @Test(arguments: ["", "localhost:8353", "file:///etc/passwd", "http://", "http://a b", "http://a\n", "unix:x"])
    func `other addresses are refused before anything is opened`(url: String) {
        let failure = #expect(throws: CommandFailure.self) { try places(url: url) }
        #expect(failure?.status == .usage)
        let other = #expect(throws: CommandFailure.self) { try places(["NWPATH_URL": url.isEmpty ? "x" : url]) }
        #expect(other?.message.hasPrefix("NWPATH_URL is '") == true)
    }

    @Test(
        arguments: [
            (.notReachable(endpoint: "p", reason: "r"), .unreachable), (.permissionDenied(endpoint: "p"), .refused),
            (.timedOut(endpoint: "p"), .timedOut), (.refused(status: 401, detail: "d"), .refused),
            (.problem(status: 400, type: "t", detail: "d"), .usage),
            (.problem(status: 404, type: "t", detail: "d"), .negative),
            (.problem(status: 410, type: "t", detail: "d"), .negative),
            (.problem(status: 421, type: "t", detail: "d"), .refused),
            (.problem(status: 503, type: "t", detail: "d"), .negative),
            (.failed(endpoint: "p", reason: "r"), .unreachable),
            (.libraryMissing(reason: "r"), .unreachable),
        ] as [(StatusClientError, nwpath.ExitStatus)]
    )
    func `each error has its exit status`(error: StatusClientError, status: nwpath.ExitStatus) {
        #expect(CommandFailure(error).status == status)
        #expect(!CommandFailure(error).message.isEmpty)
    }

    @Test func `a missing daemon and a missing permission differ`() {
        let missing = ServiceConnection.failure(["unix:/a (x)", "unix:/b (y)"], isDenied: false)
        #expect(missing.status == .unreachable)
        #expect(missing.message.contains("tried unix:/a (x) and unix:/b (y); see `systemctl status nwpath`"))
        let denied = ServiceConnection.failure(["unix:/a (permission denied)"], isDenied: true)
        #expect(denied.status == .refused)
        #expect(denied.message.contains("group"))
    }

    @Test(arguments: [
        ("eth0", "eth0"), ("a b/c?d&e=f%", "a%20b%2Fc%3Fd%26e%3Df%25"), ("ü\n", "%C3%BC%0A"), ("-._~", "-._~"),
        ("", ""),
    ])
    func `names are percent-encoded`(text: String, encoded: String) {
        #expect(RequestText.encode(text) == encoded)
    }

    @Test func `parameters without a value are left out`() {
        #expect(RequestText.target("/p", [(name: "a", value: nil)]) == "/p")
        #expect(
            RequestText.target("/p", [(name: "a", value: "1&"), (name: "b", value: nil), (name: "c", value: "2")])
                == "/p?a=1%26&c=2"
        )
    }
}

@Suite struct TreeTests {
    @Test(
        arguments: [
            (["a": 1, "b": ["c": true]], ["a": 1, "b": ["c": true]], [:]), (["a": 2], ["a": 1], ["a": 2]),
            (["b": ["c": true, "d": "x"]], ["b": ["c": true, "d": "y"]], ["b": ["d": "x"]]),
            (["n": ["e": 1]], [:], ["n": ["e": 1]]),
            (["l": ["x", "y"]], ["l": ["x"]], ["l": ["x", "y"]]), (["a": "text"], ["a": ["b": 1]], ["a": "text"]),
        ] as [(ConfigurationTree, ConfigurationTree, ConfigurationTree)]
    )
    func `only what differs is kept`(tree: ConfigurationTree, standard: ConfigurationTree, expected: ConfigurationTree)
    {
        #expect(tree.differences(from: standard) == expected)
    }

    @Test func `a tree becomes JSON in its order`() {
        let tree: ConfigurationTree = ["b": [true, 1, "x"], "a": [:]]
        #expect(tree.json.object?.keys == ["b", "a"])
        #expect(tree.json["b"]?.array == [.bool(true), .integer(1), .string("x")])
    }
}
