// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

struct DestinationText {
    let renderer: TextRenderer

    /// That it works, or that this could not be found out.
    func sentence(_ destination: JSONValue, _ document: JSONValue) -> String {
        let name = destination.text("target")
        let gaps = document.list("ladder").filter { $0.text("state") != "ok" }
        if let gap = gaps.first {
            let reason = "\(gap.text("layer")): \(gap.text("message"))"
            return renderer.style("? \(name) works as far as tested; \(reason)", .warning) + "\n"
        }
        let status = destination["status"]?.int.map { ": status \($0)" } ?? ""
        return renderer.style("✓ \(name) works\(status)", .good) + "\n"
    }

    /// What there is to say of each step that works.
    func details(_ destination: JSONValue) -> [String: String] {
        let addresses = destination.list("addresses")
        var details: [String: String] = [:]
        let names = addresses.map { $0.text("address") }
        details["resolve"] = names.joined(separator: ", ") + Self.time(destination["lookup_seconds"])
        var routes: [String] = []
        for address in addresses where !address.interfaceName.isEmpty {
            let gateway = address.text("gateway")
            let route = (gateway.isEmpty ? "" : "via \(gateway) ") + "on \(address.interfaceName)"
            if !routes.contains(route) { routes.append(route) }
        }
        details["route"] = routes.joined(separator: "; ")
        let echoes = addresses.filter { $0["echo"]?.bool == true }
        details["reach"] = echoes.map { $0.text("address") + Self.time($0["echo_seconds"]) }.joined(separator: ", ")
        let connected = addresses.filter { $0.text("connection") == "connected" }
        details["tcp"] = connected.map { $0.text("address") + Self.time($0["connect_seconds"]) }.joined(separator: ", ")
        if let status = destination["status"]?.int {
            let location = destination.text("location")
            details["http"] = "status \(status)" + (location.isEmpty ? "" : " to \(location)")
        }
        return details
    }

    private static func time(_ seconds: JSONValue?) -> String {
        seconds?.double.map { " (\(ProbeText.time($0)))" } ?? ""
    }
}
