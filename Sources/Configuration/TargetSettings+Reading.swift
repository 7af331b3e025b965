// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Diagnosis
internal import Probes

extension TargetSettings {
    /// Reads a file of targets, which has the keys of the `diagnosis` section; JSON is read as the YAML it is.
    /// - Throws: ``ConfigurationError`` with everything that is wrong, each with its origin.
    public static func load(_ path: String) throws(ConfigurationError) -> TargetSettings {
        var findings = Findings()
        var settings = TargetSettings()
        let source = try ConfigurationFiles.source(path)
        if let root = YAMLDocument.read(source.bytes, file: source.name, into: &findings) {
            SectionReader.read(root, into: &settings, path: "", &findings)
        }
        for conflict in settings.conflicts { findings.reportConflict(at: conflict.key, conflict.sentence) }
        guard findings.problems.isEmpty else { throw ConfigurationError(problems: findings.problems) }
        return settings
    }

    /// Whether no target is configured.
    public var isEmpty: Bool { self == TargetSettings() }

    /// Where the targets come from: `configuration` or `public defaults`.
    public var origin: String { anchors.isEmpty ? "public defaults" : "configuration" }

    /// The targets, with well-known public hosts where none are named.
    public var effectiveTargets: Targets {
        var targets = targets
        guard anchors.isEmpty else { return targets }
        let others = Targets.publicDefaults
        targets.anchors = others.anchors
        targets.answersChallenge = others.answersChallenge
        if targets.names.nonexistentZone == nil { targets.names.nonexistentZone = others.names.nonexistentZone }
        return targets
    }

    /// The targets of the service where none is requested, and how often it makes one while nothing fails.
    ///
    /// Without anchors it stays with this machine's own gateways and name servers, unless well-known public hosts are
    /// tested anyhow.
    /// - Returns: `nil` when the service makes none by itself.
    public func automaticExamination(_ check: ConnectivitySettings.Check) -> (targets: Targets, interval: Duration?)? {
        guard isEnabled else { return nil }
        guard anchors.isEmpty else { return (targets, interval == .zero ? nil : interval) }
        switch check {
        case .off: return nil
        case .public: return (effectiveTargets, nil)
        case .local:
            var targets = targets
            targets.names.queriesRoot = true
            return (targets, nil)
        }
    }

    /// What is wrong although every value is right alone: the key concerned, and a sentence.
    var conflicts: [(key: String, sentence: String)] {
        var found: [(key: String, sentence: String)] = []
        for (index, anchor) in anchors.enumerated() {
            if anchor.name.isEmpty {
                found.append(("anchors[\(index)]", "needs a name"))
            } else if anchors[..<index].contains(where: { $0.name == anchor.name }) {
                found.append(("anchors[\(index)].name", "names \(anchor.name) twice"))
            }
            if anchor.host == nil && anchor.ipv4 == nil && anchor.ipv6 == nil {
                found.append(("anchors[\(index)]", "needs host, addr4 or addr6"))
            }
        }
        return found
    }

    public var targets: Targets {
        var targets = Targets()
        targets.anchors = anchors.map { Targets.Anchor($0.name, host: $0.host, ipv4: $0.ipv4, ipv6: $0.ipv6) }
        targets.path = path
        targets.httpPort = UInt16(clamping: httpPort)
        targets.httpsPort = UInt16(clamping: httpsPort)
        targets.echoPort = echoPort.map { UInt16(clamping: $0) }
        targets.names.wildcard = names.wildcard
        targets.names.wildcardAddress = names.wildcardAddress
        targets.names.nonexistentZone = names.nonexistentZone
        targets.names.bigText = names.bigText
        targets.timeServers = timeServers
        targets.authorities = authorities
        targets.peers = peers
        targets.load.download = load.download
        targets.load.upload = load.upload
        targets.load.small = load.small
        targets.load.maximumBytes = load.maximumBytes
        targets.load.maximumDuration = .seconds(load.maximumSeconds)
        targets.budgets.roundTrip = .milliseconds(budgets.roundTrip.value)
        targets.budgets.jitter = .milliseconds(budgets.jitter.value)
        targets.budgets.loss = budgets.loss.value
        targets.budgets.down = budgets.down?.value
        targets.budgets.up = budgets.up?.value
        targets.budgets.roundTripsPerMinute = budgets.roundTripsPerMinute
        return targets
    }
}

extension ValueForm where Value == IPAddress {
    /// The address of a host, of one family or of any.
    static func host(_ family: AddressFamily?) -> ValueForm {
        let name = family.map { $0 == .ipv4 ? "an IPv4 address" : "an IPv6 address" } ?? "an address"
        return ValueForm(
            scalar: "\(name) of a host",
            schema: ["type": "string", "minLength": 2, "maxLength": 45],
            parse: { (text) throws(Refusal) in
                guard let address = IPAddress(text), family.map({ $0 == address.family }) ?? true,
                    !address.isUnspecified, !address.isMulticast
                else { throw .malformed }
                return address
            },
            write: { .text($0.description) }
        )
    }
}

extension ValueForm where Value == String {
    static let pagePath = ValueForm(
        scalar: "the path of a page such as /generate_204",
        schema: ["type": "string", "pattern": "^/", "maxLength": 1024],
        parse: { (text) throws(Refusal) in
            guard text.hasPrefix("/"), text.utf8.count <= 1024, PageAddress("http://h\(text)") != nil else {
                throw .malformed
            }
            return text
        },
        write: { .text($0) }
    )

    static let page = ValueForm(
        scalar: "a URL such as https://a.example.test/large",
        schema: ["type": "string", "pattern": "^https?://", "maxLength": 2048],
        parse: { (text) throws(Refusal) in
            guard PageAddress(text) != nil else { throw .malformed }
            return text
        },
        write: { .text($0) }
    )
}
