// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

/// What the real lnav(1) makes of a log that the real service wrote, by the format that is installed with it.
@Suite(.inNamespace) struct LnavTests {
    /// Runs it with a home directory of its own.
    private func lnav(_ arguments: [String], _ service: Service) throws -> String {
        let search = try Command.run(["printenv", "PATH"]).trimmed
        let words = ["env", "-i", "PATH=\(search)", "HOME=\(service.scratch.path)", "lnav"]
        return try Command.run(words + arguments)
    }

    private func rows(_ query: String, _ service: Service) throws -> [JSONValue] {
        let text = try lnav(["-n", "-c", ";\(query)", "-c", ":write-json-to -", service.log], service)
        return try JSONValue(parsing: text).array ?? []
    }

    private func moment(_ record: JSONValue) -> String? {
        record["time"]?.string.map { String($0.prefix(23)).replacing("T", with: " ") }
    }

    @Test func `lnav shows the log as a diary, and answers queries about it`() async throws {
        try Uplink.make()
        try Uplink.connect()
        let service = try await Service()
        try await service.eventually("path.snapshot")
        try Uplink.disconnect()
        try await service.eventually("headline.changed")
        #expect(service.stop().code == 0)
        let records = try service.records()
        _ = try lnav(["-i", Place.root + "/packaging/lnav/nwpath.json"], service)
        #expect(try lnav(["-C", service.log], service).isEmpty)

        let diary = try lnav(["-n", service.log], service)
        #expect(
            diary.lines
                == records.map { record in
                    let event = record["event"]?.string ?? ""
                    let filled = event + String(repeating: " ", count: max(0, 18 - event.count))
                    return "\(moment(record) ?? "") \(filled) \(record["message"]?.string ?? "")"
                }
        )
        #expect(try lnav(["-n", service.scratch.file("outages.jsonl")], service).contains(" headline.changed   Local"))

        let columns = "log_time, log_level, event, host, seq, log_body, \"headline/state\" AS state"
        let rows = try rows("SELECT \(columns) FROM nwpath_log", service)
        #expect(rows.count == records.count)
        for (row, record) in zip(rows, records) {
            #expect(row["log_time"]?.string == moment(record))
            #expect(row["log_level"] == record["severity"] && row["log_body"] == record["message"])
            #expect(row["event"] == record["event"] && row["host"] == record["host"] && row["seq"] == record["seq"])
            #expect(row["state"]?.string == record["headline"]?["state"]?.string)
        }
        let counted = "SELECT count(*) AS changes FROM nwpath_log WHERE event = 'headline.changed'"
        #expect(try self.rows(counted, service).first?["changes"]?.int == 1)
        let lasted = "SELECT \"previous/duration_seconds\" AS lasted FROM nwpath_log WHERE event = 'headline.changed'"
        let change = try #require(records.last { $0["event"]?.string == "headline.changed" })
        #expect(try self.rows(lasted, service).first?["lasted"] == change["previous"]?["duration_seconds"])
    }
}
