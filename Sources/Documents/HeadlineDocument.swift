// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Diagnosis
public import LinuxIO
public import OrderedJSON

/// The machine's connection in one word and one sentence.
public struct HeadlineDocument: MemberDeclaring, Equatable, Sendable {
    public var state: String
    public var message: String
    public var hint: String?
    public var cause: String?
    public var since: String?

    public static let members = Members<Self>
        .named("Headline", "The connection as a whole: what the kernel would do, and what answered.")
        .member("state", as: .oneOf(Headline.State.self)) { $0.state }
        .member("message", "The cause, one sentence for people.") { $0.message }
        .member("hint", "What to do; `null` when nothing needs to be done.") { $0.hint }
        .member(
            "cause",
            "The reason of the path, the code of a verdict, `tests`, `portal` or `no_name_server`; `null` when nothing "
                + "is known to be wrong."
        ) { $0.cause }
        .served("since", as: .time, "Since when the state stands: the first test that failed, or answered again.") {
            $0.since
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
public struct FamilyChainDocument: MemberDeclaring, Equatable, Sendable {
    let chain: FamilyChain

    public static let members = Members<Self>.named("FamilyChain", "The path of one family's packets.")
        .member("family", as: .family) { $0.chain.family.rawValue }
        .member("chain") { $0.chain.chain.map(ChainElementDocument.init) }
}

/// One element of the path.
public struct ChainElementDocument: MemberDeclaring, Equatable, Sendable {
    let element: ChainElement

    public init(_ element: ChainElement) { self.element = element }

    public static let members = Members<Self>.named("ChainElement", "One element of the path.")
        .member("element", as: .oneOf(ChainElement.Kind.self)) { $0.element.kind.rawValue }
        .member("name", "The host's name, the interface's, or an address; `null` where there is none.") {
            $0.element.name
        }
        .member("condition", as: .oneOf(ChainElement.Condition.self)) { $0.element.condition.rawValue }
        .member("round_trip_seconds", as: .seconds, "How long its last answer took; `null` if not measured.") {
            $0.element.roundTrip.map(Microseconds.round)
        }
}
