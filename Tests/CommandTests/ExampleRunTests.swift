// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import nwpath

/// What help, nwpath(1) and the documents tell people to type does what they say, run by a shell as it stands there.
@Suite(.inNamespace) struct ExampleRunTests {
    /// Those that go on until Ctrl-C.
    private static let endless: Set = [
        "nwpath advertise 'My Web' _http._tcp 8080 path=/start",
        "nwpath advertise Exporter _prometheus-http._tcp 9100 path=/metrics",
        "nwpath advertise Scanner _uscan._tcp 80 --host scanner --address 192.0.2.7 --subtype _eSCL",
        "nwpath browse", "nwpath browse _ipp._tcp", "nwpath probe http://example.test/ -i 5s -c 0",
        "nwpath resolve printer --watch",
        "nwpath services --name 'Office*' --watch --json", "nwpath traffic --watch",
        "nwpath watch", "nwpath watch --json",
        "nwpath watch --json --event 'path.*'",
    ]

    /// Those that make the daemon itself: the first one serves the others.
    private static let daemons = ["nwpath serve", "nwpath serve --listen 127.0.0.1:8353 --log-file -"]

    /// Those that do not end with success, by what they say on this network.
    private static let statuses: [String: (status: Int32, says: String)] = [
        // Five at least, or it would warn; another example may advertise one meanwhile.
        "nwpath check path --warn-expensive -w 5: -c 1:": (0, "services="),
        "nwpath check diagnosis": (0, "no problems found"),
        // There is no terminal to agree at.
        "nwpath setup --public": (1, "nothing was written; use --yes"),
    ]

    /// Each line once, without a comment.
    private static func examples() throws -> [String] {
        let help = (NWPath.program.commands.flatMap(\.examples) + NWPath.program.examples).map(\.line)
        let documents = try ["diagnosis", "probes", "trace"].flatMap { document in
            try Command.run(["cat", "\(ManualPage.root)/docs/\(document).md"]).split(separator: "\n").map(String.init)
                .filter { $0.hasPrefix("nwpath ") }
        }
        let plain = documents.map { line in
            let code = line.prefix { $0 != "#" }
            return String(code.dropLast(code.reversed().prefix { $0 == " " }.count))
        }
        return Set(help + (try ManualPage("nwpath.1").examples) + plain).sorted()
    }

    @Test func `every example runs as it is written`() async throws {
        let all = try Self.examples()
        #expect(all.count > 70)
        #expect(Self.endless.union(Self.daemons).union(Self.statuses.keys).subtracting(all) == [])

        let world = try await ExampleWorld()
        let checked = try await world.run("nwpath config check")
        try #require(checked.status == 0, "\(checked)")
        let daemon = try world.begin(Self.daemons[0], isEndless: true)
        for (type, name) in ExampleWorld.services {
            let found = try await world.run("until nwpath wait 'service=\(type)/\(name)'; do sleep 0.1; done")
            #expect(found.status == 0, "\(found.messages)\n\(world.multicastPeer?.printed ?? "")")
        }
        try await world.layOutFiles()

        // The service examines the network when something fails; here by request.
        let examined = try await world.run(
            "curl -sS -X POST http://127.0.0.1:8353/api/v1/diagnosis; until nwpath check diagnosis; do sleep 0.1; done"
        )
        #expect(examined.status == 0, "\(examined)")
        let others = all.filter { !Self.daemons.contains($0) }
        let isMeasuring = { (line: String) in line.hasPrefix("nwpath diagnose") || line.contains("check daemon") }
        try await check(others.filter { !isMeasuring($0) }, in: world)
        // One after the other: what others do to the machine is slowness to them.
        for line in others.filter(isMeasuring) { try await check([line], in: world) }

        let first = await world.end(daemon)
        #expect(first.status == 0, "\(first)")
        let second = await world.end(try world.begin(Self.daemons[1], isEndless: true))
        #expect(second.status == 0 && second.output.contains("\"event\":\"log.opened\""), "\(second)")
    }

    private func check(_ lines: [String], in world: ExampleWorld) async throws {
        // All at once.
        let runs = try lines.map { try world.begin($0, isEndless: Self.endless.contains($0)) }
        for run in runs {
            let line = run.line
            let result = await world.end(run)
            let expected = Self.statuses[line] ?? (run.isEndless ? 130 : 0, "")
            #expect(result.status == expected.status, "\(line): \(result)")
            #expect(expected.says.isEmpty || (result.output + result.messages).contains(expected.says), "\(result)")
            if let file = line.split(separator: ">").dropFirst().first {
                #expect(try await world.run("test -s \(file)").status == 0, "\(line)")
            } else if !line.hasPrefix("nwpath wait") && !line.contains(" --write ") && !line.hasSuffix(" -q") {
                #expect(!(result.output + result.messages).isEmpty, "\(line)")
            }
        }
    }
}
