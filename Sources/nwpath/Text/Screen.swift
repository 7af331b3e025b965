// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// How results are shown: to people on a terminal, or to programs in a pipe.
struct Screen: Equatable {
    let palette: Palette
    /// The columns of the terminal; `nil` in a pipe, where nothing is cut.
    let width: Int?

    init(_ common: CommonOptions, environment: [String: String] = Environment.variables) {
        let isTerminal = Terminal.isInteractive
        let palette = Palette(environment: environment, isTerminal: isTerminal, hasNoColour: common.hasNoColour)
        self.init(palette: palette, width: isTerminal ? Terminal.width : nil)
    }

    init(palette: Palette = Palette(isColoured: false), width: Int? = nil) {
        self.palette = palette
        self.width = width
    }

    /// Prints an object as JSON: over several lines on a terminal, on one line in a pipe.
    func print(_ value: JSONValue) throws(CommandFailure) {
        Terminal.print(try Self.json(value, style: width == nil ? .compact : .pretty))
    }

    /// Prints an answer of the daemon as it came, or over several lines on a terminal.
    func print(_ answer: ServiceConnection.Answer) throws(CommandFailure) {
        guard width == nil else { return try print(answer.value) }
        Terminal.print(String(decoding: answer.bytes, as: UTF8.self))
    }

    static func line(_ value: JSONValue) throws(CommandFailure) -> [UInt8] { try json(value, style: .compact) }

    private static func json(_ value: JSONValue, style: OrderedJSONEncoder.Style) throws(CommandFailure) -> [UInt8] {
        do {
            return try OrderedJSONEncoder(style: style).encode(value, terminator: 0x0A)
        } catch {
            throw CommandFailure("\(error)", .negative)
        }
    }
}
