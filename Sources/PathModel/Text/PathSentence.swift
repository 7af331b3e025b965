// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

public enum PathSentence {
    /// Such as `Path default is satisfied via eth0` or `Path default is unsatisfied: eth0 has no carrier`.
    public static func state(of path: Path, monitor: String) -> String {
        "Path \(monitor) \(verdict(path, adverb: ""))"
    }

    /// Such as `Path default moved from eth0 to wwan0 (expensive)`.
    public static func change(_ change: PathChange, monitor: String) -> String {
        let path = change.current
        guard let previous = change.previous else { return state(of: path, monitor: monitor) }
        if previous.status != path.status {
            let sentence = "Path \(monitor) \(verdict(path, adverb: ""))"
            guard path.status == .satisfied, let reason = previous.reason else { return sentence }
            return "\(sentence) (was: \(ReasonText(reason, previous.subject).clause))"
        }
        guard path.status == .satisfied else {
            let isForAnotherReason = previous.reason != path.reason || previous.subject != path.subject
            let phrases = isForAnotherReason ? [] : change.changed.compactMap { phrase($0, path, previous) }
            return "Path \(monitor) " + ([verdict(path, adverb: "still ")] + phrases).joined(separator: "; ")
        }
        if let old = previous.interfaces.first, let new = path.interfaces.first, old.index != new.index {
            let note = path.isExpensive ? " (expensive)" : previous.isExpensive ? " (no longer expensive)" : ""
            // An interface that was deleted and created again has another index.
            let verb = old.name == new.name ? "uses the new interface" : "moved from \(old.name) to"
            return "Path \(monitor) \(verb) \(new.name)\(note)"
        }
        let words = change.changed.compactMap { phrase($0, path, previous) }
        guard words.isEmpty else { return "Path \(monitor) \(words.joined(separator: ", "))" }
        let fields = change.changed.map { String($0.rawValue.map { $0 == "_" ? " " : $0 }) }.joined(separator: ", ")
        return "Path \(monitor) changed its \(fields)"
    }

    private static func verdict(_ path: Path, adverb: String) -> String {
        switch (path.status, path.reason) {
        case (.satisfied, _):
            let via = path.interfaces.first.map { " via \($0.name)" } ?? ""
            return "is \(adverb)satisfied\(via)\(path.isExpensive ? " (expensive)" : "")"
        case (let status, let reason):
            let word = status == .unsatisfied ? "is \(adverb)unsatisfied" : "\(adverb)requires a connection"
            guard let reason else { return word }
            return "\(word): \(ReasonText(reason, path.subject).clause)"
        }
    }

    private static func phrase(_ field: PathField, _ path: Path, _ previous: Path) -> String? {
        switch field {
        case .status, .unsatisfiedReason: nil
        case .interfaces:
            difference(path.interfaces.map(\.name), previous.interfaces.map(\.name), "interface")
                ?? types(path, previous)
        case .isExpensive: path.isExpensive ? "became expensive" : "is no longer expensive"
        case .isConstrained: path.isConstrained ? "became constrained" : "is no longer constrained"
        case .isUltraConstrained:
            path.isUltraConstrained ? "became ultra-constrained" : "is no longer ultra-constrained"
        case .supportsIPv4: path.supportsIPv4 ? "gained IPv4" : "lost IPv4"
        case .supportsIPv6: path.supportsIPv6 ? "gained IPv6" : "lost IPv6"
        case .supportsDNS: path.supportsDNS ? "gained DNS" : "lost DNS"
        case .gateways:
            difference(path.gateways.map(\.address), previous.gateways.map(\.address), "gateway")
                ?? answers(path, previous)
        case .sources: difference(sources(of: path), sources(of: previous), "source address")
        case .routes: routes(path, previous)
        case .dns: difference(path.dns.servers, previous.dns.servers, "name server")
        case .linkQuality: "has \(path.linkQuality.rawValue) link quality"
        case .underlyingTypes: "runs over \(path.underlyingTypes.map(\.rawValue).joined(separator: ", "))"
        case .warnings:
            path.warnings.isEmpty
                ? "no longer has warnings" : "has warnings: \(path.warnings.map(\.rawValue).joined(separator: ", "))"
        }
    }

    /// Such as `has no answer from gateway 192.0.2.1`; `nil` when none changed whether it answers.
    private static func answers(_ path: Path, _ previous: Path) -> String? {
        let phrases = path.gateways.compactMap { gateway -> String? in
            let old = previous.gateways.first { $0.address == gateway.address && $0.interface == gateway.interface }
            guard let old, old.isReachable != gateway.isReachable else { return nil }
            switch (old.isReachable, gateway.isReachable) {
            case (_, false?): return "has no answer from gateway \(gateway.address)"
            case (false?, _): return "has an answer from gateway \(gateway.address) again"
            case (_, true?): return "has an answer from gateway \(gateway.address)"
            case (_, nil): return "no longer tests gateway \(gateway.address)"
            }
        }
        return phrases.isEmpty ? nil : phrases.joined(separator: ", ")
    }

    /// Such as `bond0 is now of type wifi`; `nil` when no interface changed its type.
    private static func types(_ path: Path, _ previous: Path) -> String? {
        let changed = path.interfaces.filter { new in
            previous.interfaces.contains { $0.index == new.index && $0.type != new.type }
        }
        let phrases = changed.map { "uses \($0.name) as \($0.type.rawValue)" }
        return phrases.isEmpty ? nil : phrases.joined(separator: ", ")
    }

    private static func sources(of path: Path) -> [IPAddress] {
        (path.ipv4?.sources ?? []) + (path.ipv6?.sources ?? [])
    }

    /// Such as `uses gateway 192.0.2.99 instead of 192.0.2.1`; `nil` when only the order or details differ.
    private static func difference(
        _ now: [some CustomStringConvertible],
        _ before: [some CustomStringConvertible],
        _ noun: String
    ) -> String? {
        let (now, before) = (now.map(\.description), before.map(\.description))
        let gained = now.filter { !before.contains($0) }.joined(separator: ", ")
        let lost = before.filter { !now.contains($0) }.joined(separator: ", ")
        if gained.isEmpty { return lost.isEmpty ? nil : "lost \(noun) \(lost)" }
        return lost.isEmpty ? "gained \(noun) \(gained)" : "uses \(noun) \(gained) instead of \(lost)"
    }

    /// Such as `uses eth0 for IPv6`, for the families that have other interfaces than before.
    private static func routes(_ path: Path, _ previous: Path) -> String? {
        let families = [(path.ipv4, previous.ipv4, "IPv4"), (path.ipv6, previous.ipv6, "IPv6")]
        let phrases = families.compactMap { family, old, name -> String? in
            let names = family?.interfaces.map(\.name) ?? []
            guard !names.isEmpty, names != old?.interfaces.map(\.name) else { return nil }
            return "uses \(names.joined(separator: ", ")) for \(name)"
        }
        return phrases.isEmpty ? nil : phrases.joined(separator: ", ")
    }
}
