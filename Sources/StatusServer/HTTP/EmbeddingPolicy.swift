// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Whether a request comes from a page that may use its answer, by what the browser says of it (Fetch Metadata).
///
/// A page of another site cannot read what it embeds, but learns whether it came, when, and how large a picture is.
/// Programs send none of these fields.
enum EmbeddingPolicy {
    /// Whether the request is of a program, of this server's own page, or of a person who opens the address.
    static func allows(_ request: HTTPRequest) -> Bool {
        guard let site = request.field("Sec-Fetch-Site"), site != "same-origin", site != "none" else { return true }
        // A frame navigates as well.
        let destination = request.field("Sec-Fetch-Dest") ?? "document"
        return request.field("Sec-Fetch-Mode") == "navigate" && destination == "document"
    }
}
