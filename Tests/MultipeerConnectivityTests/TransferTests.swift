// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
import MultipeerConnectivity
import Synchronization
import TestSupport
import Testing

/// Files and streams between two peers on one bridge.
@Suite(.inNamespace) struct TransferTests {
    private let loop = Namespace.current.loop
    private let scratch: Scratch
    private let hosts: Hosts

    init() throws {
        hosts = try Hosts(2)
        scratch = try Scratch()
    }

    private func pair() async -> (ada: TestPeer, bob: TestPeer) {
        let ada = await TestPeer.make("Ada", in: hosts[0])
        let bob = await TestPeer.make("Bob", in: hosts[1])
        ada.advertiser.startAdvertisingPeer()
        bob.browser.startBrowsingForPeers()
        await loop.eventually("found") { bob.names == ["Ada"] }
        bob.invite("Ada")
        await loop.eventually("connected", found: bob.story) { bob.connected == ["Ada"] && ada.connected == ["Bob"] }
        return (ada, bob)
    }

    /// So many bytes that nobody guesses.
    private func noise(_ count: Int) throws -> Data {
        try #require(FileHandle(forReadingAtPath: "/dev/urandom")).readData(ofLength: count)
    }

    /// A file of so many bytes.
    private func file(_ count: Int, name: String = "file") throws -> (url: URL, bytes: Data) {
        let bytes = try noise(count)
        let url = URL(fileURLWithPath: scratch.file(name))
        try bytes.write(to: url)
        return (url, bytes)
    }

    /// What became of sending; `nil` while it goes on.
    private final class Outcome: Sendable {
        private let stored = Mutex<[MCError.Code?]>([])
        func add(_ error: (any Error)?) { stored.withLock { $0.append((error as? MCError)?.code) } }
        var all: [MCError.Code?] { stored.withLock { $0 } }
    }

    @Test(arguments: [0, 1, 65_536, 3_000_001])
    func `a file arrives as it is, and both ends see how far it is`(count: Int) async throws {
        let (ada, bob) = await pair()
        let (url, bytes) = try file(count)
        let outcome = Outcome()
        let progress = bob.session.sendResource(at: url, withName: "../a picture", toPeer: ada.id) { outcome.add($0) }
        await loop.eventually("sent") { outcome.all == [nil] }
        await loop.eventually("received") { ada.read { $0.resources.count } == 1 }
        #expect(ada.read { $0.resources[0].name } == "../a picture")
        #expect(ada.read { $0.resources[0].bytes } == bytes)
        #expect(ada.read { $0.resources[0].error } == nil)
        await loop.eventually("progress") { progress?.completedUnitCount == Int64(count) }
        let other = try #require(ada.read { $0.progresses.first })
        #expect(other.totalUnitCount == Int64(count))
        await loop.eventually("progress there") { other.completedUnitCount == Int64(count) }
    }

    @Test func `many files at once arrive each as it is, with messages between them`() async throws {
        let (ada, bob) = await pair()
        let outcome = Outcome()
        var expected: [String: Data] = [:]
        for number in 0..<40 {
            let (url, bytes) = try file(number * 5_003, name: "file \(number)")
            expected["\(number)"] = bytes
            bob.session.sendResource(at: url, withName: "\(number)", toPeer: ada.id) { outcome.add($0) }
            try bob.send("message \(number)", to: [ada.id])
        }
        await loop.eventually("all") { outcome.all.count == 40 && ada.read { $0.resources.count } == 40 }
        #expect(outcome.all.allSatisfy { $0 == nil })
        let received = ada.read { Dictionary($0.resources.map { ($0.name, $0.bytes) }) { first, _ in first } }
        #expect(received == expected)
        #expect(ada.texts == (0..<40).map { "message \($0)" })
    }

    @Test func `giving a file up ends it at both ends`() async throws {
        let (ada, bob) = await pair()
        let url = URL(fileURLWithPath: scratch.file("big"))
        try Command.run(["truncate", "-s", "1G", url.path])
        for end in ["sender", "receiver"] {
            let outcome = Outcome()
            let before = ada.read { $0.progresses.count }
            let progress = bob.session.sendResource(at: url, withName: end, toPeer: ada.id) { outcome.add($0) }
            await loop.eventually("begun") { ada.read { $0.progresses.count } == before + 1 }
            let other = try #require(ada.read { $0.progresses.last })
            (end == "sender" ? progress : other)?.cancel()
            await loop.eventually("given up") { outcome.all == [.cancelled] }
            await loop.eventually("told") { ada.read { $0.resources.last?.name } == end }
            #expect(ada.read { $0.resources.last?.error } == .cancelled)
            #expect(ada.read { $0.resources.last?.bytes } == nil)
        }
        try bob.send("still here", to: [ada.id])
        await loop.eventually("a message") { ada.texts == ["still here"] }
    }

