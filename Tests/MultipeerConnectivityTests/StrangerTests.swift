// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
import TestSupport
import Testing

@testable import MultipeerConnectivity

/// Who calls without being a peer, by programs that are none of ours.
@Suite(.inNamespace) struct StrangerTests {
    private let loop = Namespace.current.loop
    private let scratch: Scratch
    private let hosts: Hosts

    init() throws {
        hosts = try Hosts(3)
        scratch = try Scratch()
        let certificate = ["-subj", "/CN=x", "-keyout", scratch.file("key"), "-out", scratch.file("certificate")]
        try Command.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes"] + certificate)
    }

    private static let prelude = """
        import json, socket, ssl, struct, sys, time
        port, directory = int(sys.argv[1]), sys.argv[2]
        def tls(certificate=True, version=None, alpn="nwmc/1"):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            if certificate: context.load_cert_chain(directory + "/certificate", directory + "/key")
            if version: context.maximum_version = version
            if alpn: context.set_alpn_protocols([alpn])
            return context.wrap_socket(socket.create_connection(("10.55.0.1", port), 5))
        def frame(kind, payload, channel=0, flags=0):
            return struct.pack(">IBBH", len(payload), kind, flags, channel) + payload
        def read(stream):
            head = b""
            while len(head) < 8:
                piece = stream.recv(8 - len(head))
                if not piece: return None
                head += piece
            length, kind, flags, channel = struct.unpack(">IBBH", head)
            payload = b""
            while len(payload) < length: payload += stream.recv(length - len(payload))
            return kind, payload
        hello = frame(0, json.dumps({"version": 1, "name": "Eve", "port": 9}).encode())
        def refused(stream):
            while True:
                try: got = read(stream)
                except OSError: return "broken"
                if got is None: return "closed"
                if got[0] == 8: return json.loads(got[1])["reason"]
                if got[0] == 3: return "declined " + json.loads(got[1])["reason"]

        """

