// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// One well-known name on a bus: who owns it, its signals, and calls to it.
///
/// Signals count only from the connection that owns the name now.
final class BusService: BusListener {
    let name: String
    /// The unique name of the owner; `nil` while there is none.
    private(set) var owner: String?
    /// The service came, or another process took its place.
    var onAppear: () -> Void = {}
    /// The service, or the bus, went away.
    var onVanish: (ProviderError) -> Void = { _ in }
    /// A signal of the service arrived.
    var onSignal: (BusSignal) -> Void = { _ in }
    /// The bus refused to answer or to deliver signals.
    var onError: (ProviderError) -> Void = { _ in }

    /// Weak, because the connection keeps its listeners.
    private weak var connection: BusConnection?
    private let rules: [String]
    /// Counts connections, so that answers to questions of an earlier one are dropped.
    private var generation = 0

    /// Watches `name`; `rules` are what its signals must match, without type and sender.
    init(connection: BusConnection, name: String, rules: [String]) {
        self.connection = connection
        self.name = name
        self.rules = rules
    }

    func start() { connection?.add(self) }

    func call(
        _ path: String,
        _ interface: String,
        _ member: String,
        _ arguments: [String] = [],
        completion: @escaping (Result<[BusValue], ProviderError>) -> Void
    ) {
        connection?.call(BusMethod(name, path, interface, member), arguments, completion: completion)
    }

    func busDidConnect() {
        generation += 1
        let asked = generation
        let report: (Result<[BusValue], ProviderError>) -> Void = { [weak self] result in
            if case .failure(let error) = result { self?.onError(error) }
        }
        let changes = "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
            + "member='NameOwnerChanged',arg0='\(name)'"
        connection?.call(.broker("AddMatch"), [changes], completion: report)
        for rule in rules {
            connection?.call(.broker("AddMatch"), ["type='signal',sender='\(name)',\(rule)"], completion: report)
        }
        connection?.call(.broker("GetNameOwner"), [name]) { [weak self] result in
            guard let self, generation == asked else { return }
            switch result {
            case .success(let values): setOwner(values.first?.text)
            case .failure(.refused(name: "org.freedesktop.DBus.Error.NameHasNoOwner")): setOwner(nil)
            case .failure(let error): onError(error)
            }
        }
    }

    func busDidDisconnect(_ error: ProviderError) {
        generation += 1
        guard owner != nil else { return onError(error) }
        owner = nil
        onVanish(error)
    }

    func wants(_ signal: BusSignal) -> Bool {
        signal.sender == owner || signal.sender == "org.freedesktop.DBus" && signal.member == "NameOwnerChanged"
    }

    func receive(_ signal: BusSignal) {
        guard signal.sender == "org.freedesktop.DBus" else { return onSignal(signal) }
        let words = signal.arguments.compactMap(\.text)
        guard words.count == 3, words[0] == name else { return }
        setOwner(words[2])
    }

    private func setOwner(_ new: String?) {
        let new = new == "" ? nil : new
        guard new != owner else { return }
        let hadOwner = owner != nil
        owner = new
        if hadOwner { onVanish(.refused(name: "org.freedesktop.DBus.Error.NameHasNoOwner")) }
        if new != nil { onAppear() }
    }
}
