// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Providers

@Suite struct LeaseTests {
    @Test(
        arguments: [
            ("ANDROID_METERED", true), ("\u{1}ANDROID_METERED", true), ("plain", false), ("", false),
            ("414e44524f49445f4d455445524544", true), ("41:4e:44:52:4f:49:44:5f:4d:45:54:45:52:45:44", true),
            ("41:4e:44", false), ("41:zz", false), ("414", false), ("a:41", false),
        ]
    )
    func `finds Android's hint as text and in both kinds of hexadecimal`(value: String, expected: Bool) {
        #expect(VendorOption.isAndroidMetered(value) == expected)
    }

    @Test func `reads a lease of systemd-networkd`() {
        let lease = "# This is private data. Do not parse.\nADDRESS=192.0.2.9\nVENDOR_SPECIFIC="
        #expect(LeaseFile.isNetworkdLeaseMetered(lease + "414e44524f49445f4d455445524544\n"))
        #expect(!LeaseFile.isNetworkdLeaseMetered(lease + "0102\n"))
        #expect(!LeaseFile.isNetworkdLeaseMetered("ADDRESS=192.0.2.9\nHOSTNAME=ANDROID_METERED\n"))
    }

    private func dhclient(_ interface: String, _ option: String) -> String {
        """
        lease {
          interface "\(interface)";
          fixed-address 192.0.2.9;
          \(option)
          expire 4 2026/11/26 12:00:00;
        }

        """
    }

    @Test func `lets the last lease of each interface of dhclient count`() {
        let hint = "option vendor-encapsulated-options 41:4e:44:52:4f:49:44:5f:4d:45:54:45:52:45:44;"
        let quoted = "option vendor-encapsulated-options \"ANDROID_METERED\";"
        let old = dhclient("eth0", hint) + dhclient("wlan0", quoted)
        #expect(LeaseFile.meteredInterfaces(inDhclientLeases: old) == ["eth0", "wlan0"])
        let new = old + dhclient("eth0", "option routers 192.0.2.1;")
        #expect(LeaseFile.meteredInterfaces(inDhclientLeases: new) == ["wlan0"])
    }

    @Test func `is not led astray by half a file`() {
        let text = dhclient("eth0", "option vendor-encapsulated-options \"ANDROID_METERED\";")
        for length in 0..<(text.count - 3) {
            #expect(LeaseFile.meteredInterfaces(inDhclientLeases: String(text.prefix(length))).isEmpty)
        }
    }
}

@Suite(.inNamespace) struct LeaseMonitorTests {
    @Test func `follows lease files that come and go`() async throws {
        let namespace = Namespace.current
        let scratch = try Scratch()
        try namespace.ip("link add v0 type veth peer name v1")
        let index = try #require(InterfaceNames.kernel.index("v0"))
        let watcher = LeaseMonitor(loop: namespace.loop, networkd: scratch("netif"), dhclient: scratch("dhcp"))
        watcher.start()
        #expect(watcher.metered.isEmpty && watcher.health.state == .absent)
        try Command.run(["mkdir", scratch("netif"), scratch("dhcp")])
        try scratch.write("VENDOR_SPECIFIC=414e44524f49445f4d455445524544\n", to: "netif/7")
        await namespace.loop.eventually { watcher.metered == [7] }
        let lease = "lease {\n interface \"v0\";\n option vendor-encapsulated-options \"ANDROID_METERED\";\n}\n"
        try scratch.replace("dhcp/dhclient.v0.leases", with: lease)
        await namespace.loop.eventually { watcher.metered == [7, index] }
        try Command.run(["rm", scratch("netif/7")])
        await namespace.loop.eventually { watcher.metered == [index] }
        watcher.stop()
    }
}
