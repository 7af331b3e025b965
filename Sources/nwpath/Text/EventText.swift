// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// Events for people: one line each, whatever is in them.
struct EventText {
    let renderer: TextRenderer
    /// How wide the column of names is, so that messages stand below each other.
    private static let nameWidth = 18

    /// Time, sign, name and message.
    func line(_ event: JSONValue) -> String {
        let name = event.text("event")
        let (symbol, tone) = Self.mark(event)
        let padding = String(repeating: " ", count: max(0, Self.nameWidth - DisplayWidth.of(name)))
        let time = event["time"] == nil ? "" : AgeText.preciseTime(event["time"]?.string) + " "
        return renderer.style(time, .faint) + renderer.style("\(symbol) \(name)\(padding)", tone) + " "
            + renderer.style(event.text("message")) + "\n"
    }

    /// The sign of an event: what it is about comes before how much it matters.
    static func mark(_ event: JSONValue) -> (symbol: String, tone: Palette.Tone?) {
        switch event.text("severity") {
        case "error": return ("✗", .bad)
        case "warning": return ("!", .warning)
        case "debug": return ("·", .faint)
        default: break
        }
        let name = event.text("event")
        if name == "stream.reset" { return ("!", .warning) }
        if let status = event["path"]?["status"]?.string {
            return (StatusText.symbol(status), status == "satisfied" ? .good : .warning)
        }
        if name.hasSuffix(".added") || name.hasSuffix(".found") { return ("+", nil) }
        if name.hasSuffix(".removed") || name.hasSuffix(".lost") { return ("-", nil) }
        return ("•", nil)
    }
}
