// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// One well-known name on a bus: who owns it, its signals, and calls to it.
///
/// Signals count only from the connection that owns the name now.
final class BusService: BusListener {
    let name: String
    /// The unique name of the owner; `nil` while there is none.
    private(set) var owner: String?
    /// The service appeared, or its owner changed.
    var onAppear: () -> Void = {}
    /// The service, or the bus, went away.
    var onVanish: (ProviderError) -> Void = { _ in }
    var onSignal: (BusSignal) -> Void = { _ in }
    /// The bus refused to answer or to deliver signals.
    var onError: (ProviderError) -> Void = { _ in }

    /// Weak, because the connection keeps its listeners.
    private weak var connection: BusConnection?
    private let rules: [String]
    /// Counts connections, so that answers to questions of an earlier one are dropped.
    private var generation = 0
    private var retry: EventLoop.Timer?
    private var pause = Duration.zero

    /// Follows `name`; `rules` are what its signals must match, without type and sender.
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
        call(path, interface, member, values: arguments.map(BusArgument.text), completion: completion)
    }

    func call(
        _ path: String,
        _ interface: String,
        _ member: String,
        values arguments: [BusArgument],
        completion: @escaping (Result<[BusValue], ProviderError>) -> Void
    ) {
        connection?.call(BusMethod(name, path, interface, member), values: arguments, completion: completion)
    }

    func busDidConnect() {
        generation += 1
        pause = connection?.timing.shortestPause ?? .seconds(1)
        subscribe()
    }

    func busDidDisconnect(_ error: ProviderError) {
        generation += 1
        cancelRetry()
        guard owner != nil else { return onError(error) }
        owner = nil
        onVanish(error)
    }

    /// Subscribes to signals and queries the owner; tries again after a pause when the bus does not answer.
    private func subscribe() {
        cancelRetry()
        let sent = generation
        let changes =
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
            + "member='NameOwnerChanged',arg0='\(name)'"
        for rule in [changes] + rules.map({ "type='signal',sender='\(name)',\($0)" }) {
            connection?.call(.broker("AddMatch"), [rule]) { [weak self] result in
                guard let self, generation == sent, case .failure(let error) = result else { return }
                failed(error)
            }
        }
        connection?.call(.broker("GetNameOwner"), [name]) { [weak self] result in
            guard let self, generation == sent else { return }
            switch result {
            case .success(let values): setOwner(values.first?.text)
            case .failure(.refused(name: "org.freedesktop.DBus.Error.NameHasNoOwner")): setOwner(nil)
            case .failure(let error): failed(error)
            }
        }
    }

    private func failed(_ error: ProviderError) {
        onError(error)
        guard retry == nil, let connection else { return }
        retry = connection.loop.schedule(after: pause) { [weak self] in
            self?.retry = nil
            self?.subscribe()
        }
        pause = min(pause * 2, connection.timing.longestPause)
    }

    private func cancelRetry() {
        if let retry { connection?.loop.cancel(retry) }
        retry = nil
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
