// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
import TestSupport
import Testing

@testable import MultipeerConnectivity
@testable import PeerEngine

@Suite struct PeerIDTests {
    private let scratch: Scratch
    private let store: KeyStore

    init() throws {
        scratch = try Scratch()
        store = KeyStore(directory: scratch.file("peers/multipeer"))
    }

    private func archive(_ peer: MCPeerID) throws -> Data {
        try KeyStore.$chosen.withValue(store) {
            try NSKeyedArchiver.archivedData(withRootObject: peer, requiringSecureCoding: true)
        }
    }

    private func unarchive(_ data: Data, from store: KeyStore? = nil) throws -> MCPeerID {
        try KeyStore.$chosen.withValue(store ?? self.store) {
            try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: MCPeerID.self, from: data))
        }
    }

    @Test func `two peers of one name are two`() {
        let (one, other) = (MCPeerID(displayName: "Ada"), MCPeerID(displayName: "Ada"))
        #expect(one != other)
        #expect(one == one.copy() as? MCPeerID)
        #expect(Set([one, other]).count == 2)
    }

    @Test func `an archived peer is the same one, and has its private key again`() throws {
        let peer = MCPeerID(displayName: "Ada ♥")
        let again = try unarchive(try archive(peer))
        #expect(again == peer)
        #expect(again.hash == peer.hash)
        #expect(again.displayName == "Ada ♥")
        #expect(again.localIdentity.seed == peer.localIdentity.seed)
        #expect(again.localIdentity.key == peer.key)
    }

    @Test func `an archive tells nobody the private key, which only this user can read`() throws {
        let peer = MCPeerID(displayName: "Ada")
        let data = try archive(peer)
        #expect(data.range(of: Data(peer.localIdentity.seed)) == nil)
        let directory = try #require(store.directory)
        let path = "\(directory)/\(peer.key).seed"
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(peer.localIdentity.seed))
        let access = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(access?.intValue == 0o600)
        let folder = try FileManager.default.attributesOfItem(atPath: directory)
        #expect((folder[.posixPermissions] as? NSNumber)?.intValue == 0o700)
        // Another user has the archive, and not the key.
        let remote = try unarchive(data, from: KeyStore(directory: directory + "-other"))
        #expect(remote == peer)
        #expect(remote.identity == nil)
    }

    @Test func `a key that cannot be kept is told, and the archive is another one's`() throws {
        let directory = try #require(store.directory)
        try Data().write(to: URL(fileURLWithPath: (directory as NSString).deletingLastPathComponent))
        let peer = MCPeerID(displayName: "Ada")
        let error = #expect(throws: MCError.self) {
            try KeyStore.$chosen.withValue(store) { try peer.linuxKeepPrivateKey() }
        }
        #expect(error?.code == .unavailable)
        #expect(error?.localizedDescription.contains(directory) == true)
        #expect(try unarchive(try archive(peer)).identity == nil)
    }

    @Test func `a key that others may know, or may have made, is none of ours`() throws {
        let peer = MCPeerID(displayName: "Ada")
        let data = try archive(peer)
        let directory = try #require(store.directory)
        let name = try #require(try FilePath.names(in: directory).first)
        #expect(try unarchive(data).identity != nil)
        try Command.run(["chmod", "644", "\(directory)/\(name)"])
        #expect(try unarchive(data).identity == nil)
        // Keeping it again makes it private.
        #expect(try unarchive(try archive(peer)).identity != nil)
        try Command.run(["chmod", "1777", directory])
        try Command.run(["mv", "\(directory)/\(name)", scratch.file("key")])
        try Command.run(["ln", "-s", scratch.file("key"), "\(directory)/\(name)"])
        #expect(try unarchive(data).identity == nil)
        try Command.run(["chmod", "755", directory])
        #expect(try unarchive(data).identity == nil)
    }

    @Test(arguments: [
        ("", false), ("A", true), (String(repeating: "x", count: 63), true), (String(repeating: "x", count: 64), false),
        (String(repeating: "é", count: 32), false), ("tab\there", false),
    ])
    func `a display name has 1 to 63 bytes`(name: String, isValid: Bool) {
        #expect((MCPeerID.linuxProblem(ofDisplayName: name) == nil) == isValid)
    }

    @Test(arguments: [
        ("chat", true), ("cm-p2ptest", true), ("a23456789012345", true), ("a234567890123456", false), ("", false),
        ("Chat", false), ("-chat", false), ("chat-", false), ("ch--at", false), ("123", false), ("ch_at", false),
        ("ch.at", false), ("chät", false),
    ])
    func `a service type is as RFC 6335 has it, in lower case`(type: String, isValid: Bool) {
        #expect((MCNearbyServiceBrowser.linuxProblem(ofServiceType: type) == nil) == isValid)
    }
}
