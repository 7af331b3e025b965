// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Judgement
public import LinuxIO
public import OrderedJSON

/// The machine's connection in one word and one sentence.
public struct HeadlineDocument: JSONObjectWritable, Equatable, Sendable {
    /// The raw value of a ``Headline/State``.
    public var state: String
    public var message: String
    public var hint: String?
    public var cause: String?
    public var since: String?

    public func write(to object: inout JSONObjectWriter) {
        object.write("state", state)
        object.write("message", message)
        object.write("hint", hint)
        object.write("cause", cause)
        object.writeIfPresent("since", since)
    }

    public init(_ headline: Headline, since: WallTime?) {
        state = headline.state.rawValue
        message = headline.message
        hint = headline.hint
        cause = headline.cause?.code
        self.since = since?.description
    }
}

/// The path of one family's packets.
public struct FamilyChainDocument: JSONObjectWritable, Equatable, Sendable {
    /// `ipv4` or `ipv6`.
    public var family: String
    public var chain: [ChainElementDocument]

    public func write(to object: inout JSONObjectWriter) {
        object.write("family", family)
        object.write("chain", chain)
    }

    public init(_ chain: FamilyChain) {
        family = chain.family.rawValue
        self.chain = chain.chain.map(ChainElementDocument.init)
    }
}

/// One element of the path.
public struct ChainElementDocument: JSONObjectWritable, Equatable, Sendable {
    /// `host`, `interface`, `gateway`, `internet` or `dns`.
    public var element: String
    public var name: String?
    /// `good`, `degraded`, `broken`, `not_reached` or `not_asked`.
    public var condition: String
    public var roundTripSeconds: Double?

    public func write(to object: inout JSONObjectWriter) {
        object.write("element", element)
        object.write("name", name)
        object.write("condition", condition)
        object.write("round_trip_seconds", roundTripSeconds)
    }

    public init(_ element: ChainElement) {
        self.element = element.kind.rawValue
        name = element.name
        condition = element.condition.rawValue
        roundTripSeconds = element.roundTrip.map(Microseconds.round)
    }
}

extension HeadlineDocument {
    public static var form: Form {
        .named("Headline", "The connection as a whole: what the kernel would do, and what answered.")
            .member("state", .oneOf(Headline.State.self))
            .member("message", .text, "The cause, one sentence for people.")
            .member("hint", .text.orNull, "What to do; `null` when nothing needs to be done.")
            .member(
                "cause",
                .text.orNull,
                "The reason of the path, the code of a verdict, `tests`, `portal` or `no_name_server`; `null` when nothing "
                    + "is known to be wrong."
            )
            .served("since", .time, "Since when the state stands: the first test that failed, or answered again.")
    }
}

extension FamilyChainDocument {
    public static var form: Form {
        .named("FamilyChain", "The path of one family's packets.")
            .member("family", .family)
            .member("chain", .list(of: ChainElementDocument.form))
    }
}

extension ChainElementDocument {
    public static var form: Form {
        .named("ChainElement", "One element of the path.")
            .member("element", .oneOf(ChainElement.Kind.self))
            .member(
                "name",
                .text.orNull,
                "The host's name, the interface's, or an address; `null` where there is none."
            )
            .member("condition", .oneOf(ChainElement.Condition.self))
            .member("round_trip_seconds", .seconds.orNull, "How long its last answer took; `null` if not measured.")
    }
}
