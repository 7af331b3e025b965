// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Network
import TestSupport
import Testing

/// What a program sees of the library: every member in the type that Apple's interface gives it.
@Suite struct PublicInterfaceTests {
    @Test func `addresses have the members of Apple's interface`() throws {
        let parse4: (String) -> IPv4Address? = IPv4Address.init
        let parse6: (String) -> IPv6Address? = IPv6Address.init
        let raw4: (Data, NWInterface?) -> IPv4Address? = IPv4Address.init
        let raw6: (Data, NWInterface?) -> IPv6Address? = IPv6Address.init
        let addresses: [any Network.IPAddress] = [
            try #require(parse4("127.0.0.1")), try #require(parse6("::1")),
            try #require(raw4(Data([127, 0, 0, 1]), nil)), try #require(raw6(Data(count: 15) + Data([1]), nil)),
        ]
        for address in addresses {
            #expect(address.isLoopback && !address.isLinkLocal && !address.isMulticast)
            #expect(address.interface == nil && [4, 16].contains(address.rawValue.count))
        }
        let scope: IPv6Address.Scope? = IPv6Address.linkLocalNodes.multicastScope
        #expect(scope == .linkLocal && scope?.rawValue == 2)
        let inside: IPv4Address? = parse6("::ffff:1.2.3.4")?.asIPv4
        #expect(inside == parse4("1.2.3.4"))
    }

    @Test func `endpoints are switched over as on Apple's systems`() throws {
        func words(_ endpoint: NWEndpoint) -> String {
            switch endpoint {
            case .hostPort(let host, let port):
                switch host {
                case .name(let name, let interface): return "name \(name) \(interface?.name ?? "-") \(port.rawValue)"
                case .ipv4(let address): return "v4 \(address) \(port)"
                case .ipv6(let address): return "v6 \(address) \(port)"
                @unknown default: return "?"
                }
            case .service(let name, let type, let domain, let interface):
                return "service \(name) \(type) \(domain) \(interface?.name ?? "-")"
            case .unix(let path): return "unix \(path)"
            case .url(let url): return "url \(url.absoluteString)"
            @unknown default: return "?"
            }
        }
        #expect(words(.hostPort(host: "a.example", port: .https)) == "name a.example - 443")
        #expect(words(.hostPort(host: "192.0.2.1", port: 1)) == "v4 192.0.2.1 1")
        #expect(words(.hostPort(host: .ipv6(.loopback), port: .any)) == "v6 ::1 0")
        let service = NWEndpoint.service(name: "Lamp", type: "_x._tcp", domain: "local.", interface: nil)
        #expect(words(service) == "service Lamp _x._tcp local. -")
        #expect(words(.unix(path: "/a")) == "unix /a")
        #expect(words(.url(try #require(URL(string: "http://a/")))) == "url http://a/")
    }

    @Test func `errors are switched over as on Apple's systems`() {
        func words(_ error: NWError) -> String {
            switch error {
            case .posix(let code): return "posix \(code.rawValue)"
            case .dns(let code): return "dns \(code)"
            case .tls(let status): return "tls \(status)"
            @unknown default: return "?"
            }
        }
        let code: POSIXErrorCode = .ECONNREFUSED
        #expect(words(.posix(code)) == "posix 111")
        #expect(words(.dns(DNSServiceErrorType(kDNSServiceErr_PolicyDenied))) == "dns -65570")
        #expect(words(.tls(OSStatus(-9808))) == "tls -9808")
        let error: any Error = NWError.posix(.ETIMEDOUT)
        #expect(error as? NWError == .posix(.ETIMEDOUT))
    }

    @Test func `records are dictionaries and collections`() {
        var record = NWTXTRecord(["a": "1"])
        record["b"] = "2"
        let isSet: Bool = record.setEntry(.none, for: "c")
        let entry: NWTXTRecord.Entry? = record.getEntry(for: "c")
        #expect(isSet && entry == NWTXTRecord.Entry.none)
        var keys: [String] = []
        for (key, value) in record {
            keys.append(key)
            if case .string(let text) = value { #expect(["1", "2"].contains(text)) }
        }
        #expect(keys == ["a", "b", "c"])
        let dictionary: [String: String] = record.dictionary
        #expect(dictionary.count == 3 && record.first?.key == "a")
    }

    @Test(.inNamespace) func `a monitor is used as in Apple's examples`() async throws {
        let monitor = NWPathMonitor()
        let queue = DispatchQueue(label: "monitor")
        let seen = Record<Bool>()
        monitor.pathUpdateHandler = { path in
            dispatchPrecondition(condition: .onQueue(queue))
            if path.status == .satisfied {
                seen.append(path.usesInterfaceType(.wifi) || path.isExpensive || path.isConstrained)
            } else {
                seen.append(path.unsatisfiedReason == .notAvailable)
            }
        }
        monitor.start(queue: queue)
        await Namespace.current.loop.eventually { seen.values == [true] }
        let path: NWPath = monitor.currentPath
        let members: (NWPath.Status, [NWInterface], Bool, Bool, Bool, [NWEndpoint]) = (
            path.status, path.availableInterfaces, path.supportsIPv4, path.supportsIPv6, path.supportsDNS, path.gateways
        )
        #expect(members.0 == .unsatisfied && members.1.isEmpty && members.5.isEmpty)
        #expect(path.localEndpoint == nil && path.remoteEndpoint == nil && !path.isUltraConstrained)
        #expect(path.linkQuality == .unknown)
        monitor.cancel()
    }

    @Test func `radio types are those of Apple's interface`() {
        let radios: Set<NWInterface.RadioType> = [
            .wifi(.ax), .wifi(.ac), .wifi(.n), .wifi(.g), .wifi(.b), .wifi(.a), .cell(.lte), .cell(.gsm), .cell(.wcdma),
            .cell(.cdma), .cell(.evdo), .cell(.standalone5G(.mmWave)), .cell(.dualConnectivity5G(.sub6GHz)),
        ]
        #expect(radios.count == 13)
        #expect(NWInterface.InterfaceType.allCases.count == 5)
    }
}
