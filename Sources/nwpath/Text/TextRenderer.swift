// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import OrderedJSON
internal import Spelling

/// What a rendering needs besides the object: the screen, and the time it is.
struct TextRenderer {
    let screen: Screen
    let now: WallTime

    init(_ screen: Screen = Screen(), now: WallTime) {
        self.screen = screen
        self.now = now
    }

    /// Text that is safe to print, in a colour.
    func style(_ text: String, _ tone: Palette.Tone? = nil) -> String {
        screen.palette.style(PrintableText.escape(text), tone)
    }

    /// A title above lines that are set in by two columns; nothing without lines.
    func section(_ title: String, _ lines: String) -> String {
        guard !lines.isEmpty else { return "" }
        return style(title, .strong) + "\n" + indent(lines)
    }

    /// Sets lines in by two columns.
    func indent(_ lines: String) -> String {
        lines.split(separator: "\n", omittingEmptySubsequences: true).map { "  \($0)\n" }.joined()
    }

    /// A table; set in by two columns, it has so many less.
    func table(_ table: TextTable, isIndented: Bool = false) -> String {
        table.text(width: screen.width.map { $0 - (isIndented ? 2 : 0) }, palette: screen.palette)
    }
}

extension JSONValue {
    /// The string member of this name; empty without one.
    func text(_ name: String) -> String { self[name]?.string ?? "" }

    /// The name of the interface something is on, empty without one; records of version 0.1 have the bare name.
    var interfaceName: String { self["interface"]?["name"]?.string ?? text("interface") }

    static func interface(_ name: String) -> JSONValue {
        var object = JSONObject()
        object["name"] = .string(name)
        return .object(object)
    }

    func isTrue(_ name: String) -> Bool { self[name]?.bool == true }

    /// The elements of the member of this name; none without one.
    func list(_ name: String) -> [JSONValue] { self[name]?.array ?? [] }

    func texts(_ name: String) -> [String] { list(name).compactMap(\.string) }
}
