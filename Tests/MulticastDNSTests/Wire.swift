// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import MulticastDNS
import Synchronization
import TestSupport
import Testing

/// A link between the test's namespace and a peer, with addresses of both families.
struct Wire {
    let here: Namespace
    let peer: Namespace

    init() throws {
        here = Namespace.current
        peer = try Namespace()
        for namespace in [here, peer] {
            // Addresses must work at once.
            let accept = "for i in all default; do echo 0 > /proc/sys/net/ipv6/conf/$i/accept_dad; done"
            try namespace.run(["sh", "-c", accept])
        }
        try here.connect("v0", to: peer, as: "v1")
        try here.ip("address add 192.0.2.1/24 dev v0")
        try peer.ip("address add 192.0.2.2/24 dev v1")
        try here.waitForAddresses(on: "v0", isLinkLocal: true)
        try peer.waitForAddresses(on: "v1", isLinkLocal: true)
    }

    /// The interface on this side, as the kernel has it now.
    func interface() throws -> MulticastInterface { try here.multicastInterface("v0") }
}

extension Namespace {
    /// Sends bytes from port 5353 of an interface, to the group or to one host alone.
    func multicast(
        _ bytes: [UInt8],
        from interface: Int,
        by families: [AddressFamily] = AddressFamily.allCases,
        to host: IPAddress? = nil
    ) {
        loop.perform {
            for family in families where (host?.family ?? family) == family {
                guard let socket = try? MulticastSocket(family, interface: interface) else { continue }
                if let host { try? socket.send(bytes.span, to: host, port: 5353) } else { try? socket.send(bytes.span) }
            }
        }
    }

    /// Reads an interface's index and addresses.
    func multicastInterface(_ name: String) throws -> MulticastInterface {
        let link = try ip("-o link show \(name)")
        let index = try #require(link.split(separator: ":").first.flatMap { Int($0) })
        let words = try ip("-o address show \(name)").split(whereSeparator: \.isWhitespace)
        let prefixes = words.indices.filter { words[$0] == "inet" || words[$0] == "inet6" }.map { words[$0 + 1] }
        let addresses = prefixes.compactMap { prefix -> MulticastInterface.Address? in
            let parts = prefix.split(separator: "/")
            guard let address = IPAddress(parts[0]), let length = Int(parts[1]) else { return nil }
            return .init(address, prefixLength: length)
        }
        return MulticastInterface(index: index, name: name, addresses: addresses)
    }
}

/// A census that writes down what it reports.
final class Recorder {
    let census: ServiceCensus
    private(set) var events: [ServiceEvent] = []

    init(_ wire: Wire, interval: Duration = .seconds(60)) throws {
        var settings = CensusSettings()
        settings.interval = interval
        census = ServiceCensus(loop: wire.here.loop, clock: KernelClock(), settings: settings)
        census.onEvent = { [unowned self] in events.append($0) }
        census.setInterfaces([try wire.interface()])
    }

    deinit { census.stop() }

    func service(_ name: String, on interface: String) -> Service? {
        census.services.first { $0.name == name && $0.interface == interface }
    }

    func service(_ name: String) -> Service? { census.services.first { $0.name == name } }

    /// How long ago a service was last heard of.
    func age(of name: String) -> Duration {
        service(name).map { KernelClock().boot - $0.lastSeen } ?? .zero
    }

    var removals: [(name: String, reason: RemovalReason)] {
        events.compactMap { event in
            guard case .removed(let service, let reason, _) = event else { return nil }
            return (service.name, reason)
        }
    }

    var changes: [(service: Service, fields: [ServiceField])] {
        events.compactMap { event in
            guard case .changed(let service, let fields, _) = event else { return nil }
            return (service, fields)
        }
    }

    var summaries: [CensusSummary] {
        events.compactMap { event in
            guard case .censusCompleted(let summary) = event else { return nil }
            return summary
        }
    }
}

/// A directory of its own for a peer's files, removed with this value.
final class Scratch {
    let path: String

    init() throws {
        path =
            try Command.run(["mktemp", "-d", "/tmp/nwpath-test-XXXXXX"]).split(separator: "\n").first.map(String.init)
            ?? ""
    }

    deinit { _ = try? Command.run(["rm", "-rf", path]) }

