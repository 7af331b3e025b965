// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

@testable import Network
import Testing

@Suite struct NWParametersTests {
    private let eth0 = NWInterface(name: "eth0", index: 2, type: .wiredEthernet)

    @Test func `TCP and UDP are there anew each time`() {
        let parameters = NWParameters.tcp
        #expect(parameters !== NWParameters.tcp)
        #expect(parameters.defaultProtocolStack.transportProtocol is NWProtocolTCP.Options)
        #expect(NWParameters.udp.defaultProtocolStack.transportProtocol is NWProtocolUDP.Options)
        #expect(NWParameters().defaultProtocolStack.transportProtocol == nil)
        #expect(parameters.defaultProtocolStack.internetProtocol is NWProtocolIP.Options)
        #expect(parameters.defaultProtocolStack.applicationProtocols.isEmpty)
    }

    @Test func `DTLS is TLS upon UDP, and nothing else is`() throws {
        let stack = NWParameters.dtls.defaultProtocolStack
        #expect(stack.transportProtocol is NWProtocolUDP.Options)
        #expect(stack.applicationProtocols.count == 1 && stack.applicationProtocols[0] is NWProtocolTLS.Options)
        let udp = NWProtocolUDP.Options()
        udp.preferNoChecksum = true
        let bare = NWParameters(dtls: nil, udp: udp).copy().defaultProtocolStack
        #expect(bare.applicationProtocols.isEmpty)
        #expect(try #require(bare.transportProtocol as? NWProtocolUDP.Options).preferNoChecksum)
        let settings = try #require(FlowSettings(.dtls))
        #expect(settings.hasMessages && !settings.isStream)
        let twice = NWParameters.dtls
        twice.defaultProtocolStack.applicationProtocols += [NWProtocolTLS.Options()]
        #expect(FlowSettings(twice) == nil)
        twice.defaultProtocolStack.applicationProtocols = [NWProtocolWebSocket.Options(), NWProtocolTLS.Options()]
        #expect(FlowSettings(twice) == nil)
    }

    @Test func `has the defaults of Apple's interface`() {
        let parameters = NWParameters()
        #expect(parameters.requiredInterface == nil && parameters.requiredInterfaceType == .other)
        #expect(parameters.prohibitedInterfaces == nil && parameters.prohibitedInterfaceTypes == nil)
        #expect(!parameters.prohibitExpensivePaths && !parameters.prohibitConstrainedPaths)
        #expect(!parameters.allowUltraConstrainedPaths && !parameters.includePeerToPeer)
        #expect(parameters.requiredLocalEndpoint == nil && !parameters.allowLocalEndpointReuse)
        #expect(!parameters.acceptLocalOnly && !parameters.preferNoProxies && !parameters.allowFastOpen)
        #expect(parameters.serviceClass == .bestEffort && parameters.multipathServiceType == .disabled)
        #expect(parameters.expiredDNSBehavior == .systemDefault && !parameters.requiresDNSSECValidation)
        #expect(parameters.attribution == .developer)
    }

    /// Sets everything to something else.
    private func change(_ parameters: NWParameters) {
        parameters.requiredInterface = eth0
        parameters.requiredInterfaceType = .wiredEthernet
        parameters.prohibitedInterfaces = [eth0]
        parameters.prohibitedInterfaceTypes = [.wifi]
        parameters.prohibitExpensivePaths = true
        parameters.prohibitConstrainedPaths = true
        parameters.allowUltraConstrainedPaths = true
        parameters.includePeerToPeer = true
        parameters.requiredLocalEndpoint = .hostPort(host: "::1", port: 1)
        parameters.allowLocalEndpointReuse = true
        parameters.acceptLocalOnly = true
        parameters.preferNoProxies = true
        parameters.allowFastOpen = true
        parameters.serviceClass = .signaling
        parameters.multipathServiceType = .handover
        parameters.expiredDNSBehavior = .allow
        parameters.requiresDNSSECValidation = true
        parameters.attribution = .user
    }

    @Test func `keeps what is set, and copies it`() {
        let parameters = NWParameters.tcp
        change(parameters)
        let copy = parameters.copy()
        parameters.requiredInterface = nil
        parameters.serviceClass = .background
        #expect(copy.requiredInterface == eth0 && copy.requiredInterfaceType == .wiredEthernet)
        #expect(copy.prohibitedInterfaces == [eth0] && copy.prohibitedInterfaceTypes == [.wifi])
        #expect(copy.prohibitExpensivePaths && copy.prohibitConstrainedPaths && copy.allowUltraConstrainedPaths)
        #expect(copy.includePeerToPeer && copy.allowLocalEndpointReuse && copy.acceptLocalOnly)
        #expect(copy.requiredLocalEndpoint == .hostPort(host: "::1", port: 1))
        #expect(copy.preferNoProxies && copy.allowFastOpen && copy.requiresDNSSECValidation)
        #expect(copy.serviceClass == .signaling && copy.multipathServiceType == .handover)
        #expect(copy.expiredDNSBehavior == .allow && copy.attribution == .user)
        #expect(parameters.serviceClass == .background)
    }

