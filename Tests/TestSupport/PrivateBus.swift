// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A message bus of a test's own: a real dbus-daemon, to which programs can connect once it is started.
public final class PrivateBus {
    /// Where its socket and its configuration are.
    public let scratch: Scratch
    /// The daemon; `nil` before its start and after ``kill()``.
    public private(set) var daemon: RunningCommand?

    /// Where programs find it, for `DBUS_SYSTEM_BUS_ADDRESS`.
    public var address: String { "unix:path=\(scratch.file("bus"))" }

    /// Makes a bus that allows everything, and starts it unless that is left for later.
    public init(running: Bool = true) throws {
        scratch = try Scratch()
        try scratch.write(
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><type>system</type><listen>\(address)</listen><auth>EXTERNAL</auth>
            <policy context="default"><allow user="*"/><allow own="*"/>
            <allow send_type="method_call"/><allow send_type="signal"/>
            <allow send_requested_reply="true" send_type="method_return"/>
            <allow send_requested_reply="true" send_type="error"/>
            <allow receive_type="method_call"/><allow receive_type="method_return"/>
            <allow receive_type="error"/><allow receive_type="signal"/></policy></busconfig>
            """,
            to: "bus.conf"
        )
        if running { try start() }
    }

    /// Starts the daemon and waits until it takes connections: its socket is there before, and refuses them.
    public func start() throws {
        let (ready, configuration) = (scratch.file("ready"), scratch.file("bus.conf"))
        try Command.run(["rm", "-f", scratch.file("bus"), ready])
        let program = "exec dbus-daemon --config-file=\(configuration) --nofork --nopidfile --print-address >\(ready)"
        daemon = try RunningCommand(["sh", "-c", program])
        try Command.run(["timeout", "60", "sh", "-c", "until [ -s \(ready) ]; do sleep 0.02; done"])
    }

    /// Ends the daemon at once.
    public func kill() { daemon = nil }
}
