// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Decides whether a request reaches the routes; pure.
struct HTTPAdmission {
    enum Verdict: Equatable {
        case admitted(HTTPRequest)
        case refused(Problem)
    }

    let limits: RequestLimits
    let hosts: HostPolicy

    /// Guards, decodes and checks the host.
    func admit(_ head: RequestHead, from peer: HTTPPeer) -> Verdict {
        do throws(RequestGuard.Rejection) {
            try RequestGuard(limits: limits).check(head)
        } catch {
            return .refused(Problem(status: error.status, detail: error.detail))
        }
        guard let target = RequestTarget(head.target) else {
            return .refused(Problem(status: 400, detail: "The request target is malformed."))
        }
        let fields = head.fields.map {
            HTTPField(String(decoding: $0.name, as: UTF8.self), String(decoding: $0.value, as: UTF8.self))
        }
        let host = target.authority ?? head.values(of: "host").first
        if !peer.isUnix, let host, !hosts.allows(host) {
            let detail = "The host '\(host)' is not allowed; add it to `hosts` in the configuration."
            return .refused(Problem(.hostNotAllowed, status: 421, detail: detail))
        }
        let method = String(decoding: head.method, as: UTF8.self)
        var request = HTTPRequest(
            method: method,
            path: target.path,
            query: target.query,
            fields: fields,
            peer: peer
        )
        request.isHTTP11 = head.version.last == UInt8(ascii: "1")
        return .admitted(request)
    }
}
