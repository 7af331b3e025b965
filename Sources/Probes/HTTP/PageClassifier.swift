// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Classifies an HTTP answer: right, wrong, or given by a captive portal in place of the server.
enum PageClassifier {
    /// What an answer means.
    ///
    /// Over plain HTTP any host on the path can answer. A redirect to another host, status 511 (RFC 6585 section 6), and
    /// any page where 204 alone is right are how a portal answers. A redirect to the same host is what a server does
    /// that wants encryption, and an encrypted answer cannot be forged: both are a wrong status only.
    /// - Parameters:
    ///   - answer: The answer.
    ///   - page: What was requested.
    ///   - expectation: Which statuses are right.
    /// - Returns: The verdict.
    static func outcome(
        of answer: PageAnswer,
        to page: PageAddress,
        expecting expectation: PageExpectation
    ) -> ProbeResult.Outcome {
        if expectation.statuses.contains(answer.status) { return .success }
        let redirect = answer.location.map { " to \($0)" } ?? ""
        if !page.isSecure {
            let isElsewhere = isRedirect(answer.status) && leadsElsewhere(answer.location, from: page)
            let isForged = expectation.statuses == [204] && answer.status == 200
            if answer.status == 511 || isElsewhere || isForged {
                return .failure(.captivePortal, detail: "answered with status \(answer.status)\(redirect)")
            }
        }
        let expected = expectation.statuses.map(String.init).joined(separator: " or ")
        return .failure(.status, detail: "status \(answer.status)\(redirect), expected \(expected)")
    }

    private static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// Whether a redirect leaves the host; one without a destination, or with one that cannot be read, does.
    private static func leadsElsewhere(_ location: String?, from page: PageAddress) -> Bool {
        guard let location else { return true }
        if location.hasPrefix("/") && !location.hasPrefix("//") { return false }
        let text = location.hasPrefix("//") ? "http:" + location : location
        guard let end = text.firstIndex(of: "#") ?? Optional(text.endIndex), let target = PageAddress(text[..<end])
        else {
            return true
        }
        return "\(target.host)".lowercased() != "\(page.host)".lowercased()
    }
}

/// Reads the head of an HTTP answer line by line (RFC 9112 section 4).
struct PageHead: Equatable {
    /// A redirect's destination longer than this is cut.
    private static let longest = 1024

    /// The status code; 0 before the first line.
    private(set) var status = 0
    /// Where a redirect leads, made safe to show.
    private(set) var location: String?

    /// The answer to a challenge, made safe to show.
    private(set) var response: String?
    /// The answer to the key of a WebSocket's handshake, made safe to show.
    private(set) var acceptance: String?
    /// The media type of the body, in small letters and without its parameters.
    private(set) var mediaType: String?
    /// The length of the body, where the head has it.
    private(set) var length: Int?
    /// Whether it offers HTTP/3 on UDP port 443 of the same host (`Alt-Svc`, RFC 7838).
    private(set) var offersQUIC = false
    /// Whether the final head ended; one of status 101 is final.
    private(set) var isComplete = false

    /// What is missing of an answer that has begun; `nil` of one that is whole or has not.
    var gap: String? {
        guard status != 0, !isComplete else { return nil }
        if (100..<200).contains(status), status != 101 {
            return "only an interim response (status \(status)) was received"
        }
        return "incomplete response header (status \(status))"
    }

    /// Reads one line with its end.
    mutating func append(_ line: [UInt8]) {
        if line.allSatisfy({ $0 == 13 || $0 == 10 }) {
            isComplete = status >= 200 || status == 101
            return
        }
        let text = String(decoding: line.prefix(Self.longest + 64), as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            // Interim answers (1xx) come before the final one.
            let words = text.split(separator: " ", maxSplits: 2)
            status = words.count > 1 ? Self.status(words[1].utf8.prefix(3)) : 0
            (location, response, acceptance, mediaType) = (nil, nil, nil, nil)
            (length, offersQUIC) = (nil, false)
            return
        }
        guard let colon = text.firstIndex(of: ":") else { return }
        let value = text[text.index(after: colon)...].unicodeScalars
        switch text[..<colon].lowercased() {
        case "location": location = Self.visible(value.filter { $0 != " " })
        case "x-nwpath-response":
            response = Self.visible(value.drop { $0 == " " }.filter { $0 != "\r" })
        case "sec-websocket-accept": acceptance = Self.visible(value.filter { $0 != " " && $0 != "\r" })
        case "content-length": length = Int(String(value.filter { (48...57).contains($0.value) }))
        case "alt-svc":
            let services = Self.visible(value.filter { $0 != " " }).split(separator: ",")
            offersQUIC = services.contains { $0.hasPrefix("h3=\":443\"") }
        case "content-type":
            mediaType = Self.visible(value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\r" }).lowercased()
        default: return
        }
    }

    /// Three digits (RFC 9110 section 15); 0 for anything else, such as a sign.
    private static func status(_ word: Substring.UTF8View.SubSequence) -> Int {
        guard word.count == 3, word.allSatisfy({ (48...57).contains($0) }) else { return 0 }
        return word.reduce(0) { $0 * 10 + Int($1 - 48) }
    }

    private static func visible(_ value: some Sequence<Unicode.Scalar>) -> String {
        var text = String.UnicodeScalarView()
        for scalar in value.prefix(longest) where (0x20..<0x7F).contains(scalar.value) { text.append(scalar) }
        return String(text)
    }
}
