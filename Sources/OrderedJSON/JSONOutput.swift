// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The text under construction and the containers that are open in it, outermost first.
///
/// `Encodable` never says that a container is complete, so an inner container is closed as soon as an outer one is
/// written to. Writing to it after that is an error: there is no tree to come back to.
final class JSONOutput {
    enum Kind {
        /// A place for a value; nothing is written yet.
        case pending
        case scalar
        case object
        case array
    }

    struct Frame {
        let id: Int
        var kind = Kind.pending
        var count = 0
        /// The key or index last written, for error messages.
        var key = ""
    }

    /// Names one frame; it goes stale when the frame is closed.
    struct Place {
        let index: Int
        let id: Int
    }

    private var text = JSONText()
    private var frames: [Frame] = []
    private var nextID = 0
    private let isPretty: Bool
    /// The first misuse by a call that cannot throw.
    private(set) var failure: JSONError?

    init(isPretty: Bool, capacity: Int) {
        self.isPretty = isPretty
        text.reserve(capacity)
        frames.reserveCapacity(8)
    }

    /// Where the writing is, such as `path.interfaces.0.name`.
    var path: String { frames.map(\.key).filter { !$0.isEmpty }.joined(separator: ".") }

    func keys(to place: Place) -> [String] { frames.prefix(place.index).map(\.key) }

    func count(at place: Place) -> Int { isOpen(place) ? frames[place.index].count : 0 }

    func writeRoot(_ value: some Encodable) throws {
        let place = push()
        try value.encode(to: ValueEncoder(output: self, place: place))
        close(downTo: 0)
    }

    func finish(terminator: UInt8?) -> [UInt8] {
        if let terminator { text.append(byte: terminator) }
        return text.bytes
    }

    /// Turns a pending place into an object or array, or finds that it is one already.
    func open(_ kind: Kind, at place: Place) {
        guard isOpen(place) else { return fail() }
        close(downTo: place.index + 1)
        switch frames[place.index].kind {
        case .pending:
            frames[place.index].kind = kind
            text.append(kind == .object ? "{" : "[")
        case let opened where opened == kind: break
        default: fail()
        }
    }

    /// Writes the separator and the key of the next member of an object.
    func beginMember(_ key: String, at place: Place) throws(JSONError) {
        try beginItem(key, at: place)
        text.append(string: key)
        text.append(":")
        if isPretty { text.append(" ") }
    }

    /// Writes the separator before the next element of an array.
    func beginElement(at place: Place) throws(JSONError) {
        try beginItem(isOpen(place) ? String(frames[place.index].count) : "", at: place)
    }

    private func beginItem(_ key: String, at place: Place) throws(JSONError) {
        guard isOpen(place) else { throw .closedContainer(path: path + "." + key) }
        close(downTo: place.index + 1)
        if frames[place.index].count > 0 { text.append(",") }
        if isPretty { text.appendIndent(depth: place.index + 1) }
        frames[place.index].count += 1
        frames[place.index].key = key
    }

    /// Opens a place for the value of the member or element just begun.
    func push() -> Place {
        nextID += 1
        frames.append(Frame(id: nextID))
        return Place(index: frames.count - 1, id: nextID)
    }

    /// A place that swallows what is written to it, after a misuse.
    func deadPlace() -> Place {
        fail()
        return Place(index: frames.count, id: 0)
    }

    /// Writes a value of any type as the member or element just begun.
    func write(nested value: some Encodable) throws {
        let place = push()
        try value.encode(to: ValueEncoder(output: self, place: place))
        if isOpen(place) { close(downTo: place.index) }
    }

    /// Writes members that a value writes itself to an object, which is opened if it is not yet.
    func write(members value: some JSONObjectWritable, at place: Place) throws(JSONError) {
        open(.object, at: place)
        guard isOpen(place), frames[place.index].kind == .object else { throw .closedContainer(path: path) }
        let count = frames[place.index].count
        var writer = JSONObjectWriter(takeText(), count: count, depth: place.index + 1, isPretty: isPretty)
        value.write(to: &writer)
        frames[place.index].count = writer.count
        text = writer.text
        if case .notFinite(let inner) = writer.failure {
            throw .notFinite(path: (keys(to: place) + [inner]).joined(separator: "."))
        }
    }

    /// Gives the text away, so that it has one owner and is not copied when it grows.
    private func takeText() -> JSONText {
        let taken = text
        text = JSONText()
        return taken
    }

    /// Claims a pending place for a scalar.
    func claim(_ place: Place) throws(JSONError) {
        guard isOpen(place), frames[place.index].kind == .pending else { throw .closedContainer(path: path) }
        frames[place.index].kind = .scalar
    }

    private func isOpen(_ place: Place) -> Bool {
        place.index < frames.count && frames[place.index].id == place.id
    }

    private func close(downTo count: Int) {
        while frames.count > count, let frame = frames.popLast() {
            switch frame.kind {
            case .pending: text.append(token: "{}")
            case .scalar: break
            case .object, .array:
                if isPretty && frame.count > 0 { text.appendIndent(depth: frames.count) }
                text.append(frame.kind == .object ? "}" : "]")
            }
        }
    }

    private func fail() {
        if failure == nil { failure = .closedContainer(path: path) }
    }
}

// MARK: - Scalars

extension JSONOutput {
    func writeNull() { text.append(token: "null") }

    func write(_ value: Bool) { text.append(token: value ? "true" : "false") }

    func write(_ value: String) { text.append(string: value) }

    func write(integer value: some FixedWidthInteger) { text.append(integer: value) }

    func write<Number: BinaryFloatingPoint & LosslessStringConvertible>(number value: Number) throws(JSONError) {
        if let value = value as? Double {
            guard text.append(number: value) else { throw .notFinite(path: path) }
        } else {
            guard let token = JSONNumber.text(of: value) else { throw .notFinite(path: path) }
            text.append(literal: token)
        }
    }
}
