// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import EventLog
internal import Glibc
internal import LinuxIO
internal import Netlink
internal import OrderedJSON

/// Gathers what a bug report holds, from the service where it answers, else from the machine itself.
struct ReportCollector {
    static let eventCount = 200
    private static let routeLimit = 4096

    private(set) var contents = ReportContents()
    private let source = ConfigurationSource(file: nil)

    mutating func collect(_ common: CommonOptions) throws(CommandFailure) {
        addVersion()
        var connection = try ServiceConnection(common)
        var failure: CommandFailure?
        do throws(CommandFailure) {
            contents.add("status", "what nwpath status shows", try connection.get("/api/v1/status").value)
        } catch {
            failure = error
            contents.miss("status", error.message)
        }
        addConfiguration(failure == nil ? try? connection.get("/api/v1/config").value : nil)
        if failure == nil {
            addAnswers(&connection)
        } else {
            for name in ["interfaces", "traffic", "services", "metrics"] {
                contents.miss(name, "the service does not answer")
            }
        }
        addRoutes()
        addLog(hasEvents: contents.sections.contains { $0.name == "events" })
    }

    private mutating func addAnswers(_ connection: inout ServiceConnection) {
        let parts = [
            ("interfaces", "all interfaces", "/api/v1/interfaces"),
            ("traffic", "what TCP connections show", "/api/v1/traffic"),
            ("services", "the services that were found", "/api/v1/services"),
            ("events", "the last \(Self.eventCount) events", "/api/v1/events?limit=\(Self.eventCount)"),
        ]
        for (name, summary, target) in parts {
            do throws(CommandFailure) {
                let json = [(name: "Accept", value: "application/json")]
                contents.add(name, summary, try connection.get(target, fields: json).value)
            } catch {
                contents.miss(name, error.message)
            }
        }
        do throws(CommandFailure) {
            let body = try connection.fetch("/metrics", fields: [(name: "Accept", value: "text/plain")]).body
            let lines = body.split(separator: UInt8(ascii: "\n")).filter { $0.first != UInt8(ascii: "#") }
            let texts = lines.map { JSONValue.string(String(decoding: $0, as: UTF8.self)) }
            contents.add("metrics", "\(texts.count) samples", .array(texts))
        } catch {
            contents.miss("metrics", error.message)
        }
    }

    private mutating func addVersion() {
        var version = JSONObject()
        version["nwpath"] = .string(NWPath.version)
        version["user"] = .string(geteuid() == 0 ? "root" : "not root")
        contents.add("version", "nwpath \(NWPath.version)", .object(version))
        var kernel = JSONObject()
        for name in ["ostype", "osrelease", "version"] {
            kernel[name] = Self.read("/proc/sys/kernel/\(name)").map { .string($0) } ?? .null
        }
        contents.add("kernel", kernel["osrelease"]?.string ?? "", .object(kernel))
    }

    private mutating func addConfiguration(_ served: JSONValue?) {
        if let served { return contents.add("configuration", "as used by the service", served) }
        do {
            contents.add("configuration", "as the service would use it", try source.load().tree.json)
        } catch {
            contents.miss("configuration", "\(error)")
        }
    }

    /// Rules as they are, routes by number: a table may have a million.
    private mutating func addRoutes() {
        do throws(NetlinkError) {
            let kernel = try LiveKernel()
            var object = JSONObject()
            let rules = try kernel.rules().values
            object["rules"] = .array(
                rules.prefix(Self.routeLimit).map { rule in
                    .string(
                        "\(rule.family.rawValue) \(rule.priority): \(rule.selector) table \(rule.table)"
                            + rule.unknownAttributes.map { " attribute \($0)" }.joined()
                    )
                }
            )
            var count = 0
            for family in AddressFamily.allCases {
                let routes = try kernel.routes(family, type: nil, limit: Self.routeLimit) { _ in true }
                count += routes.values.count
                object["\(family.rawValue)_routes"] = .integer(Int64(routes.values.count))
                object["\(family.rawValue)_routes_complete"] = .bool(routes.isComplete)
            }
            contents.add("routes", "\(rules.count) rules and \(count) routes", .object(object))
        } catch {
            contents.miss("routes", "cannot query the kernel: \(error)")
        }
    }

    /// The state of the log, and its last events where the service did not tell them.
    private mutating func addLog(hasEvents: Bool) {
        guard let file = try? source.load().log.file, file != EventLog.standardOutput else {
            contents.miss("log", "there is no log file")
            if !hasEvents { contents.miss("events", "there is no log file") }
            return
        }
        var last: [JSONValue] = []
        var object = JSONObject()
        do throws(EventLogError) {
            var count = 0
            var times: [String] = []
            try LogReader(path: file).forEach { header, line in
                count += 1
                if let time = header.time { times = [times.first ?? "\(time)", "\(time)"] }
                if let record = hasEvents ? nil : try? JSONValue(parsing: line) { last.append(record) }
                if last.count > 2 * Self.eventCount { last = last.suffix(Self.eventCount) }
                return true
            }
            object["file"] = .string(file)
            object["records"] = .integer(Int64(count))
            object["first"] = times.first.map { .string($0) } ?? .null
            object["last"] = times.last.map { .string($0) } ?? .null
            contents.add("log", "\(count) records", .object(object))
        } catch {
            contents.miss("log", "\(error)")
        }
        guard !hasEvents else { return }
        if last.isEmpty {
            contents.miss("events", "the log has none, or cannot be read")
        } else {
            contents.add("events", "the last events of the log", .array(last.suffix(Self.eventCount)))
        }
    }

    /// A file of one line.
    private static func read(_ path: String) -> String? {
        guard let bytes = try? FileDescriptor(opening: path, flags: O_RDONLY).read(upTo: 4096) else { return nil }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
