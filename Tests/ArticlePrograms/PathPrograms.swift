// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import Network

/// A class as people wrote it before Swift had concurrency: not Sendable, changed by a queue.
final class Reachability {
    static let shared = Reachability()

    private let monitor = NWPathMonitor()
    private let queue = DispatchQueue(label: "Reachability")
    private(set) var isConnected = false
    private(set) var kind: NWInterface.InterfaceType?
    var changed: ((Bool) -> Void)?

    func begin() {
        monitor.pathUpdateHandler = { [weak self] path in
            guard let self = self else { return }
            self.isConnected = path.status == .satisfied
            self.kind = [.wifi, .wiredEthernet, .cellular, .loopback, .other].first { path.usesInterfaceType($0) }
            self.changed?(self.isConnected)
        }
        monitor.start(queue: queue)
    }

    func end() {
        monitor.cancel()
    }
}

extension ArticlePrograms {
    static func watchWithHandler() async {
        Reachability.shared.changed = { isConnected in
            let kind = Reachability.shared.kind.map { "\($0)" } ?? "nothing"
            print(isConnected ? "online by \(kind)" : "offline")
        }
        Reachability.shared.begin()
        await waitForever()
    }

    static func watchWithLoop() async {
        for await path in NWPathMonitor() {
            let names = path.availableInterfaces.map { $0.name }
            switch path.status {
            case .satisfied: print("satisfied \(names.joined(separator: ","))")
            case .unsatisfied: print("unsatisfied \(path.linuxReason ?? "")")
            case .requiresConnection: print("requires connection")
            @unknown default: print("unknown")
            }
        }
    }

    static func watchTypes() async {
        let wired = NWPathMonitor(requiredInterfaceType: .wiredEthernet)
        let wireless = NWPathMonitor(requiredInterfaceType: .wifi)
        wired.pathUpdateHandler = { path in
            print("wired \(path.status)")
        }
        wireless.pathUpdateHandler = { path in
            print("wireless \(path.status)")
        }
        wired.start(queue: .main)
        wireless.start(queue: .global(qos: .background))
        await waitForever()
        withExtendedLifetime((wired, wireless)) {}
    }
}
