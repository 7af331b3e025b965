// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

@testable import Network
import Testing

@Suite struct ContentContextTests {
    private typealias Context = NWConnection.ContentContext

    @Test func `the usual contexts say whether something follows`() {
        #expect(!Context.defaultMessage.isFinal)
        #expect(Context.finalMessage.isFinal && Context.defaultStream.isFinal)
        #expect(Context.defaultMessage.expirationMilliseconds == 0 && Context.defaultMessage.relativePriority == 0.5)
        #expect(Context.defaultMessage.antecedent == nil && Context.defaultMessage.protocolMetadata.isEmpty)
    }

    @Test func `a context keeps what it is made with`() {
        let first = Context(identifier: "first")
        let context = Context(
            identifier: "second",
            expiration: 250,
            priority: 0.9,
            isFinal: true,
            antecedent: first,
            metadata: [NWProtocolUDP.Metadata(), NWProtocolIP.Metadata()]
        )
        #expect(context.identifier == "second" && context.expirationMilliseconds == 250 && context.isFinal)
        #expect(context.relativePriority == 0.9 && context.antecedent === first)
        #expect(context.protocolMetadata(definition: NWProtocolIP.definition) is NWProtocolIP.Metadata)
        #expect(context.protocolMetadata(definition: NWProtocolUDP.definition) is NWProtocolUDP.Metadata)
        #expect(context.protocolMetadata(definition: NWProtocolTCP.definition) == nil)
    }

    @Test(arguments: [(-1.0, 0.0), (0.25, 0.25), (7.0, 1.0)]) func `a priority is from 0 to 1`(
        given: Double,
        kept: Double
    ) {
        #expect(Context(identifier: "", priority: given, metadata: nil).relativePriority == kept)
    }

    @Test func `content that came has a context of its own only when there is something to say`() {
        #expect(Context.received([], isFinal: false) === Context.defaultMessage)
        #expect(Context.received([], isFinal: true) === Context.finalMessage)
        let context = Context.received([NWProtocolUDP.Metadata()], isFinal: false)
        #expect(context.protocolMetadata.count == 1 && !context.isFinal)
    }

    @Test func `definitions are told apart`() {
        let all = [NWProtocolTCP.definition, NWProtocolUDP.definition, NWProtocolIP.definition]
        #expect(Set(all).count == 3 && all.map(\.name) == ["tcp", "udp", "ip"])
        #expect(all.map(\.debugDescription) == all.map(\.name))
    }
}
