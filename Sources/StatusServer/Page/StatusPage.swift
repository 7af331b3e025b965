// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CStatusPage
internal import EventHub

/// The status page at `/`: one document that holds its style and its script, and runs no other.
///
/// Its parts are the files of CStatusPage, compiled in. They are joined when the page is asked for the first time, so that
/// a daemon that nobody looks at does not hold it.
struct StatusPage {
    /// The document; its tag changes with every byte of it.
    let snapshot: Snapshot
    let fields: [HTTPField]

    /// Joins the parts.
    init() {
        var script = Squeezer.script.squeeze(unsafe nwp_page_script.text)
        script.replace("EVENT NAMES", with: Array(EventName.allCases.map(\.rawValue).joined(separator: " ").utf8))
        let style = Squeezer.style.squeeze(unsafe nwp_page_style.text)
        var page = Squeezer.markup.squeeze(unsafe nwp_page_markup.text)
        page.replace("<link rel=\"stylesheet\" href=\"page.css\">", with: Self.element("style", style))
        page.replace("<script src=\"page.js\"></script>", with: Self.element("script", script))
        snapshot = Snapshot(constant: page)
        fields = [
            HTTPField("Content-Type", "text/html; charset=utf-8"),
            HTTPField("Content-Security-Policy", Self.policy(script: script, style: style)),
            HTTPField("Referrer-Policy", "no-referrer"),
        ]
    }

    func response(to request: HTTPRequest) -> HTTPResponse {
        let caching = [HTTPField("ETag", snapshot.entityTag), HTTPField("Cache-Control", "no-cache")]
        guard !snapshot.matches(request.field("If-None-Match")) else { return .empty(status: 304, fields: caching) }
        return HTTPResponse(status: 200, fields: fields + caching, body: .bytes(snapshot.content))
    }

    private static func element(_ name: String, _ content: [UInt8]) -> [UInt8] {
        Array("<\(name)>".utf8) + content + Array("</\(name)>".utf8)
    }

    /// Nothing but this script, this style and this server (Content Security Policy level 3).
    private static func policy(script: [UInt8], style: [UInt8]) -> String {
        "default-src 'none'; script-src '\(source(script))'; style-src '\(source(style))'; connect-src 'self'; "
            + "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }

    private static func source(_ content: [UInt8]) -> String { "sha256-" + Base64.text(of: SHA256.digest(of: content)) }
}

extension nwp_page_part {
    fileprivate var text: [UInt8] { unsafe Array(UnsafeBufferPointer(start: bytes, count: count)) }
}

extension [UInt8] {
    /// Puts `content` in the place of the first `marker`, when there is one.
    fileprivate mutating func replace(_ marker: String, with content: [UInt8]) {
        let marker = Array(marker.utf8)
        guard count >= marker.count,
            let start = (0...count - marker.count).first(where: { self[$0...].starts(with: marker) })
        else { return }
        replaceSubrange(start..<start + marker.count, with: content)
    }
}
