// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import PathModel
internal import Spelling

extension Configuration {
    public var pathPolicy: PathPolicy {
        PathPolicy(
            probes: [.ipv4: probes.ipv4, .ipv6: probes.ipv6],
            ignore: ignore.map(\.description),
            interfaces: interfaces.map { entry in
                InterfacePolicy(
                    match: entry.name,
                    type: entry.value.type,
                    isRequired: entry.value.isRequired,
                    isExpensive: entry.value.isExpensive,
                    isConstrained: entry.value.isConstrained,
                    isUltraConstrained: entry.value.isUltraConstrained
                )
            },
            monitors: monitors.map(Self.policy) + views.map(Self.policy),
            requiresVPN: requireVPN,
            isGatewayStrict: gatewayLiveness.isStrict,
            redactsWifi: wifi.isRedacted
        )
    }

    private static func policy(_ monitor: Named<MonitorSettings>) -> MonitorPolicy {
        MonitorPolicy(
            name: monitor.name,
            requiredType: monitor.value.requiredType,
            prohibitedTypes: Set(monitor.value.prohibitedTypes)
        )
    }

    private static func policy(_ view: Named<ViewSettings>) -> MonitorPolicy {
        MonitorPolicy(
            name: view.name,
            mark: view.value.mark ?? 0,
            uid: view.value.userID,
            outputInterface: view.value.outputInterface
        )
    }
}
