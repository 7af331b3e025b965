// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

extension StatusAPI {
    /// What came of a probe, step by step.
    func probeHistory(_ call: Route.Call) throws -> HTTPResponse {
        let (name, query) = (call.arguments[0], try call.query())
        let now = clock.wall
        let since = try Self.moment("since", query, before: now) ?? now - .seconds(86_400)
        let until = try Self.moment("until", query, before: now) ?? now
        guard since <= until else { throw query.bad("since", query["since"] ?? "24h", "a time before 'until'") }
        let grid = try StepGrid(query, since: since, until: until) { provider.leastProbeStep(since: $0) }
        guard let content = try provider.probeHistory(name, since: grid.since, until: grid.until, step: grid.step)
        else { throw Problem.unknownProbe(name) }
        return HTTPResponse(
            status: 200,
            fields: [HTTPField("Content-Type", "application/json"), HTTPField("Cache-Control", "no-store")],
            body: .bytes(SharedBytes(content))
        )
    }
}
