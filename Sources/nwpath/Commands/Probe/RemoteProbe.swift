// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import OrderedJSON

final class RemoteProbe {
    private let target: String
    private var connection: ServiceConnection
    private var answer: ServiceConnection.Answer

    /// Looks the probe up; `nil` when the service, or a service, is not there or knows no probe of that name.
    init?(_ name: String, _ common: CommonOptions) throws(CommandFailure) {
        target = "/api/v1/probes/\(RequestText.encode(name))"
        connection = try ServiceConnection(common)
        let isExplicit = common.socket != nil || common.url != nil
        do throws(CommandFailure) {
            answer = try connection.get(target, accepting: [404])
        } catch {
            guard !isExplicit, error.status == .unreachable || error.status == .refused else {
                throw error
            }
            return nil
        }
        if answer.value.text("name").isEmpty { return nil }
    }

    /// Runs it so often, with a pause from one start to the next.
    func run(count: Int, pause: Duration, _ report: ProbeReport) throws(CommandFailure) -> ExitStatus {
        let clock = KernelClock()
        var tally = ProbeTally()
        report.begin(answer.value)
        var number = 0
        while count == 0 || number < count {
            number += 1
            let next = clock.boot + pause
            let last = try runOnce()
            if last["success"]?.bool == nil {
                tally.refuse()
            } else {
                let seconds = last["duration_seconds"]?.double ?? 0
                tally.record(
                    isSuccess: last.isTrue("success"),
                    duration: .microseconds(Int64((seconds * 1e6).rounded()))
                )
            }
            report.show(last, number: number)
            if tally.isRefused { break }
            if count == 0 || number < count { Pause.sleep(next - clock.boot) }
        }
        report.end(answer.value.text("name"), tally)
        return tally.status
    }

    /// Starts a run and waits for the end of it, or of one that comes by itself meanwhile.
    private func runOnce() throws(CommandFailure) -> JSONValue {
        let before = answer.value["last"]?["time"]?.string
        let clock = KernelClock()
        let limit = Duration.seconds(answer.value["timeout_seconds"]?.double ?? 60) + .seconds(5)
        let deadline = clock.boot + limit
        var isStarted = false
        while clock.boot < deadline {
            if !isStarted { isStarted = try start() }
            // A run that came too soon is asked for again, unless there is a result before.
            let wait = isStarted ? "1s" : "100ms"
            let fields = answer.tag.map { [(name: "If-None-Match", value: $0)] } ?? []
            let new = try connection.get(
                "\(target)?wait=\(wait)",
                fields: fields,
                accepting: [304],
                timeout: .seconds(6)
            )
            guard !new.bytes.isEmpty else { continue }
            answer = new
            let last = new.value["last"] ?? .null
            if last["time"]?.string != before && !new.value.isTrue("running") { return last }
        }
        throw CommandFailure("the probe did not finish in time", .timedOut)
    }

    /// Asks for a run.
    /// - Returns: `false` when it ran moments ago.
    private func start() throws(CommandFailure) -> Bool {
        do throws(StatusClientError) {
            _ = try connection.client.post(target)
            return true
        } catch .problem(429, _, _) {
            return false
        } catch {
            throw CommandFailure(error)
        }
    }
}
