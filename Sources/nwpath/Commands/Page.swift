// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import OrderedJSON

/// `nwpath page`: a link to the status page that may start tests.
struct Page: Command {
    static let specification = Specification<Page>(
        "page",
        "Prints a link to the status page that may start tests.",
        discussion: """
            The link can be used once, within a minute; the page may then start tests for an hour. Links are for root, \
            the service's own user and group through the unix socket, and for the token.
            """,
        examples: [CommandExample("nwpath page", "a link to open in a browser on this machine")],
        exits: ServiceExits.all + [ExitNote(.negative, "the service serves no page: it listens at unix sockets only")]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var connection = try ServiceConnection(common)
            let configuration = try connection.get("/api/v1/config").value
            guard let base = Self.address(in: configuration) else {
                throw CommandFailure("the service serves no page: it listens at unix sockets only", .negative)
            }
            let link = try connection.post("/api/v1/page/links") { error in
                guard case .refused = error else { return CommandFailure(error) }
                return CommandFailure("\(error)\nbecome root (`sudo nwpath page`), or give --token-file", .refused)
            }
            let url = "\(base)/#link=\(link.value.text("secret"))"
            guard common.isJSON else {
                Terminal.print(url)
                guard !common.isQuiet else { return .success }
                Terminal.explain("works once, within a minute; then the page may start tests for an hour")
                return .success
            }
            var object = JSONObject()
            object["schema"] = .string(DocumentSchema.name(of: "page"))
            object["url"] = .string(url)
            object["expires_seconds"] = link.value["expires_seconds"] ?? .null
            try Screen(common).print(.object(object))
            return .success
        }
    }

    /// Where the page is served, such as `http://127.0.0.1:8353`; loopback first.
    static func address(in configuration: JSONValue) -> String? {
        let all = configuration.texts("listen").filter { !$0.hasPrefix("unix:") && $0.contains(":") }
        guard let listen = all.first(where: { $0.hasPrefix("127.") || $0.hasPrefix("[::1]") }) ?? all.first else {
            return nil
        }
        let isEncrypted = configuration["tls_server_config"]?["cert_file"]?.string != nil
        let port = listen.split(separator: ":").last ?? ""
        let isWildcard = listen.hasPrefix("0.0.0.0:") || listen.hasPrefix("[::]:")
        return "\(isEncrypted ? "https" : "http")://\(isWildcard ? "localhost:\(port)" : listen)"
    }
}

// MARK: - Forms

extension Page {
    static var form: Form {
        .document("Page", "A link to the status page that may start tests.")
            .member("url", .text)
            .member("expires_seconds", .count, "How long the link is valid.")
    }
}