    @Test func `what cannot be sent has its error`() async throws {
        let (ada, bob) = await pair()
        let (url, _) = try file(1)
        let refused: [(URL, String, MCPeerID, MCError.Code)] = [
            (URL(fileURLWithPath: scratch.file("missing")), "a", ada.id, .invalidParameter),
            (URL(fileURLWithPath: scratch.path), "a", ada.id, .invalidParameter),
            (url, "", ada.id, .invalidParameter),
            (url, "a", bob.id, .notConnected),
        ]
        for (url, name, peer, code) in refused {
            let outcome = Outcome()
            bob.session.sendResource(at: url, withName: name, toPeer: peer) { outcome.add($0) }
            await loop.eventually("refused \(code)") { outcome.all == [code] }
        }
        let web = try #require(URL(string: "http://127.0.0.1/picture"))
        let outcome = Outcome()
        #expect(bob.session.sendResource(at: web, withName: "a", toPeer: ada.id) { outcome.add($0) } == nil)
        await loop.eventually("unsupported") { outcome.all == [.unsupported] }
        #expect(ada.read { $0.resources.isEmpty })
    }

    @Test func `a file whose peer goes has an error at both ends`() async throws {
        let (ada, bob) = await pair()
        let url = URL(fileURLWithPath: scratch.file("big"))
        try Command.run(["truncate", "-s", "4G", url.path])
        let outcome = Outcome()
        bob.session.sendResource(at: url, withName: "big", toPeer: ada.id) { outcome.add($0) }
        await loop.eventually("begun") { !ada.read { $0.progresses.isEmpty } }
        ada.session.disconnect()
        await loop.eventually("ended", found: outcome.all) { outcome.all == [.notConnected] }
        await loop.eventually("told") { ada.read { $0.resources.map(\.error) } == [.notConnected] }
    }

    @Test func `a stream is read by polling`() async throws {
        let (ada, bob) = await pair()
        let output = try bob.session.startStream(withName: "sound", toPeer: ada.id)
        output.open()
        #expect(output.hasSpaceAvailable)
        await loop.eventually("a stream") { ada.read { $0.streams.count } == 1 }
        let received = try #require(ada.read { $0.streams.first })
        #expect(received.name == "sound")
        nonisolated(unsafe) let sink = output
        let sent = [UInt8](try noise(2_000_000))
        let writer = Thread {
            var offset = 0
            while offset < sent.count {
                let count = unsafe sent[offset...].withUnsafeBufferPointer { buffer in
                    unsafe buffer.baseAddress.map { unsafe sink.write($0, maxLength: buffer.count) } ?? -1
                }
                guard count > 0 else { return }
                offset += count
            }
            unsafe sink.close()
        }
        writer.start()
        let input = unsafe received.stream
        input.open()
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 30_000)
        await loop.eventually("all bytes", found: bytes.count) {
            while input.hasBytesAvailable {
                let count = unsafe input.read(&buffer, maxLength: buffer.count)
                bytes += buffer[..<max(count, 0)]
            }
            return input.streamStatus == .atEnd
        }
        #expect(bytes == sent)
        #expect(unsafe input.read(&buffer, maxLength: 1) == 0)
    }

    @Test func `a reader that closes its stream ends the writer's, and so does a peer that goes`() async throws {
        let (ada, bob) = await pair()
        for end in ["reader", "peer"] {
            let output = try bob.session.startStream(withName: end, toPeer: ada.id)
            output.open()
            await loop.eventually("a stream") { ada.read { $0.streams.last?.name } == end }
            let received = try #require(ada.read { $0.streams.last })
            unsafe received.stream.open()
            if end == "reader" { unsafe received.stream.close() } else { ada.session.disconnect() }
            await loop.eventually("ended") { output.streamStatus == .error }
            #expect(unsafe output.write([1], maxLength: 1) == -1)
            let code = (output.streamError as? MCError)?.code
            #expect(code == (end == "reader" ? .cancelled : .notConnected))
        }
        #expect(throws: MCError.self) { try bob.session.startStream(withName: "late", toPeer: ada.id) }
    }
}
