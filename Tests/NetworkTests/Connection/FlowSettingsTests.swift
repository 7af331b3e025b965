// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
@testable import Network
import Testing

/// Each option that has a meaning on Linux is asked for, and read back from a socket.
@Suite struct FlowSettingsTests {
    private typealias TCP = NWProtocolTCP.Options
    private typealias UDP = NWProtocolUDP.Options
    private typealias IP = NWProtocolIP.Options

    /// The value of an option of a socket with these settings.
    private func value(
        of option: Int32,
        at level: Int32,
        _ parameters: NWParameters,
        isIPv6: Bool = false
    ) throws -> Int32 {
        let settings = try #require(FlowSettings(parameters))
        let type = Int32((settings.isStream ? SOCK_STREAM : SOCK_DGRAM).rawValue)
        let descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, type, 0)
        defer { close(descriptor) }
        settings.apply(to: descriptor, isIPv6: isIPv6)
        var (value, size): (Int32, socklen_t) = (-1, 4)
        let code = unsafe getsockopt(descriptor, level, option, &value, &size)
        #expect(code == 0)
        return value
    }

    private func tcp(_ change: (TCP) -> Void) throws -> NWParameters {
        let parameters = NWParameters.tcp
        change(try #require(parameters.defaultProtocolStack.transportProtocol as? TCP))
        return parameters
    }

    private func ip(_ parameters: NWParameters = .udp, _ change: (IP) -> Void) throws -> NWParameters {
        change(try #require(parameters.defaultProtocolStack.internetProtocol as? IP))
        return parameters
    }

    private let levelTCP = Int32(IPPROTO_TCP)
    private let level4 = Int32(IPPROTO_IP)
    private let level6 = Int32(IPPROTO_IPV6)

    @Test func `TCP does not wait to fill a segment, or does`() throws {
        #expect(try value(of: TCP_NODELAY, at: levelTCP, tcp { _ in }) == 0)
        #expect(try value(of: TCP_NODELAY, at: levelTCP, tcp { $0.noDelay = true }) == 1)
        #expect(try value(of: TCP_CORK, at: levelTCP, tcp { $0.noPush = true }) == 1)
    }

    @Test func `an idle connection is probed as often as asked`() throws {
        let parameters = try tcp { options in
            options.enableKeepalive = true
            options.keepaliveCount = 4
            options.keepaliveIdle = 11
            options.keepaliveInterval = 3
        }
        #expect(try value(of: SO_KEEPALIVE, at: SOL_SOCKET, parameters) == 1)
        #expect(try value(of: TCP_KEEPCNT, at: levelTCP, parameters) == 4)
        #expect(try value(of: TCP_KEEPIDLE, at: levelTCP, parameters) == 11)
        #expect(try value(of: TCP_KEEPINTVL, at: levelTCP, parameters) == 3)
        let off = try tcp { $0.keepaliveIdle = 11 }
        #expect(try value(of: SO_KEEPALIVE, at: SOL_SOCKET, off) == 0)
        #expect(try value(of: TCP_KEEPIDLE, at: levelTCP, off) == 7200, "the system's")
    }

    @Test(arguments: [(0, 0), (5, 5000), (Int.max, Int(Int32.max))])
    func `a connection is dropped after a time without an answer`(seconds: Int, milliseconds: Int) throws {
        let parameters = try tcp { $0.connectionDropTime = seconds }
        #expect(try value(of: TCP_USER_TIMEOUT, at: levelTCP, parameters) == Int32(milliseconds))
    }

    @Test func `the first bytes may go with the first packet`() throws {
        #expect(try value(of: TCP_FASTOPEN_CONNECT, at: levelTCP, tcp { _ in }) == 0)
        #expect(try value(of: TCP_FASTOPEN_CONNECT, at: levelTCP, tcp { $0.enableFastOpen = true }) == 1)
        let parameters = NWParameters.tcp
        parameters.allowFastOpen = true
        #expect(try value(of: TCP_FASTOPEN_CONNECT, at: levelTCP, parameters) == 1)
    }

    @Test func `an address may be shared`() throws {
        for parameters in [NWParameters.tcp, .udp] {
            #expect(try value(of: SO_REUSEPORT, at: SOL_SOCKET, parameters) == 0)
            parameters.allowLocalEndpointReuse = true
            #expect(try value(of: SO_REUSEPORT, at: SOL_SOCKET, parameters) == 1)
            #expect(try value(of: SO_REUSEADDR, at: SOL_SOCKET, parameters) == 1)
        }
    }

    @Test func `UDP may broadcast, and leave the checksum out`() throws {
        #expect(try value(of: SO_BROADCAST, at: SOL_SOCKET, .udp) == 1)
        let parameters = NWParameters.udp
        try #require(parameters.defaultProtocolStack.transportProtocol as? UDP).preferNoChecksum = true
        #expect(try value(of: SO_NO_CHECK, at: SOL_SOCKET, parameters) == 1)
    }

    @Test func `packets go over so many routers`() throws {
        let parameters = try ip { $0.hopLimit = 5 }
        #expect(try value(of: IP_TTL, at: level4, parameters) == 5)
        #expect(try value(of: IP_MULTICAST_TTL, at: level4, parameters) == 5)
        #expect(try value(of: IPV6_UNICAST_HOPS, at: level6, parameters, isIPv6: true) == 5)
        #expect(try value(of: IPV6_MULTICAST_HOPS, at: level6, parameters, isIPv6: true) == 5)
    }

    @Test func `packets are never split`() throws {
        let parameters = try ip { $0.disableFragmentation = true }
        #expect(try value(of: IP_MTU_DISCOVER, at: level4, parameters) == IP_PMTUDISC_DO)
        #expect(try value(of: IPV6_MTU_DISCOVER, at: level6, parameters, isIPv6: true) == IPV6_PMTUDISC_DO)
    }

    @Test func `groups do not hear this machine`() throws {
        let parameters = try ip { $0.disableMulticastLoopback = true }
        #expect(try value(of: IP_MULTICAST_LOOP, at: level4, parameters) == 0)
        #expect(try value(of: IPV6_MULTICAST_LOOP, at: level6, parameters, isIPv6: true) == 0)
    }

    @Test func `addresses of a kind are preferred`() throws {
        let temporary = try ip { $0.localAddressPreference = .temporary }
        #expect(try value(of: 72, at: level6, temporary, isIPv6: true) & 3 == 1)
        let stable = try ip { $0.localAddressPreference = .stable }
        #expect(try value(of: 72, at: level6, stable, isIPv6: true) & 3 == 2)
    }

    @Test(arguments: NWParameters.ServiceClass.allCases)
    func `each kind of traffic has its mark`(kind: NWParameters.ServiceClass) throws {
        let parameters = NWParameters.tcp
        parameters.serviceClass = kind
        let mark = Int32(kind.codePoint) << 2
        #expect(try value(of: IP_TOS, at: level4, parameters) == mark)
        #expect(try value(of: IPV6_TCLASS, at: level6, parameters, isIPv6: true) == mark)
        #expect(NWParameters.ServiceClass(codePoint: kind.codePoint) == kind)
    }

    @Test func `a code point without a kind is the best effort`() {
        #expect(NWParameters.ServiceClass(codePoint: 63) == .bestEffort)
    }

    @Test(arguments: [(0, .nonECT), (1, .ect1), (2, .ect0), (3, .ce), (-1, .nonECT)] as [(Int32, NWProtocolIP.ECN)])
    func `a traffic class has two bits of congestion`(bits: Int32, expected: NWProtocolIP.ECN) {
        let metadata = NWProtocolIP.Metadata(trafficClass: bits < 0 ? bits : bits | 46 << 2, receiveTime: 5)
        #expect(metadata.ecn == expected && metadata.receiveTime == 5)
        #expect(metadata.serviceClass == (bits < 0 ? .bestEffort : .interactiveVoice))
        #expect(NWProtocolIP.Metadata().definition == NWProtocolIP.definition)
    }

    @Test func `limits are told from none`() throws {
        let parameters = NWParameters.tcp
        #expect(try !#require(FlowSettings(parameters)).limitsPath)
        #expect(try #require(FlowSettings(parameters)).pathQuestion == PathQuestion())
        parameters.prohibitExpensivePaths = true
        #expect(try #require(FlowSettings(parameters)).limitsPath)
        let typed = NWParameters.udp
        typed.requiredInterfaceType = .wifi
        typed.prohibitedInterfaceTypes = [.cellular]
        let settings = try #require(FlowSettings(typed))
        #expect(settings.limitsPath && !settings.isStream)
        #expect(settings.pathQuestion == PathQuestion(requiredType: .wifi, prohibitedTypes: [.cellular]))
    }

    @Test func `what is changed later does not count`() throws {
        let parameters = NWParameters.tcp
        let options = try #require(parameters.defaultProtocolStack.transportProtocol as? TCP)
        options.connectionTimeout = 3
        let settings = try #require(FlowSettings(parameters))
        options.connectionTimeout = 9
        #expect(settings.attemptLimit == .seconds(3))
        #expect(try #require(FlowSettings(.udp)).attemptLimit == nil)
        #expect(FlowSettings(NWParameters()) == nil)
    }
}
