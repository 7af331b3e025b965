// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Providers

/// Lease files as the clients write them, and as they look after years.
@Suite struct LeaseFormatTests {
    private static let hint = "option vendor-encapsulated-options 41:4e:44:52:4f:49:44:5f:4d:45:54:45:52:45:44;"

    private static func lease(_ interface: String, _ lines: String...) -> String {
        "lease {\n  interface \"\(interface)\";\n" + lines.map { "  \($0)\n" }.joined() + "  expire never;\n}\n"
    }

    /// A lease of DHCPv6, whose blocks stand inside each other.
    private static func sixth(_ interface: String) -> String {
        """
        lease6 {
          interface "\(interface)";
          ia-na 5a:9e:a5:12 {
            starts 1795176000;
            iaaddr 2001:db8::9 {
              max-life 7200;
            }
          }
          option dhcp6.name-servers 2001:db8::53;
        }

        """
    }

    private static let quoted = "option vendor-encapsulated-options \"x ANDROID_METERED y\";"
    private static let other = "option vendor-class-identifier \"ANDROID_METERED\";"
    private static let late = "option vendor-encapsulated-options 1:2;"
    private static let both: Set<String> = ["eth0", "eth1"]

    /// The parts of a file, and the interfaces it finds to be metered.
    private static let files: [([String], Set<String>)] = [
        ([lease("eth0", hint)], ["eth0"]),
        // What DHCPv6 got says nothing of the lease of IPv4.
        ([lease("eth0", hint), sixth("eth0")], ["eth0"]),
        ([sixth("eth0"), lease("eth0", hint)], ["eth0"]),
        ([sixth("eth0")], []),
        (["default-duid \"\\000\\001\";\n", lease("eth0", hint)], ["eth0"]),
        ([lease("eth0", hint), lease("eth1")], ["eth0"]),
        ([lease("eth0", hint), lease("eth1", hint)], both),
        ([lease("eth0", hint), lease("eth0")], []),
        ([lease("eth0", hint, late)], []),
        ([lease("eth0", quoted)], ["eth0"]),
        ([lease("eth0", other)], []),
        // An option outside of any lease is nobody's, and so is one of a lease without an interface.
        ([hint, "\n", lease("eth0")], []),
        (["lease {\n", hint, "\n}\n", lease("eth1")], []),
        (["}\n}\n", lease("eth0", hint)], ["eth0"]),
        (["\t", lease("eth0", hint)], ["eth0"]),
    ]

    @Test(arguments: files)
    func `of dhclient's file the last lease of IPv4 counts`(parts: [String], metered: Set<String>) {
        #expect(LeaseFile.meteredInterfaces(inDhclientLeases: parts.joined()) == metered)
    }

    @Test(
        arguments: [
            ("VENDOR_SPECIFIC=414e44524f49445f4d455445524544", true),
            ("VENDOR_SPECIFIC=414E44524F49445F4D455445524544", true),
            ("ADDRESS=192.0.2.9\nVENDOR_SPECIFIC=010f414e44524f49445f4d45544552454400\nDNS=192.0.2.1", true),
            ("OPTION_43=414e44524f49445f4d455445524544", false), ("VENDOR_SPECIFIC=", false),
            ("VENDOR_SPECIFIC=414e44524f49445f4d4554455245", false), ("VENDOR_SPECIFIC=41 4e", false),
            ("#VENDOR_SPECIFIC=414e44524f49445f4d455445524544", false), ("", false),
        ]
    )
    func `a lease of systemd-networkd is read by its key`(text: String, isMetered: Bool) {
        #expect(LeaseFile.isNetworkdLeaseMetered(text) == isMetered)
        #expect(LeaseFile.isNetworkdLeaseMetered("LIFETIME=1\n" + text + "\n") == isMetered)
    }

    @Test func `a value too long for an option is not taken for hexadecimal`() {
        let long = String(repeating: "00", count: 600) + "414e44524f49445f4d455445524544"
        #expect(!VendorOption.isAndroidMetered(long))
        #expect(VendorOption.isAndroidMetered(String(long.dropFirst(300))))
    }
}

@Suite(.inNamespace) struct LeaseDirectoryTests {
    private let loop = Namespace.current.loop
    private let metered = "VENDOR_SPECIFIC=414e44524f49445f4d455445524544\n"

    @Test func `only files that are leases are read, and none of them can hang the loop`() throws {
        let scratch = try Scratch()
        try Command.run(["mkdir", "-p", scratch("netif/9"), scratch("dhcp")])
        try Command.run(["mkfifo", scratch("netif/8"), scratch("dhcp/dhclient.pipe.leases")])
        for name in ["netif/7", "netif/eth0", "netif/7.tmp"] { try scratch.write(metered, to: name) }
        let lease = "lease {\n interface \"lo\";\n option vendor-encapsulated-options \"ANDROID_METERED\";\n}\n"
        for name in ["dhcp/other.leases", "dhcp/dhclient.conf"] { try scratch.write(lease, to: name) }
        let watcher = LeaseMonitor(loop: loop, networkd: scratch("netif"), dhclient: scratch("dhcp"))
        watcher.start()
        #expect(watcher.metered == [7])
        #expect(watcher.health.state == .active)
        try scratch.write(lease, to: "dhcp/dhclient-abc.leases")
        var changes = 0
        watcher.onChange = { changes += 1 }
        watcher.refresh()
        #expect(watcher.metered == [1, 7] && changes == 1)
        watcher.refresh()
        #expect(changes == 1)
        watcher.stop()
    }

    @Test func `a lease larger than the limit is read up to it`() throws {
        let scratch = try Scratch()
        try Command.run(["mkdir", scratch("netif")])
        try scratch.write(metered + String(repeating: "X=1\n", count: 200_000), to: "netif/7")
        try scratch.write(String(repeating: "X=1\n", count: 200_000) + metered, to: "netif/8")
        let watcher = LeaseMonitor(loop: loop, networkd: scratch("netif"), dhclient: scratch("none"))
        watcher.start()
        #expect(watcher.metered == [7])
        watcher.stop()
    }
}
