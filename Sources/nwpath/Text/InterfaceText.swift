// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

struct InterfaceText {
    let renderer: TextRenderer

    func list(_ interfaces: [JSONValue], isIndented: Bool = false) -> String {
        guard !interfaces.isEmpty else { return "no interfaces\n" }
        let notes = interfaces.map { (Self.wifi($0) + Self.notes($0)).joined(separator: ", ") }
        let columns = [
            TextTable.Column("NAME"), .init("TYPE"), .init("KIND"), .init("STATE"), .init("ADDRESSES", canShrink: true),
            .init("NOTES", canShrink: true),
        ]
        var table = TextTable(notes.contains { !$0.isEmpty } ? columns : columns.dropLast())
        for (interface, notes) in zip(interfaces, notes) {
            let addresses = interface.list("addresses").map(Self.address).joined(separator: " ")
            table.add([
                .init(interface.text("name"), .strong), .init(interface.text("type")), .init(interface.text("kind")),
                Self.state(interface), .init(addresses), .init(notes),
            ])
        }
        return renderer.table(table, isIndented: isIndented)
    }

    /// One interface, a line for each thing that is known.
    func detail(_ interface: JSONValue) -> String {
        let state = Self.state(interface)
        let symbol = interface.isTrue("usable") ? "✓" : "✗"
        var text = renderer.screen.palette.style("\(symbol) \(TextTable.Cell(interface.text("name")).text)", state.tone)
        text += renderer.style(": \(state.text)") + "\n"
        var table = TextTable([.init(""), .init("", canShrink: true)])
        func add(_ name: String, _ value: String) {
            if !value.isEmpty { table.add([.init(name, .faint), .init(value)]) }
        }
        add("also called", interface.texts("alternative_names").joined(separator: ", "))
        add("type", [interface.text("type"), interface.text("kind")].filter { !$0.isEmpty }.joined(separator: ", "))
        add("index", interface["index"]?.int.map(String.init) ?? "")
        add("link", Self.link(interface))
        add("wifi", Self.wifi(interface).joined(separator: ", "))
        add("mtu", interface["mtu"]?.int.map { "\($0) bytes" } ?? "")
        add("hardware", interface.text("hardware_address"))
        add("port of", interface.text("master"))
        add("ports", Self.ports(interface))
        add("carrier", interface["carrier_changes"]?.int.map { Plural.of($0, "change") } ?? "")
        add("notes", Self.notes(interface).joined(separator: ", "))
        for (number, address) in interface.list("addresses").enumerated() {
            let words = [address.text("scope")] + address.texts("flags") + [Self.lifetime(address)]
            let detail = words.filter { !$0.isEmpty }.joined(separator: ", ")
            table.add([
                .init(number == 0 ? "addresses" : "", .faint), .init("\(Self.address(address)) (\(detail))"),
            ])
        }
        return text + renderer.indent(renderer.table(table, isIndented: true))
    }

    /// Such as `1 of 2 work, not e0`; empty for links without redundancy.
    private static func ports(_ interface: JSONValue) -> String {
        guard let ports = interface["ports"], let working = ports["working"]?.int, let total = ports["total"]?.int
        else {
            return ""
        }
        let failed = ports.texts("failed")
        return "\(working) of \(total) work" + (failed.isEmpty ? "" : ", not \(failed.joined(separator: ", "))")
    }

    /// The name, and the alternative ones behind it.
    static func names(_ interface: JSONValue) -> [String] {
        [interface.text("name")] + interface.texts("alternative_names")
    }

    static func isNamed(_ interface: JSONValue, _ name: String) -> Bool { names(interface).contains(name) }

    static func state(_ interface: JSONValue) -> TextTable.Cell {
        if interface.isTrue("usable") { return .init("usable", .good) }
        let problem = interface.text("problem")
        if problem == "loopback" { return .init("loopback", .faint) }
        let words = problem.isEmpty ? "not usable" : problem.split(separator: "_").joined(separator: " ")
        return .init(words, interface.isTrue("required") ? .bad : .warning)
    }

    /// Those addresses that others may know, with their prefix lengths.
    static func addresses(_ interface: JSONValue) -> [String] {
        interface.list("addresses").filter { $0.text("scope") == "global" }.map(address)
    }

    private static func address(_ address: JSONValue) -> String {
        let length = address["prefix_length"]?.int.map { "/\($0)" } ?? ""
        return address.text("address") + length
    }

    private static func lifetime(_ address: JSONValue) -> String {
        address["valid_seconds"]?.int.map { "valid for \(AgeText.of(.seconds($0)))" } ?? ""
    }

    private static func link(_ interface: JSONValue) -> String {
        let admin = interface.isTrue("up") ? "up" : "down"
        let carrier = interface.isTrue("carrier") ? "carrier" : "no carrier"
        return "\(admin), \(carrier), \(interface.text("operstate"))"
    }

    /// Such as `office-7`, `-47 dBm`, `02:00:00:00:01:00`, `5180 MHz (5 GHz)`, `866 Mbit/s in`, `780 Mbit/s out`.
    private static func wifi(_ interface: JSONValue) -> [String] {
        guard let wifi = interface["wifi"] else { return [] }
        guard wifi.isTrue("associated") || wifi["authorized"]?.bool != nil else { return ["not associated"] }
        func figure(_ key: String, _ unit: String, per divisor: Int = 1) -> String? {
            wifi[key]?.int.map { "\($0 / divisor) \(unit)" }
        }
        let band = wifi["band"]?.string.map { " (\($0) GHz)" } ?? ""
        return [
            wifi["ssid"]?.string ?? wifi["ssid_hex"]?.string.map { "0x" + $0 },
            figure("signal_dbm", "dBm"),
            wifi["bssid"]?.string,
            figure("frequency_mhz", "MHz" + band),
            figure("rx_bits_per_second", "Mbit/s in", per: 1_000_000),
            figure("tx_bits_per_second", "Mbit/s out", per: 1_000_000),
            wifi["authorized"]?.bool == false ? "not authorized" : nil,
        ]
        .compactMap(\.self)
    }

    private static func notes(_ interface: JSONValue) -> [String] {
        var notes: [String] = []
        if interface.isTrue("required") { notes.append("required") }
        if interface.isTrue("is_expensive") { notes.append("expensive") }
        if interface.isTrue("is_constrained") { notes.append("constrained") }
        if interface.isTrue("ignored") { notes.append("ignored") }
        if interface.isTrue("link_local_only") { notes.append("link-local addresses only") }
        return notes
    }
}
