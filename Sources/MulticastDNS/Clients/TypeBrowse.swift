// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import DNSWire

/// A type of service that somebody on a link offers.
public struct ServiceTypeAnswer: Hashable, Sendable {
    /// The type, with its domain.
    public let name: DomainName
    /// The type, such as `_ipp._tcp`, safe to show.
    public let type: String
    /// The interface's name.
    public let interface: String
    /// The interface's index.
    public let interfaceIndex: Int
}

/// What happens to the types of a link.
public enum ServiceTypeEvent: Hashable, Sendable {
    /// Somebody offers it.
    case found(ServiceTypeAnswer)
    /// Nobody offers it any more.
    case lost(ServiceTypeAnswer, reason: RemovalReason)
}

/// Follows which types of service are offered, as long as it is held (RFC 6763 section 9).
///
/// Confined to the thread of its engine's loop, and to be let go there.
public final class TypeBrowse {
    private let follower: RecordFollower

    /// Starts to ask for types; what is known already is told within this call.
    /// - Parameters:
    ///   - engine: The engine, started or not.
    ///   - interface: The one interface to look on, by name; `nil` is all of them.
    ///   - onEvent: Called on the loop's thread whenever a type comes or goes.
    public init(_ engine: MulticastEngine, interface: String? = nil, onEvent: @escaping (ServiceTypeEvent) -> Void) {
        let key = RecordKey(ServiceName.enumeration, .ptr)
        follower = RecordFollower(engine, Wish(interface: interface, records: [key])) { event in
            switch event {
            case .added(let answer): ServiceTypeAnswer(answer).map { onEvent(.found($0)) }
            case .removed(let answer, let reason): ServiceTypeAnswer(answer).map { onEvent(.lost($0, reason: reason)) }
            }
        }
    }

    deinit { follower.cancel() }

    /// The types known now, sorted, each once per interface.
    public var types: [ServiceTypeAnswer] {
        follower.list.answers.compactMap { ServiceTypeAnswer($0) }.sorted {
            ($0.name, $0.interface) < ($1.name, $1.interface)
        }
    }

    /// Ends it: nothing is told any more, and nothing asked.
    public func cancel() { follower.cancel() }
}

extension ServiceTypeAnswer {
    /// Reads a record of the enumeration; only the first two labels count (rule D1).
    init?(_ answer: RecordAnswer) {
        guard case .pointer(let target) = answer.record.data,
            let name = try? target.prefix(2).appending(ServiceName.local), ServiceName.isType(name)
        else { return nil }
        self.init(
            name: name,
            type: name.prefix(2).description,
            interface: answer.interface,
            interfaceIndex: answer.interfaceIndex
        )
    }
}
