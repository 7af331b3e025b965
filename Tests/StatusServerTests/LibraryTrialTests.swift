// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@testable import StatusServer

@Suite struct LibraryTrialTests {
    private typealias Outcome = LibraryTrial.Outcome

    /// What libmicrohttpd 0.9.75 does.
    private static let expected = LibraryTrial.Requests(
        sound: Outcome(isReached: true, fields: 5),
        hiding: [Outcome](repeating: Outcome(isReached: true, fields: 2, hides: true), count: 3),
        malformed: Outcome(isRefused: true, logged: 400, answered: 400)
    )
    private static let refused = Outcome(isRefused: true, logged: 400, answered: 400)

    private func doubts(_ change: (inout LibraryTrial.Requests<Outcome>) -> Void) -> LibraryDoubts {
        var outcomes = Self.expected
        change(&outcomes)
        return LibraryTrial.judge(outcomes)
    }

    @Test func `a library that shows or refuses what is hidden is not doubted`() {
        #expect(doubts { _ in }.isEmpty)
        #expect(doubts { $0.hiding[1] = Self.refused }.isEmpty)
        #expect(doubts { $0.hiding = [Self.refused, Self.refused, Self.refused] }.isEmpty)
    }

    @Test(arguments: [
        LibraryTrial.Outcome(isReached: true, fields: 5, hides: true), LibraryTrial.Outcome(isReached: true, fields: 4),
        LibraryTrial.Outcome(isRefused: true, logged: 400, answered: 400), LibraryTrial.Outcome(),
    ])
    func `distances that are wrong in a sound request are not looked at`(sound: LibraryTrial.Outcome) {
        #expect(doubts { $0.sound = sound } == [.distances, .hidden])
        // Nothing is missing where the library refuses by itself what they would show.
        #expect(
            doubts {
                $0.sound = sound
                $0.hiding = [Self.refused, Self.refused, Self.refused]
            } == .distances
        )
    }

    @Test(arguments: 0..<3, [LibraryTrial.Outcome(isReached: true, fields: 2), LibraryTrial.Outcome()])
    func `distances that do not show what is hidden are not looked at`(place: Int, outcome: LibraryTrial.Outcome) {
        #expect(doubts { $0.hiding[place] = outcome } == [.distances, .hidden])
    }

    @Test(arguments: [
        LibraryTrial.Outcome(isRefused: true, answered: 400), LibraryTrial.Outcome(isRefused: true, logged: 400),
        LibraryTrial.Outcome(isRefused: true, logged: 500, answered: 400), LibraryTrial.Outcome(isReached: true),
        LibraryTrial.Outcome(isRefused: true, logged: 200, answered: 200),
    ])
    func `refusals are doubted where the log does not tell what was answered`(malformed: LibraryTrial.Outcome) {
        #expect(doubts { $0.malformed = malformed } == .refusals)
    }

    @Test(
        arguments: [
            ([], nil), (.distances, nil),
            ([.distances, .hidden], "NUL bytes and folded fields in requests are not found"),
            (.refusals, "requests that it refuses are not counted"),
            (
                [.distances, .hidden, .refusals],
                "NUL bytes and folded fields in requests are not found, requests that it refuses are not counted"
            ),
        ] as [(LibraryDoubts, String?)]
    )
    func `one line tells the version and what is missing`(doubts: LibraryDoubts, missing: String?) {
        #expect(doubts.sentence(version: "9.9") == missing.map { "libmicrohttpd 9.9 is not as expected: \($0)" })
    }

    @Test func `nothing is missing with the library that is loaded`() {
        #expect(LibraryTrial.find().sentence(version: LibraryTrial.version) == nil)
        #expect(LibraryTrial.version.split(separator: ".").count >= 3)
    }
}

@Suite(.inNamespace) struct LibraryDoubtsTests {
    @Test(arguments: ["X: a\0b\r\n", "X: a\r\n b\r\n", "X\0Y: b\r\n"])
    func `without distances a request is what the library gives`(fields: String) async throws {
        let fixture = try ServerFixture { $0.doubts = [.distances, .hidden] }
        let sound = try await fixture.get("/-/ready", fields: "Empty:\r\nX:  a\r\n")
        #expect(sound.status == 200)
        let hiding = try await fixture.get("/-/ready", fields: fields)
        #expect([200, 400].contains(hiding.status))
        #expect(!hiding.body.contains("folded"))
        let checked = try await fixture.get("/-/ready", fields: "X: a\u{1}b\r\n")
        #expect(checked.status == 400)
        let warning = try #require(fixture.server.warning)
        #expect(warning.contains("libmicrohttpd \(LibraryTrial.version) ") && warning.contains("NUL"))
    }

    @Test(arguments: [([], true), (.refusals, false)] as [(LibraryDoubts, Bool)])
    func `refusals of the library are counted unless they are doubted`(doubts: LibraryDoubts, counts: Bool) async throws
    {
        let fixture = try ServerFixture { $0.doubts = doubts }
        let refused = try await fixture.get("/-/ready", fields: "Content-Length: x\r\n")
        #expect(refused.status == 400)
        #expect(fixture.metrics.contains("nwpath_http_requests_total{handler=\"invalid\",") == counts)
        #expect((fixture.server.warning == nil) == counts)
    }
}
