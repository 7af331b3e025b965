// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import FuzzKit

@testable import StatusServer

/// Whatever the head of a request holds: it is refused with a status, or becomes one request that means one thing.
@main enum FuzzHTTP {
    static func main() {
        unsafe Fuzzer.run { start, count in
            FuzzHTTP.examine(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
            return 0
        }
    }

    private static let admission = HTTPAdmission(limits: RequestLimits(), hosts: HostPolicy(names: ["nw.example"]))
    private static let router = Router()
    private static let statuses: Set<Int> = [400, 413, 414, 421, 431, 505]

    private static func examine(_ bytes: [UInt8]) {
        for peer in [HTTPPeer.tcp, .unix(process: 1, user: 0, group: 0)] {
            switch admission.admit(RequestHead(reading: bytes), from: peer) {
            case .refused(let problem):
                require(statuses.contains(problem.status), "refused with \(problem.status)")
                require(!problem.rendered.isEmpty, "refused without a word")
            case .admitted(let request): check(request)
            }
        }
    }

    private static func check(_ request: HTTPRequest) {
        let target = "/" + request.path.map(escaped).joined(separator: "/")
        guard let again = RequestTarget(Array(target.utf8)) else { fatalError("cannot read the path it understood") }
        require(again.path == request.path || request.path == [""], "the path changed on the way")
        if case .found(_, let parameters) = router.match(method: request.method, path: request.path) {
            require(parameters.allSatisfy { !$0.isEmpty }, "an empty parameter")
        }
        _ = ContentNegotiation.choose(request.field("accept"), among: ["text/event-stream", "application/json"])
        for item in request.query {
            _ = EventCursor(item.value)
            _ = try? EventFilter(item.value).matches("path.changed")
        }
        let allowed = ["since", "until", "event", "limit", "wait"]
        guard let query = try? QueryParameters(request.query, allowed: allowed) else { return }
        _ = try? query.duration("wait", limit: .seconds(60))
        _ = try? query.integer("limit", in: 1...1000)
    }

    private static func escaped(_ segment: String) -> String {
        segment.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension RequestHead {
    /// Takes the text of a head apart as a careless reader does, so that the guard sees everything.
    fileprivate init(reading bytes: [UInt8]) {
        let lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
        let words = (lines.first ?? []).split(separator: 32, maxSplits: 2, omittingEmptySubsequences: false)
        let version = words.count > 2 ? words[2] : []
        self.init(
            method: Array(words.first ?? []),
            target: words.count > 1 ? Array(words[1]) : [],
            version: Array(version.last == 13 ? version.dropLast() : version),
            size: bytes.count
        )
        for line in lines.dropFirst() where line.count > 1 {
            let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
            let value = line[colon...].dropFirst().drop { $0 == 32 }
            fields.append(
                Field(
                    name: Array(line[..<colon]),
                    value: Array(value.last == 13 ? value.dropLast() : value),
                    trailing: value.last == 13 ? 2 : 1
                )
            )
        }
    }
}
