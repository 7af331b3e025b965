// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What a service says about its objects: properties by interface by path, kept current by its signals.
struct BusObjects: Equatable {
    typealias Properties = [String: BusValue]

    /// How many objects are kept; a service that announces more is not believed.
    static let limit = 4096

    private let interfaces: Set<String>
    private(set) var objects: [String: [String: Properties]] = [:]

    /// Keeps the properties of `interfaces` only.
    init(interfaces: Set<String>) { self.interfaces = interfaces }

    subscript(path: String, interface: String) -> Properties? { objects[path]?[interface] }

    /// Everything that has an interface, in the order of the paths.
    func all(_ interface: String) -> [(path: String, properties: Properties)] {
        objects.compactMap { path, object in object[interface].map { (path, $0) } }.sorted { $0.path < $1.path }
    }

    /// Replaces everything by an answer of `GetManagedObjects`.
    mutating func replace(with answer: [BusValue]) throws(ProviderError) {
        guard let table = answer.first?.table else { throw .malformed(what: "GetManagedObjects") }
        // Known objects survive an answer that turns out to be malformed halfway.
        var fresh = BusObjects(interfaces: interfaces)
        for (path, object) in table {
            guard let object = object.table else { throw .malformed(what: "the object \(path)") }
            fresh.add(object, at: path)
        }
        self = fresh
    }

    /// Replaces one object by an answer of `GetAll`.
    mutating func replace(_ path: String, _ interface: String, with answer: [BusValue]) throws(ProviderError) {
        guard let table = answer.first?.table else { throw .malformed(what: "GetAll") }
        objects = [path: [interface: table]]
    }

    mutating func removeAll() { objects = [:] }

    enum Outcome: Equatable { case unchanged, changed, reload }

    /// Follows `PropertiesChanged`, `InterfacesAdded` and `InterfacesRemoved`.
    mutating func apply(_ signal: BusSignal) -> Outcome {
        switch (signal.interface, signal.member) {
        case ("org.freedesktop.DBus.Properties", "PropertiesChanged"): return changeProperties(signal)
        case ("org.freedesktop.DBus.ObjectManager", "InterfacesAdded"):
            guard signal.arguments.count == 2, let path = signal.arguments[0].text,
                let object = signal.arguments[1].table
            else { return .reload }
            return add(object, at: path) ? .changed : .unchanged
        case ("org.freedesktop.DBus.ObjectManager", "InterfacesRemoved"):
            guard signal.arguments.count == 2, let path = signal.arguments[0].text,
                let names = signal.arguments[1].list?.compactMap(\.text)
            else { return .reload }
            let before = objects[path]
            for name in names { objects[path]?[name] = nil }
            if objects[path]?.isEmpty == true { objects[path] = nil }
            return before == objects[path] ? .unchanged : .changed
        default: return .unchanged
        }
    }

    private mutating func changeProperties(_ signal: BusSignal) -> Outcome {
        guard signal.arguments.count == 3, let interface = signal.arguments[0].text,
            let changed = signal.arguments[1].table, let invalidated = signal.arguments[2].list
        else { return .reload }
        guard interfaces.contains(interface) else { return .unchanged }
        // A change of something unknown means that its announcement was missed.
        guard let before = objects[signal.path]?[interface] else { return .reload }
        let after = before.merging(changed) { $1 }
        objects[signal.path]?[interface] = after
        if !invalidated.isEmpty { return .reload }
        return before == after ? .unchanged : .changed
    }

    @discardableResult
    private mutating func add(_ object: [String: BusValue], at path: String) -> Bool {
        var isNew = false
        for (interface, properties) in object where interfaces.contains(interface) {
            guard let properties = properties.table, objects[path] != nil || objects.count < Self.limit else {
                continue
            }
            objects[path, default: [:]][interface] = properties
            isNew = true
        }
        return isNew
    }
}
