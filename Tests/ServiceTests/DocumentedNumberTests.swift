// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Diagnosis
import EventHub
import EventLog
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Configuration
@testable import MulticastDNS
@testable import Netlink
@testable import PathEngine
@testable import PathService
@testable import Probes
@testable import StatusServer

/// What documents state of numbers and lists that the code has; each sentence is built from the code's own values.
@Suite struct DocumentedNumberTests {
    private static func seconds(_ duration: Duration) -> Int { Int(duration.components.seconds) }
    private static func milliseconds(_ duration: Duration) -> Int { Int((duration / .milliseconds(1)).rounded()) }
    private static func minutes(_ duration: Duration) -> Int { seconds(duration) / 60 }
    private static func mebibytes(_ bytes: Int) -> Int { bytes >> 20 }
    private static func kibibytes(_ bytes: Int) -> Int { bytes >> 10 }

    /// Such as `20,000`.
    private static func grouped(_ number: Int) -> String {
        let rest = "\(1000 + number % 1000)".dropFirst()
        return number < 1000 ? "\(number)" : "\(number / 1000),\(rest)"
    }

    /// The words of a document, so that lines may break anywhere.
    private static func text(of document: String) throws -> String {
        try Command.run(["cat", "\(Place.root)/docs/\(document)"]).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
    }

