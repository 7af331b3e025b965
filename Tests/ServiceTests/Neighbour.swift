// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// A machine on the other end of a link that offers services; this end is `up0` with 192.0.2.2 unless it is named.
final class Neighbour {
    /// What it says it offers.
    struct Offer {
        var name: [UInt8]
        var type: String
        var host = Array("lamp".utf8)
        var port = 9100
        var text: [[UInt8]] = []
        var addresses = ["192.0.2.1"]

        init(_ name: String, _ type: String) {
            self.name = Array(name.utf8)
            self.type = type
        }

        init(bytes: [UInt8], _ type: String) {
            name = bytes
            self.type = type
        }

        func with(_ change: (inout Offer) -> Void) -> Offer {
            var offer = self
            change(&offer)
            return offer
        }

        fileprivate var json: JSONValue {
            var object = JSONObject()
            object["name"] = .string(name.hexadecimal)
            object["type"] = .string(type)
            object["host"] = .string(host.hexadecimal)
            object["port"] = .integer(Int64(port))
            object["txt"] = .array(text.map { .string($0.hexadecimal) })
            object["addresses"] = .array(addresses.map { .string($0) })
            return .object(object)
        }
    }

    let namespace: Namespace
    private var announcer: RunningCommand?

    /// Makes the link and waits until both ends may send.
    init(
        link: String = "up0",
        addresses: (here: String, there: String) = ("192.0.2.2/24", "192.0.2.1/24")
    ) throws {
        namespace = try Namespace()
        try Namespace.current.connect(link, to: namespace, as: "peer0")
        try Namespace.current.ipBatch([
            "addr add \(addresses.here) dev \(link)", "addr add fe80::2/64 dev \(link) nodad",
        ])
        try namespace.ipBatch(["addr add \(addresses.there) dev peer0", "addr add fe80::1/64 dev peer0 nodad"])
    }

    /// Runs a program on the other end.
    func run(_ arguments: [String], captures: Bool = false) throws -> RunningCommand {
        try RunningCommand(["nsenter", "--net=\(namespace.path)"] + arguments, captures: captures)
    }

    /// Offers these services, and no longer what was offered before, of which it says nothing.
    ///
    /// They have been announced once when it returns.
    func offer(_ offers: [Offer], in scratch: Scratch) throws {
        let text = try OrderedJSONEncoder().string(JSONValue.array(offers.map(\.json)))
        try scratch.write(text, to: "offers.json")
        let announced = scratch.file("announced")
        unsafe unlink(announced)
        let words = "\(Place.fixtures)/announce.py peer0 \(announced) < \(scratch.file("offers.json"))"
        announcer = try run(["sh", "-c", "exec python3 " + words])
        try namespace.wait(for: "the first announcement") { scratch.exists("announced") }
    }

    /// Says goodbye.
    func leave() {
        announcer?.signal(SIGTERM)
        _ = announcer?.wait()
        announcer = nil
    }

    /// Falls silent, as a crash does.
    func fallSilent() { announcer = nil }
}

extension [UInt8] {
    /// Two digits a byte.
    var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

extension String {
    /// The text as a path segment or query value.
    var percentEncoded: String {
        utf8.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F, 0x7E: String(UnicodeScalar(byte))
            default: "%" + [byte].hexadecimal
            }
        }.joined()
    }
}