    func write(_ name: String, _ text: String) throws -> String {
        try Command.run(["sh", "-c", "cat > \(path)/\(name)"], input: text)
        return "\(path)/\(name)"
    }
}

/// A real avahi-daemon in a namespace, with a message bus of its own for avahi-publish.
final class AvahiPeer {
    private let namespace: Namespace
    private let scratch: Scratch
    private var processes: [RunningCommand] = []
    private var bus: String { "unix:path=\(scratch.path)/bus" }

    init(in namespace: Namespace, hostName: String, interface: String = "v1") async throws {
        self.namespace = namespace
        scratch = try Scratch()
        let policy = "<allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/>"
        let busFile = try scratch.write(
            "bus.conf",
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><type>system</type><listen>\(bus)</listen><auth>EXTERNAL</auth>
            <policy context="default">\(policy)</policy></busconfig>
            """
        )
        let file = try scratch.write(
            "avahi.conf",
            """
            [server]
            host-name=\(hostName)
            use-ipv4=yes
            use-ipv6=yes
            allow-interfaces=\(interface)
            [publish]
            publish-workstation=no
            publish-hinfo=no
            [rlimits]
            """
        )
        processes.append(try RunningCommand(["dbus-daemon", "--nofork", "--config-file=\(busFile)"]))
        // The daemon's pid file and socket have fixed places: each daemon gets its own view of them.
        let start = """
            mkdir -p /run/avahi-daemon && mount -t tmpfs none /run/avahi-daemon && mount -t tmpfs none /etc/avahi/services
            until [ -S \(scratch.path)/bus ]; do sleep 0.02; done
            exec avahi-daemon --no-drop-root --no-rlimits --no-chroot -f \(file)
            """
        processes.append(try RunningCommand(inside + ["unshare", "--mount", "sh", "-c", start]))
    }

    /// What runs a client of this daemon.
    var inside: [String] {
        ["nsenter", "--net=\(namespace.path)", "env", "DBUS_SYSTEM_BUS_ADDRESS=\(bus)"]
    }

    /// Starts avahi-publish; ending it withdraws the service.
    func publish(
        _ name: String,
        _ type: String,
        _ port: Int,
        _ text: [String],
        options: [String] = []
    ) throws -> RunningCommand {
        // The bus must be there before the client is; with -f it waits for the daemon itself.
        let wait = "until [ -S \(scratch.path)/bus ]; do sleep 0.02; done; exec \"$@\""
        let words = ["avahi-publish", "-f", "-s"] + options + [name, type, String(port)] + text
        return try RunningCommand(inside + ["sh", "-c", wait, "sh"] + words)
    }
}

/// python-zeroconf in a namespace, announcing one service until it is ended.
enum ZeroconfPeer {
    private static let script = """
        import signal, socket, sys, threading
        from zeroconf import IPVersion, ServiceInfo, Zeroconf
        name, kind, port, host, v4, v6 = sys.argv[1:7]
        def info(text, addresses):
            packed = [socket.inet_pton(socket.AF_INET6 if ":" in a else socket.AF_INET, a) for a in addresses]
            return ServiceInfo(kind + ".local.", name + "." + kind + ".local.", port=int(port), properties=text,
                               server=host + ".local.", addresses=packed)
        signals = [signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2]
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        zeroconf = Zeroconf(ip_version=IPVersion.All)
        zeroconf.register_service(info({"version": "1", "flag": None}, [v4, v6]))
        while True:
            caught = signal.sigwait(signals)
            if caught == signal.SIGUSR1: zeroconf.update_service(info({"version": "2", "flag": None}, [v4, v6]))
            if caught == signal.SIGUSR2: zeroconf.update_service(info({"version": "2", "flag": None}, ["192.0.2.77", v6]))
            if caught == signal.SIGTERM: break
        zeroconf.close()
        """

    static func announce(
        _ name: String,
        _ type: String,
        _ port: Int,
        in namespace: Namespace,
        interface: String = "v1",
        _ v4: String = "192.0.2.2"
    ) throws -> RunningCommand {
        let v6 = try #require(
            try namespace.multicastInterface(interface).addresses.first { $0.address.family == .ipv6 }
        )
        return try RunningCommand([
            "nsenter", "--net=\(namespace.path)", ".build/venv/bin/python3", "-c", script, name, type, String(port),
            "zc-host", v4, v6.address.description,
        ])
    }
}
