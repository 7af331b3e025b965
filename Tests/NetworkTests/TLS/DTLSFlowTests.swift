// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// DTLS upon flows that a test makes, on one loop.
@Suite(.inNamespace) struct DTLSFlowTests {
    /// One end of a way without a network; what is written arrives at ``other``.
    private final class Wire: Flow {
        struct Expected: Equatable {
            let reading: Bool
            let writing: Bool
        }

        let isStream = false
        let local: SocketEnd? = nil
        let remote: SocketEnd? = nil
        var maximumDatagramSize = 1472
        var metadata: [any NWProtocolMetadata] { [NWProtocolUDP.Metadata()] }
        var transport: TransferCounts.Transport? { nil }
        var onReadiness: (EventLoop.Readiness) -> Void = { _ in }
        weak var other: Wire?
        var arrived: [Result<Data, NWError>] = []
        /// What comes when nothing else has.
        var noise: Data?
        /// Why a datagram does not leave, which is lost then.
        var failure: NWError?
        var hasRoom = true
        var isExpected = Expected(reading: false, writing: false)
        var reads = 0

        func read(upTo limit: Int) throws(NWError) -> FlowInput? {
            reads += 1
            guard !arrived.isEmpty else { return noise.map { .message(ReceivedMessage(bytes: $0)) } }
            return .message(ReceivedMessage(bytes: try arrived.removeFirst().get(), metadata: metadata))
        }

        func write(_ bytes: Data) throws(NWError) -> Int? {
            if let failure { throw failure }
            guard hasRoom else { return nil }
            other?.arrived.append(.success(bytes))
            return bytes.count
        }

        func expect(reading: Bool, writing: Bool) { isExpected = Expected(reading: reading, writing: writing) }
        func finishWriting() {}
        func close(isAbrupt: Bool) {}
    }

    /// Two flows and what is between them.
    private struct Ends {
        let near = Wire()
        let far = Wire()
        let client: DTLSFlow
        let server: DTLSFlow

        init(_ certificates: Certificates) throws {
            (near.other, far.other) = (far, near)
            let loop = Namespace.current.loop
            client = try DTLSFlow(
                near,
                options: certificates.clientOptions().securityProtocolOptions.values,
                peerName: "localhost",
                isServer: false,
                loop: loop
            )
            server = try DTLSFlow(
                far,
                options: certificates.serverOptions().securityProtocolOptions.values,
                peerName: nil,
                isServer: true,
                loop: loop
            )
        }

        /// Shakes hands.
        func establish() throws {
            var turns = 0
            while try !client.establish() || !server.establish(), turns < 20 {
                _ = try server.establish()
                turns += 1
            }
            #expect(turns < 20)
        }

        func close() {
            client.close(isAbrupt: true)
            server.close(isAbrupt: true)
        }
    }

    private let certificates: Certificates

    init() throws { certificates = try Certificates.shared.get() }

    private func text(_ arrival: FlowInput?) -> String? {
        guard case .message(let message)? = arrival else { return nil }
        return String(decoding: message.bytes, as: UTF8.self)
    }

    @Test func `what does not fit waits, and goes as it was cut`() throws {
        let ends = try Ends(certificates)
        defer { ends.close() }
        try ends.establish()
        ends.near.hasRoom = false
        #expect(try ends.client.write(Data("one".utf8)) == 3)
        #expect(ends.client.hasOutput)
        #expect(try ends.client.write(Data("two".utf8)) == nil, "one may wait")
        ends.client.expect(reading: true, writing: false)
        #expect(ends.near.isExpected == Wire.Expected(reading: true, writing: true))
        ends.near.hasRoom = true
        #expect(try ends.client.write(Data("two".utf8)) == 3)
        #expect(!ends.client.hasOutput)
        #expect(ends.far.arrived.count == 2)
        #expect(text(try ends.server.read(upTo: 1)) == "one", "a message is handed out as a whole")
        #expect(text(try ends.server.read(upTo: 1)) == "two")
        #expect(text(try ends.server.read(upTo: 1)) == nil)
    }

    @Test func `a datagram of the handshake that cannot leave is as one that is lost`() throws {
        let ends = try Ends(certificates)
        defer { ends.close() }
        for code in [POSIXErrorCode.ENETUNREACH, .ENOBUFS, .EMSGSIZE] {
            ends.near.failure = .posix(code)
            #expect(try !ends.client.establish())
        }
        let refused = try Ends(certificates)
        defer { refused.close() }
        refused.near.failure = .posix(.ECONNREFUSED)
        #expect(throws: NWError.posix(.ECONNREFUSED)) { try refused.client.establish() }
    }

    @Test func `a message that cannot leave fails alone`() throws {
        let ends = try Ends(certificates)
        defer { ends.close() }
        try ends.establish()
        ends.near.failure = .posix(.EMSGSIZE)
        #expect(throws: NWError.posix(.EMSGSIZE)) { try ends.client.write(Data("lost".utf8)) }
        #expect(!ends.client.hasOutput)
        ends.near.failure = nil
        #expect(try ends.client.write(Data("next".utf8)) == 4)
        #expect(text(try ends.server.read(upTo: 1)) == "next")
        #expect(ends.client.refusal(of: Data(), with: []) == .posix(.EINVAL))
        #expect(ends.client.refusal(of: Data(count: 16_385), with: []) == .posix(.EMSGSIZE))
        #expect(ends.client.refusal(of: Data(count: 16_384), with: []) == nil)
        #expect((1400..<1472).contains(ends.client.maximumDatagramSize))
    }

    @Test func `others have their turn while nonsense comes without an end`() throws {
        let ends = try Ends(certificates)
        defer { ends.close() }
        ends.near.noise = Data("nonsense".utf8)
        try ends.establish()
        ends.near.reads = 0
        #expect(text(try ends.client.read(upTo: 1)) == nil)
        #expect(ends.near.reads <= 1024)
        _ = try ends.server.write(Data("hello".utf8))
        #expect(text(try ends.client.read(upTo: 1)) == "hello")
    }

    @Test func `it reads ahead by one message, an end or an error`() throws {
        let ends = try Ends(certificates)
        defer { ends.close() }
        try ends.establish()
        ends.server.expect(reading: false, writing: false)
        #expect(
            ends.far.isExpected == Wire.Expected(reading: true, writing: false),
            "for a client that missed the last word"
        )
        for word in ["one", "two"] { _ = try ends.client.write(Data(word.utf8)) }
        ends.server.expect(reading: false, writing: false)
        #expect(ends.far.isExpected == Wire.Expected(reading: false, writing: false) && ends.far.arrived.count == 1)
        for word in ["one", "two"] { #expect(text(try ends.server.read(upTo: 1)) == word) }
        ends.far.arrived.append(.failure(.posix(.ECONNREFUSED)))
        ends.server.expect(reading: false, writing: false)
        #expect(ends.far.isExpected == Wire.Expected(reading: false, writing: false))
        #expect(throws: NWError.posix(.ECONNREFUSED)) { try ends.server.read(upTo: 1) }
        ends.client.close(isAbrupt: false)
        ends.server.expect(reading: false, writing: false)
        for _ in 0..<2 {
            guard case .end? = try ends.server.read(upTo: 1) else {
                Issue.record("no end")
                return
            }
        }
    }
}
