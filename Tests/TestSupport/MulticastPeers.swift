// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A real avahi-daemon in a namespace, with a message bus of its own for avahi-publish.
public final class AvahiPeer {
    private let namespace: Namespace
    private let bus: PrivateBus
    private var daemon: RunningCommand?

    /// What the daemon and its publishers have printed: why a service is missing.
    public var printed: String { bus.scratch.read("printed") }

    /// Starts it; `interface` is the only one that it uses.
    public init(in namespace: Namespace, hostName: String, interface: String = "v1") async throws {
        self.namespace = namespace
        bus = try PrivateBus()
        let file = try bus.scratch.write(
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
            """,
            to: "avahi.conf"
        )
        // The daemon's pid file and socket have fixed places: each daemon gets its own view of them.
        let start = """
            mkdir -p /run/avahi-daemon && mount -t tmpfs none /run/avahi-daemon && mount -t tmpfs none /etc/avahi/services
            exec avahi-daemon --no-drop-root --no-rlimits --no-chroot -f \(file)
            """
        daemon = try run(["unshare", "--mount", "sh", "-c", start])
    }

    /// What runs a client of this daemon.
    public var inside: [String] {
        ["nsenter", "--net=\(namespace.path)", "env", "DBUS_SYSTEM_BUS_ADDRESS=\(bus.address)"]
    }

    private func run(_ words: [String]) throws -> RunningCommand {
        try RunningCommand(inside + ["sh", "-c", "exec \"$@\" >>\(bus.scratch.file("printed")) 2>&1", "sh"] + words)
    }

    /// Starts avahi-publish, which waits for the daemon; ending it withdraws the service.
    public func publish(
        _ name: String,
        _ type: String,
        _ port: Int,
        _ text: [String],
        options: [String] = []
    ) throws -> RunningCommand {
        try run(["avahi-publish", "-f", "-s"] + options + [name, type, String(port)] + text)
    }

    /// A client of the daemon that runs until it is dropped, and what it has printed.
    public func client(_ words: String...) throws -> PrintingProgram {
        // Clients end when the daemon is not there yet.
        let loop = "while true; do \"$@\" 2>&1; sleep 0.2; done"
        return try PrintingProgram(inside + ["sh", "-c", loop, "sh"] + words)
    }
}

/// python-zeroconf in a namespace.
public enum ZeroconfPeer {
    private static let announcing = """
        import signal, socket, sys, threading
        from zeroconf import IPVersion, ServiceInfo, Zeroconf
        name, kind, port, host, v4, v6, lifetime = sys.argv[1:8]
        lifetimes = {"host_ttl": int(lifetime), "other_ttl": int(lifetime)} if lifetime else {}
        def info(text, addresses):
            packed = [socket.inet_pton(socket.AF_INET6 if ":" in a else socket.AF_INET, a) for a in addresses]
            return ServiceInfo(kind + ".local.", name + "." + kind + ".local.", port=int(port), properties=text,
                               server=host + ".local.", addresses=packed, **lifetimes)
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

    private static let browsing = """
        import sys, time
        from zeroconf import IPVersion, NonUniqueNameException, ServiceBrowser, ServiceInfo, Zeroconf
        kind, taken = sys.argv[1] + ".local.", sys.argv[2]
        zeroconf = Zeroconf(ip_version=IPVersion.All)
        class Listener:
            def show(self, what, name):
                info = zeroconf.get_service_info(kind, name, 10000)
                if info is None: return say("unresolved", name)
                addresses = sorted(info.parsed_addresses())
                text = sorted(k.decode() + "=" + (v or b"-").decode() for k, v in info.properties.items())
                say(what, name, info.server, info.port, *addresses, *text)
                if taken and name.startswith(taken):
                    rival = ServiceInfo(kind, taken + "." + kind, port=99, server="rival.local.", addresses=[bytes(4)])
                    try: zeroconf.register_service(rival); say("registered")
                    except NonUniqueNameException: say("refused")
            def add_service(self, zc, kind, name): self.show("added", name)
            def update_service(self, zc, kind, name): self.show("updated", name)
            def remove_service(self, zc, kind, name): say("removed", name)
        browser = ServiceBrowser(zeroconf, kind, Listener())
        while True: time.sleep(1)
        """

    /// Announces a service of the host `zc-host` with two addresses, until SIGTERM.
    ///
    /// SIGUSR1 gives it another text, SIGUSR2 the address 192.0.2.77. Its records live for `lifetime` seconds.
    public static func announce(
        _ name: String,
        _ type: String,
        _ port: Int,
        in namespace: Namespace,
        addresses: (v4: String, v6: String),
        lifetime: Int? = nil
    ) throws -> RunningCommand {
        let about = [name, type, String(port), "zc-host", addresses.v4, addresses.v6, lifetime.map(String.init) ?? ""]
        let python = try PythonEnvironment.python.get()
        return try RunningCommand(["nsenter", "--net=\(namespace.path)", python, "-c", announcing] + about)
    }

    /// Browses one type and prints what it sees: `added NAME HOST PORT ADDRESS… KEY=VALUE…`, `updated …`, `removed NAME`.
    ///
    /// Where a service of the name `rival` comes, it tries to register another one and prints `refused` or `registered`.
    public static func browse(_ type: String, rival: String = "", in namespace: Namespace) throws -> PrintingProgram {
        try PrintingProgram(python: browsing, [type, rival], in: namespace)
    }
}
