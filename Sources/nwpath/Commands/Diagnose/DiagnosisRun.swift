// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import Documents
internal import Examination
internal import Glibc
internal import LinuxIO
internal import Netlink
internal import PathEngine
internal import Probes

/// One examination by the command itself, on a loop of its own.
///
/// Confined to the thread that made it.
struct DiagnosisRun {
    struct Outcome {
        let document: DiagnosisDocument
        let status: ExitStatus
    }

    private let settings: DiagnosisSettings
    private let isOffline: Bool
    private let needsLoad: Bool
    private let loop: EventLoop
    private let pages: PageClient
    private let examination: Examination
    private let box: Box

    private final class Box {
        var result: ExaminationResult?
        var isInterrupted = false
    }

    /// Starts to examine; with `needsLoad` it is not complete without a load test.
    init(
        _ settings: DiagnosisSettings,
        _ order: ExaminationOrder,
        needsLoad: Bool,
        progress: @escaping (Layer) -> Void
    ) throws(CommandFailure) {
        self.settings = settings
        isOffline = order.isOffline
        self.needsLoad = needsLoad
        let box = Box()
        self.box = box
        do {
            let loop = try EventLoop()
            self.loop = loop
            pages = PageClient(loop: loop)
            try loop.handleSignals([SIGINT, SIGTERM]) { _ in
                box.isInterrupted = true
                loop.stop()
            }
        } catch {
            throw CommandFailure("cannot make an event loop: \(error)", .unfinished)
        }
        do {
            examination = try Examination(
                order,
                kernel: try LiveKernel(),
                loop: loop,
                pages: pages,
                progress: progress
            ) { [loop] result in
                box.result = result
                loop.stop()
            }
        } catch {
            throw CommandFailure("cannot query the kernel: \(error)", .unfinished)
        }
    }

    /// Waits for the end.
    /// - Returns: `nil` when somebody interrupted it.
    mutating func wait() -> Outcome? {
        loop.run()
        examination.cancel()
        guard !box.isInterrupted, let result = box.result else { return nil }
        let diagnosis = RuleEvaluator(budgets: settings.targets.budgets).evaluate(result.evidence)
        let time = loop.clock.calendar(at: result.started).description
        let evidence = result.evidence
        var document = DiagnosisDocument(
            diagnosis,
            path: DiagnosedPath(evidence),
            targets: evidence.isNetworkExamined ? settings.origin : "none",
            destination: evidence.destination.map(DestinationDocument.init),
            load: evidence.performance.load.map(LoadDocument.init),
            effort: DiagnosisDocument.Effort(
                time: time,
                duration: result.duration,
                sent: result.bytesSent,
                received: result.bytesReceived,
                isComplete: result.isComplete
            ),
            since: { _ in time }
        )
        if evidence.isNetworkExamined { document.cells = CellDocument.cells(evidence) }
        let isLoaded = !needsLoad || evidence.performance.load != nil
        let isKnown = isLoaded && (isOffline || evidence.destination.map { $0.isComplete } ?? true)
        let status = Self.status(diagnosis.severity, isComplete: result.isComplete && isKnown)
        return Outcome(document: document, status: status)
    }

    /// What is wrong decides; that nothing is wrong takes an examination that came to its end.
    static func status(_ severity: Severity?, isComplete: Bool) -> ExitStatus {
        switch severity {
        case .broken, .degraded, .warning: .negative
        case .info, nil: isComplete ? .success : .unfinished
        }
    }
}