    /// Runs a script on the third host against a peer on the first.
    private func run(_ script: String, port: Int) throws -> String {
        let path = try scratch.write(Self.prelude + script, to: "script.py")
        let said = try hosts[2].run(["python3", path, "\(port)", scratch.path])
        return said.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private struct Place: Codable {
        var key: String
        var name: String
        var session: String
        var port: Int
        var addresses: [String]
    }

    private func place(of peer: TestPeer) async throws -> Place {
        try JSONDecoder().decode(Place.self, from: try await peer.session.nearbyConnectionData(forPeer: peer.id))
    }

    /// A peer that is advertised, and whether another one can still come into its session.
    private func ada() async -> TestPeer {
        let ada = await TestPeer.make("Ada", in: hosts[0])
        ada.advertiser.startAdvertisingPeer()
        return ada
    }

    private func expectEntrance(to ada: TestPeer) async {
        let bob = await TestPeer.make("Bob", in: hosts[1])
        bob.browser.startBrowsingForPeers()
        await loop.eventually("found") { bob.names == ["Ada"] }
        bob.invite("Ada")
        await loop.eventually("connected", found: bob.story) { bob.connected == ["Ada"] && ada.connected == ["Bob"] }
    }

    @Test(arguments: [
        ("no certificate", "print(refused(tls(certificate=False)))", ["broken", "closed"]),
        ("another protocol", "print(refused(tls(alpn='http/1.1')))", ["broken", "closed", "alert"]),
        ("no protocol", "print(refused(tls(alpn=None)))", ["impostor", "closed", "broken"]),
        ("an older version", "print(refused(tls(version=ssl.TLSVersion.TLSv1_2)))", ["broken", "alert"]),
        ("a length without end", "s = tls(); s.sendall(b'\\xff' * 8); print(refused(s))", ["closed", "broken"]),
        ("an unknown kind", "s = tls(); s.sendall(frame(99, b'')); print(refused(s))", ["closed", "broken"]),
        ("no hello", "s = tls(); s.sendall(frame(9, b'')); print(refused(s))", ["closed", "broken"]),
        ("a long hello", "s = tls(); s.sendall(frame(0, b' ' * 9000)); print(refused(s))", ["closed", "broken"]),
        ("two hellos", "s = tls(); s.sendall(hello + hello); print(refused(s))", ["closed", "broken"]),
        (
            "a message", "s = tls(); s.sendall(hello + frame(32, b'x', 1, 1)); print(refused(s))",
            ["closed", "broken"]
        ),
        (
            "a session that it guesses",
            "s = tls(); s.sendall(hello + frame(4, json.dumps({'session': '0' * 32, 'from': '1' * 32}).encode()))\n"
                + "print(refused(s))",
            ["declined unknown_session"]
        ),
        (
            "a service that is not there",
            "s = tls(); s.sendall(hello + frame(1, json.dumps({'service_type': 'x', 'session': '0' * 32, "
                + "'context_length': 0}).encode()))\nprint(refused(s))",
            ["declined unknown_service"]
        ),
    ])
    func `who is not understood is refused, and harms nobody`(
        what: String,
        script: String,
        answers: [String]
    ) async throws {
        let ada = await ada()
        let port = try await place(of: ada).port
        let guarded = "try:\n" + script.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n")
        let answer = try run(guarded + "\nexcept OSError as error: print('alert')\n", port: port)
        #expect(answers.contains(answer), "\(what): \(answer)")
        #expect(ada.states.isEmpty)
        #expect(ada.read { $0.contexts.isEmpty })
        await expectEntrance(to: ada)
    }

    @Test func `thousands that say nothing do not keep a peer out`() async throws {
        let ada = await ada()
        let port = try await place(of: ada).port
        let script = """
            import resource, select
            resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
            keep, closed = [], 0
            for number in range(2000):
                s = socket.socket(); s.settimeout(5)
                try: s.connect(("10.55.0.1", port))
                except OSError: closed += 1; continue
                keep.append(s)
                if len(keep) > 500: keep.pop(0).close(); closed += 1
            poll = select.poll()
            for s in keep: poll.register(s, select.POLLIN | select.POLLHUP)
            end = time.monotonic() + 30
            while len(keep) - len(poll.poll(100)) > 8 and time.monotonic() < end: time.sleep(0.1)
            print(len(keep), len(poll.poll(100)))
            sys.stdout.flush()
            time.sleep(1)
            """
        let answer = try run(script, port: port).split(separator: " ").compactMap { Int($0) }
        #expect(answer.count == 2)
        #expect((answer.first ?? 0) - (answer.last ?? 0) <= 8, "open \(answer)")
        await expectEntrance(to: ada)
        // Bob has gone, too.
        var open = ""
        try await loop.eventually("connections are let go", found: open) {
            open = try hosts[0].run("ss -Htn state established sport = :\(port)")
            return open.isEmpty
        }
    }

    @Test func `many invitations of one key are declined`() async throws {
        let ada = await ada()
        ada.setPolicy(nil)
        let port = try await place(of: ada).port
        let script = """
            invite = frame(1, json.dumps({"service_type": "chat", "session": "0" * 32, "context_length": 0}).encode())
            streams = [tls() for _ in range(8)]
            for s in streams: s.sendall(hello); read(s); s.sendall(invite); time.sleep(0.01)
            streams[-1].settimeout(10)
            print(refused(streams[-1]))
            """
        #expect(try run(script, port: port) == "declined too_many")
        #expect(ada.read { $0.contexts.count } == 5)
    }

    @Test func `who answers in the place of another peer is found out`() async throws {
        var peers: [(peer: TestPeer, place: Place)] = []
        for (name, host) in [("Ada", hosts[0]), ("Bob", hosts[1])] {
            let peer = await TestPeer.make(name, in: host)
            peers.append((peer, try await place(of: peer)))
        }
        let cyd = await TestPeer.make("Cyd", in: hosts[2])
        let other = try await place(of: cyd)
        // Of two the one with the greater key calls.
        peers.sort { $0.peer.id.key < $1.peer.id.key }
        var place = peers[0].place
        (place.port, place.addresses) = (other.port, other.addresses)
        let caller = peers[1].peer
        caller.session.connectPeer(peers[0].peer.id, withNearbyConnectionData: try JSONEncoder().encode(place))
        await loop.eventually("found out", found: caller.story) { caller.read { $0.reasons } == [.invalidParameter] }
        #expect(caller.connected.isEmpty && cyd.states.isEmpty)
    }
}