    @Test func `a copy has options of its own`() throws {
        let parameters = NWParameters.tcp
        let options = try #require(parameters.defaultProtocolStack.transportProtocol as? NWProtocolTCP.Options)
        options.noDelay = true
        parameters.defaultProtocolStack.applicationProtocols = [NWProtocolUDP.Options()]
        let stack = parameters.copy().defaultProtocolStack
        options.noDelay = false
        #expect((stack.transportProtocol as? NWProtocolTCP.Options)?.noDelay == true)
        #expect(stack.applicationProtocols.count == 1)
        #expect(stack.internetProtocol !== parameters.defaultProtocolStack.internetProtocol)
    }

    @Test func `the Internet Protocol cannot be removed`() {
        let stack = NWParameters.udp.defaultProtocolStack
        stack.internetProtocol = nil
        #expect(stack.internetProtocol is NWProtocolIP.Options)
        let options = NWProtocolIP.Options()
        stack.internetProtocol = options
        #expect(stack.internetProtocol === options)
        stack.transportProtocol = nil
        #expect(stack.transportProtocol == nil)
    }

    @Test func `is readable`() {
        let parameters = NWParameters.tcp
        #expect(parameters.debugDescription == "tcp")
        change(parameters)
        let text = "tcp, required eth0, required wiredEthernet, prohibited eth0, prohibited wifi, from ::1.1"
        #expect(parameters.debugDescription == text)
        #expect(NWParameters().debugDescription == "no transport")
    }

    @Test func `options of TCP keep what is set`() {
        let options = NWProtocolTCP.Options()
        #expect(options.values == NWProtocolTCP.Options.Values() && options.name == "tcp")
        options.noDelay = true
        options.noPush = true
        options.noOptions = true
        options.enableKeepalive = true
        options.keepaliveCount = 1
        options.keepaliveIdle = 2
        options.keepaliveInterval = 3
        options.maximumSegmentSize = 4
        options.connectionTimeout = 5
        options.persistTimeout = 6
        options.connectionDropTime = 7
        options.retransmitFinDrop = true
        options.disableAckStretching = true
        options.enableFastOpen = true
        options.disableECN = true
        let copy = options.copy()
        options.noDelay = false
        #expect(copy.noDelay && copy.noPush && copy.noOptions && copy.enableKeepalive && copy.retransmitFinDrop)
        #expect(copy.disableAckStretching && copy.enableFastOpen && copy.disableECN)
        let numbers = [
            copy.keepaliveCount, copy.keepaliveIdle, copy.keepaliveInterval, copy.maximumSegmentSize,
            copy.connectionTimeout, copy.persistTimeout, copy.connectionDropTime,
        ]
        #expect(numbers == Array(1...7))
    }

    @Test func `options of UDP and IP keep what is set`() {
        let datagrams = NWProtocolUDP.Options()
        #expect(!datagrams.preferNoChecksum && datagrams.name == "udp")
        datagrams.preferNoChecksum = true
        #expect(datagrams.copy().preferNoChecksum)
        let options = NWProtocolIP.Options()
        #expect(options.version == .any && options.hopLimit == 0 && options.localAddressPreference == .default)
        options.version = .v6
        options.hopLimit = 3
        options.useMinimumMTU = true
        options.disableFragmentation = true
        options.shouldCalculateReceiveTime = true
        options.localAddressPreference = .stable
        options.disableMulticastLoopback = true
        let copy = options.copy()
        #expect(copy.version == .v6 && copy.hopLimit == 3 && copy.localAddressPreference == .stable)
        #expect(copy.useMinimumMTU && copy.disableFragmentation && copy.shouldCalculateReceiveTime)
        #expect(copy.disableMulticastLoopback && copy.name == "ip")
    }

    @Test func `may be used by many threads at once`() async {
        let parameters = NWParameters.tcp
        await withTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    for _ in 0..<200 {
                        parameters.allowFastOpen = number % 2 == 0
                        _ = parameters.copy()
                    }
                }
            }
        }
        #expect(parameters.copy().allowFastOpen == parameters.allowFastOpen)
    }
}
