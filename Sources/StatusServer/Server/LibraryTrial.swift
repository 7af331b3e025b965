// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CMicrohttpdShims

/// What the loaded libmicrohttpd does not do as the server expects it.
struct LibraryDoubts: OptionSet, Sendable {
    let rawValue: UInt8

    /// The distances between the parts of a head do not show what lies between them, and are not looked at.
    static let distances = Self(rawValue: 1 << 0)
    /// What distances would show is not refused by the library either.
    static let hidden = Self(rawValue: 1 << 1)
    /// The log does not tell which requests the library refused, and they are not counted.
    static let refusals = Self(rawValue: 1 << 2)

    /// What is not checked, in one line; `nil` when nothing is missing.
    func sentence(version: String) -> String? {
        var missing: [String] = []
        if contains(.hidden) { missing.append("NUL bytes and folded fields in requests are not found") }
        if contains(.refusals) { missing.append("requests that it refuses are not counted") }
        return missing.isEmpty ? nil : "libmicrohttpd \(version) is not as expected: " + missing.joined(separator: ", ")
    }
}

/// Finds out whether the loaded libmicrohttpd holds requests as those versions do for which this was written.
///
/// The distances in its buffer and the texts of its log are no promise of the library.
enum LibraryTrial {
    /// What became of one request.
    struct Outcome: Equatable, Sendable {
        var isReached = false
        var fields = 0
        var hides = false
        var isRefused = false
        var logged = 0
        var answered = 0
    }

    /// Requests whose outcome is known beforehand.
    struct Requests<Value: Sendable>: Sendable {
        /// One in which nothing is hidden.
        var sound: Value
        /// Those in which the library may hide bytes.
        var hiding: [Value]
        /// One that no library takes.
        var malformed: Value
    }

    private static let soundFields = 5

    // Space around values is sound, and one of the things in which versions differ.
    private static let requests = Requests(
        sound: "GET /a?b=c HTTP/1.1\r\nHost: localhost\r\nEmpty:\r\nNarrow:a\r\nWide:  a b \r\nAccept: */*\r\n\r\n",
        hiding: [
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
            "GET / HTTP/1.1\r\nX: a\r\n b\r\nHost: localhost\r\n\r\n",
            "GET /\0a HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ],
        malformed: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n"
    )

    static var version: String { unsafe String(cString: nwp_http_version()) }

    /// The doubts about the loaded library, found out once.
    static let doubts = find()

    /// Makes the trial; without descriptors or memory for it there are no doubts, so that the guard stays as it is.
    static func find() -> LibraryDoubts {
        let hiding = requests.hiding.compactMap(outcome)
        guard hiding.count == requests.hiding.count, let sound = outcome(of: requests.sound),
            let malformed = outcome(of: requests.malformed)
        else { return [] }
        return judge(Requests(sound: sound, hiding: hiding, malformed: malformed))
    }

    static func judge(_ outcomes: Requests<Outcome>) -> LibraryDoubts {
        let sound = outcomes.sound
        let isPlain = sound.isReached && !sound.hides && sound.fields == soundFields
        var doubts: LibraryDoubts = []
        if !isPlain || !outcomes.hiding.allSatisfy({ $0.isRefused || ($0.isReached && $0.hides) }) {
            doubts.insert(.distances)
            if !outcomes.hiding.allSatisfy(\.isRefused) { doubts.insert(.hidden) }
        }
        let malformed = outcomes.malformed
        if malformed.logged < 400 || malformed.logged != malformed.answered { doubts.insert(.refusals) }
        return doubts
    }

    /// `nil` when it could not be tried.
    private static func outcome(of request: String) -> Outcome? {
        var found = nwp_http_outcome()
        guard unsafe nwp_http_try(request, request.utf8.count, &found) != 0 else { return nil }
        return Outcome(
            isReached: found.is_reached != 0,
            fields: Int(found.fields),
            hides: found.hides != 0,
            isRefused: found.is_refused != 0,
            logged: Int(found.logged),
            answered: Int(found.answered)
        )
    }
}