    private static func expect(_ sentences: [String], in document: String) throws {
        let text = try text(of: document)
        for sentence in sentences { #expect(text.contains(sentence), "\(document): \(sentence)") }
    }

    @Test func `api.md has the limits of the API`() throws {
        let limits = StatusLimits()
        let lengths = ProtectionFiles.tokenLengths
        let sentences: [String] = [
            "`?wait=30s` (at most \(Self.seconds(limits.longestWait)) s)",
            "a comment every \(Self.seconds(limits.pingInterval)) s",
            "Every \(Self.seconds(limits.pingInterval)) s comes a ping",
            "more than \(Self.grouped(limits.stream.chunks)) events or \(Self.mebibytes(limits.stream.bytes)) MiB behind",
            "there are at most \(Self.grouped(StepGrid.greatestCount)).",
            "more than \(PasswordQueue.capacity) wait the answer is 503",
            "\(lengths.lowerBound) to \(lengths.upperBound) characters",
            "the history of up to \(ServiceHistory.capacity) services",
        ]
        try Self.expect(sentences, in: "api.md")
    }

    @Test func `events.md has the limits of events and logs`() throws {
        let sentences: [String] = [
            "the first \(ServicesMoved.longest) `names`",
            "the service did not run for \(Self.seconds(StallDetector.threshold)) s or more",
            "stepped by \(Self.milliseconds(CalendarStep.threshold)) ms or more",
            "longer than \(LogVerifier.shortestOpening) bytes",
            "at most once in \(Self.seconds(Pulse.interval)) s:",
        ]
        try Self.expect(sentences, in: "events.md")
    }

    @Test func `path.md has the limits of filter, audits and debounce`() throws {
        let audits = AuditSchedule()
        let debounce = DebounceState()
        let sentences: [String] = [
            "longer than /\(NotificationFilter.longestIPv4Prefix) (IPv4) or /\(NotificationFilter.longestIPv6Prefix) (IPv6)",
            "An audit every \(Self.seconds(audits.interval)) s (every \(Self.seconds(audits.lossInterval)) s while",
            "after \(Self.milliseconds(debounce.quiet)) ms of quiet, at the latest after \(Self.seconds(debounce.cap)) s",
            "more than \(Self.grouped(KernelTable.mostDestinations)) destinations",
            "the first \(Self.grouped(KernelTable.most)) of each family count",
            "for \(Self.grouped(KernelTable.auditsUntilRetry)) audits (a day)",
            "the first \(Self.grouped(TunPrograms.most)) descriptors",
        ]
        try Self.expect(sentences, in: "path.md")
    }

    @Test func `probes.md and metrics.md have the limits of probes`() throws {
        let settings = ActiveProbeSettings()
        let sentences: [String] = [
            "| `interval`, `timeout` | `\(Self.seconds(settings.interval))s`, ",
            "| `threshold` | `\(settings.threshold)` |",
            "at most \(Self.kibibytes(PageExchange.longestBody)) KiB of a page",
            "There are at most \(Self.grouped(StepGrid.greatestCount)).",
            "then at most every \(Self.minutes(ProbeHistoryStore.interval)) minutes",
            "No more than \(Self.mebibytes(ProbeHistoryFormat.longestFile)) MiB are written",
        ]
        try Self.expect(sentences, in: "probes.md")
        let others: [String] = [
            "at most \(ServiceCounters.maximumTypes) types, the rest as `other`",
            "the first \(ProbeMetrics.maximumServers) by address and the rest as `other`",
        ]
        try Self.expect(others, in: "metrics.md")
    }

    @Test func `mdns.md has the limits of the engine`() throws {
        let cache = CacheBounds()
        let sentences: [String] = [
            "\(Self.grouped(cache.records)) records of \(Self.mebibytes(cache.bytes)) MiB are kept",
            "\(Self.kibibytes(KnownAnswerLimit.most)) KiB initially, and \(Self.kibibytes(KnownAnswerLimit.rate)) KiB/s",
            "\(Self.kibibytes(ResponseTriggeredLimit.most)) KiB initially, and \(Self.kibibytes(ResponseTriggeredLimit.rate)) KiB/s",
            "Packets are read for \(Self.milliseconds(ReadLimit.limit)) ms at a time",
            "At most \(ServiceHistory.capacity) services are remembered",
            "at most every \(Self.seconds(ServiceHistoryKeeper.interval)) s after a change",
        ]
        try Self.expect(sentences, in: "mdns.md")
    }

    @Test func `diagnosis.md has the limits of what the service examines`() throws {
        let (longest, frugal) = (Self.seconds(DiagnosisSchedule.longest), Self.seconds(DiagnosisSchedule.longestFrugal))
        let sentences: [String] = [
            "from one second to \(longest),",
            "for \(frugal) seconds at most",
            "once in \(Self.seconds(DiagnosisSchedule.refill)) seconds",
            "every \(Self.minutes(DiagnosisSchedule.fullInterval)) minutes",
            "for \(Self.seconds(RequestedDiagnosis.validity)) seconds, as long as a round",
            "a fault for \(Self.seconds(RequestedDiagnosis.faultValidity)) seconds",
        ]
        try Self.expect(sentences, in: "diagnosis.md")
    }

    @Test func `every code, event, reason and problem is in its document`() throws {
        try Self.expect(VerdictCode.allCases.map { "`\($0.rawValue)`" }, in: "diagnosis.md")
        try Self.expect(EventName.allCases.map { "`\($0.rawValue)`" }, in: "events.md")
        try Self.expect(ProbeReason.allCases.map { "| `\($0.rawValue)` |" }, in: "probes.md")
        let problems = Problem.Kind.allCases.map { $0.rawValue.split(separator: "/").last.map(String.init) ?? "" }
        try Self.expect(problems.map { "\($0)`" }, in: "api.md")
    }

    @Test func `S22 of path.md lists the reasons and no others`() throws {
        let text = try Self.text(of: "path.md")
        let start = try #require(text.firstRange(of: "**S22**"))
        let end = try #require(text.firstRange(of: "**S23**"))
        let listed = text[start.upperBound..<end.lowerBound].matches(of: /`(\w+)`/).map { String($0.1) }
        #expect(listed.sorted() == UnsatisfiedReason.allCases.map(\.rawValue).sorted())
    }

    @Test func `the version of Swift in the metrics is that of the manifest`() throws {
        let manifest = try Command.run(["cat", "\(Place.root)/Package.swift"])
        #expect(manifest.hasPrefix("// swift-tools-version: \(Build.swiftVersion)\n"))
    }
}
