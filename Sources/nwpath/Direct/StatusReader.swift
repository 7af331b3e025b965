// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import OrderedJSON

/// Reads documents of the service, or of the kernel where no service runs and none was named.
struct StatusReader {
    private var connection: ServiceConnection
    private let isQuiet: Bool
    /// What the kernel has; `nil` while the service answers.
    private var kernel: DirectStatus?

    init(_ common: CommonOptions) throws(CommandFailure) {
        connection = try ServiceConnection(common)
        isQuiet = common.isQuiet
    }

    /// Reads a document.
    ///
    /// - Parameters:
    ///   - target: Its route, such as `/api/v1/status`.
    ///   - document: The same as the kernel has it.
    /// - Returns: The document.
    /// - Throws: Why there is none.
    mutating func read(
        _ target: String,
        _ document: (DirectStatus) throws(CommandFailure) -> JSONValue
    ) throws(CommandFailure) -> ServiceConnection.Answer {
        if let kernel { return try Self.answer(document(kernel)) }
        do throws(CommandFailure) {
            return try connection.get(target)
        } catch {
            guard error.status == .unreachable, connection.isStandard else { throw error }
            if !isQuiet { Terminal.complain("the service is not running; showing the kernel's current state") }
            let direct = try DirectStatus()
            kernel = direct
            return try Self.answer(document(direct))
        }
    }

    /// What the service's probes found; nothing from the kernel.
    mutating func findings(at now: WallTime) throws(CommandFailure) -> ProbeFindings {
        let probes = kernel == nil ? try connection.get("/api/v1/probes").value.list("probes") : []
        return ProbeFindings(probes, now: now)
    }

    /// The history of the last day; `nil` from the kernel, and while the service reads its log.
    var day: JSONValue? {
        mutating get { kernel == nil ? try? connection.get("/api/v1/history?since=24h").value : nil }
    }

    /// What this machine's own connections show; `nil` from the kernel, and where the service does not read them.
    var traffic: JSONValue? {
        mutating get {
            guard kernel == nil, let document = try? connection.get("/api/v1/traffic").value else { return nil }
            return document.isTrue("enabled") ? document : nil
        }
    }

    private static func answer(_ value: JSONValue) throws(CommandFailure) -> ServiceConnection.Answer {
        ServiceConnection.Answer(value: value, bytes: try Screen.line(value), tag: nil, date: nil)
    }
}
