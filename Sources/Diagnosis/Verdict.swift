// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// One fault: a code for machines, a sentence for people, and what to do.
public struct Verdict: Hashable, Sendable {
    public var code: VerdictCode
    public var severity: Severity
    public var confidence: Confidence
    /// The family it is about; `nil` for both or neither.
    public var family: AddressFamily?
    /// The interface, address or name it is about, which distinguishes it from others of its code.
    public var subject: String?
    /// What, where, the measured value, and what still works; one sentence without a full stop.
    public var say: String
    public var action: String
    /// What was measured, as name and value, in the order in which it convinces.
    public var evidence: [Fact]
    /// Where the element lies that has to be mended, where the evidence says more than the code.
    package var domain: FaultDomain?
    /// Whether it is about some hosts or ports only, so that it explains nothing of others.
    package var isPartial = false
    /// The share of packets, or of flows, that are lost because of it.
    package var lostShare: Double?
    /// How many flows were tried without an answer; `nil` where it rests on answers.
    package var unanswered: Int?

    /// A measured value under its name.
    public struct Fact: Hashable, Sendable {
        /// Such as `carrier_changes`.
        public let name: String
        /// Such as `3`.
        public let value: String

        /// Makes a fact; the value is shown as it describes itself.
        public init(_ name: String, _ value: some CustomStringConvertible) {
            self.name = name
            self.value = value.description
        }
    }

    /// What to do where this machine lacks something, by the clause that says what, such as
    /// `no local port is left (EADDRNOTAVAIL)`.
    public static func action(onShortage clause: String) -> String {
        if clause.hasPrefix("no local port") {
            return "`ss -s` counts connections, `sysctl net.ipv4.ip_local_port_range` shows the ports; "
                + "restart what uses them"
        }
        // RLIMIT_NOFILE of this process (EMFILE), and the limit of all processes (ENFILE).
        if clause.hasPrefix("no file descriptor of this process") {
            return "raise the limit of open files: LimitNOFILE= with `systemctl edit nwpath` for the service, "
                + "`ulimit -n` for what a shell starts"
        }
        if clause.hasPrefix("no file descriptor of this machine") {
            return "`sysctl fs.file-nr` shows the open files and their limit; raise it with "
                + "`sysctl -w fs.file-max=NUMBER`, or restart what uses them"
        }
        if clause.hasPrefix("no thread") {
            return "raise the limit of threads: TasksMax= with `systemctl edit nwpath` for the service, "
                + "`ulimit -u` for what a shell starts"
        }
        return "`free -m` shows the memory; restart what uses it"
    }

    public init(
        _ code: VerdictCode,
        _ severity: Severity,
        _ confidence: Confidence = .certain,
        family: AddressFamily? = nil,
        about subject: (some CustomStringConvertible)? = String?.none,
        say: String,
        action: String,
        evidence: [Fact] = [],
        domain: FaultDomain? = nil
    ) {
        self.code = code
        self.severity = severity
        self.confidence = confidence
        self.family = family
        self.subject = subject?.description
        self.say = say
        self.action = action
        self.evidence = evidence
        self.domain = domain
    }
}
