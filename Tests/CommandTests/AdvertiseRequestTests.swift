// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import MulticastDNS
import Testing

@testable import nwpath

@Suite struct AdvertiseRequestTests {
    private func request(_ change: (inout AdvertiseRequest) -> Void = { _ in }) -> AdvertiseRequest {
        var request = AdvertiseRequest(name: "Dr. No's", type: "_http._tcp", port: "8080")
        change(&request)
        return request
    }

    @Test func `a service has a name, a type, a port and a text`() throws {
        let service = try request {
            $0.pairs = ["path=/metrics", "flag", "empty=", "a=b=c"]
            $0.subtypes = ["_printer", "blue"]
            $0.interface = "eth0"
        }.registration()
        #expect(service.name == Array("Dr. No's".utf8) && service.type == "_http._tcp" && service.port == 8080)
        #expect(service.text.map(\.key) == ["path", "flag", "empty", "a"])
        #expect(service.text.map(\.value) == [Array("/metrics".utf8), nil, [], Array("b=c".utf8)])
        #expect(service.subtypes == [Array("_printer".utf8), Array("blue".utf8)])
        #expect(service.interfaces == ["eth0"] && service.host == .machine)
    }

    @Test func `it runs here, on a host that answers for itself, or on one that is claimed`() throws {
        let name = try #require(DomainName("lamp.local"))
        #expect(try request { $0.host = "lamp" }.registration().host == .existing(name))
        let address = try #require(IPAddress("192.0.2.7"))
        let claimed = request {
            $0.host = "lamp.local"
            $0.addresses = [address]
        }
        #expect(try claimed.registration().host == .claimed(name, addresses: [address]))
        #expect(request { $0.addresses = [address] }.complaint == "--address needs --host")
    }

    @Test(
        arguments: [
            ("http.tcp", "(did you mean '_http._tcp'?)"), ("_http", "(did you mean '_http._tcp'?)"),
            ("_a--b._tcp", "inside only, and one letter at least"), ("_http._tcp.example", "_ipp._tcp or _ipp._udp"),
        ]
    )
    func `a type that cannot be published is told`(type: String, end: String) throws {
        let complaint = request { $0.type = type }.complaint
        #expect(try #require(complaint).hasSuffix(end), "\(complaint ?? "")")
    }

    @Test(
        arguments: [
            ("", "expected 1 to 63"), ("a\nb", "without control characters and byte order mark"),
            (String(repeating: "ü", count: 32), "instance name has 64 bytes, expected 1 to 63"),
        ]
    )
    func `a name that cannot be published is told`(name: String, end: String) throws {
        let complaint = request { $0.name = name }.complaint
        #expect(try #require(complaint).hasSuffix(end), "\(complaint ?? "")")
    }

    @Test(arguments: [(["=x"], "TXT key '' must be"), (["a=1", "A=2"], "occurs twice"), (["ü=1"], "printable ASCII")])
    func `a text that cannot be published is told`(pairs: [String], words: String) throws {
        #expect(try #require(request { $0.pairs = pairs }.complaint).contains(words))
    }

    @Test(arguments: [("8080", "_http._tcp", "web"), ("_http._tcp", "web", "8080"), ("web", "8080", "_http._tcp")])
    func `arguments in another order are put right`(name: String, type: String, port: String) {
        let complaint = AdvertiseRequest(name: name, type: type, port: port).complaint
        #expect(complaint == "the order is NAME TYPE PORT (did you mean 'web' '_http._tcp' '8080'?)")
    }

    @Test(arguments: ["x", "", "-1", "65536", "+1"])
    func `a port that does not exist is reported`(port: String) {
        #expect(request { $0.port = port }.complaint == "PORT is '\(port)', expected a whole number from 0 to 65535")
    }

    @Test func `what is right has no complaint`() {
        #expect(request().complaint == nil)
        #expect(request { $0.host = "a b" }.complaint?.hasPrefix("host name 'a b") == true)
    }
}
