// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Receives from logind that the machine woke up (rule S49).
///
/// Confined to the loop's thread. An early hint only: the clocks reveal sleep where there is no logind.
public final class LoginSleepProvider {
    /// The machine woke up: `PrepareForSleep(false)` of org.freedesktop.login1(5).
    public var onResume: () -> Void = {}
    public private(set) var health = ProviderHealth()

    private let service: BusService

    /// Prepares to listen over `connection`.
    public init(connection: BusConnection) {
        service = BusService(
            connection: connection,
            name: "org.freedesktop.login1",
            rules: ["interface='org.freedesktop.login1.Manager',member='PrepareForSleep'"]
        )
        service.onAppear = { [weak self] in self?.health.succeed() }
        service.onVanish = { [weak self] error in
            self?.health.lastError = error
            self?.health.state = .absent
        }
        service.onError = { [weak self] error in self?.health.lastError = error }
        service.onSignal = { [weak self] signal in
            guard signal.member == "PrepareForSleep", signal.arguments.first?.flag == false else { return }
            self?.onResume()
        }
    }

    public func start() { service.start() }
}
