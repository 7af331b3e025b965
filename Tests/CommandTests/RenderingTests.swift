// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import OrderedJSON
import Testing

@testable import nwpath

private let now = WallTime("2026-11-20T14:00:00Z") ?? WallTime(nanoseconds: 0)
private let plain = TextRenderer(now: now)
private let coloured = TextRenderer(Screen(palette: Palette(isColoured: true), width: 80), now: now)

private func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

@Suite struct StatusTextTests {
    private let satisfied = """
        {"message":"Path default is satisfied via eth0","since":"2026-11-20T10:00:00Z","path":{"status":"satisfied",
        "unsatisfied_reason":null,"message":null,"hint":null,"supports_ipv4":true,"supports_ipv6":true,"supports_dns":true,
        "interfaces":[{"name":"eth0","type":"wiredEthernet"}],"sources":["192.0.2.10"],"is_expensive":true,
        "link_quality":"good","underlying_types":["wifi"],"warnings":["dns_on_other_interface"]},
        "monitors":[{"monitor":"default"},{"monitor":"vpn","message":"Path vpn is unsatisfied: no tunnel",
        "since":"2026-11-20T13:58:47Z","path":{"status":"unsatisfied"}}],
        "interfaces":[],"gateways":[{"address":"192.0.2.1","interface":"eth0","family":"ipv4","metric":100,
        "reachable":true}],"dns":{"servers":["192.0.2.53","fe80::1%eth0"],"source":"/etc/resolv.conf","usable":true},
        "services":{"count":1,"types":3,"last_census":"2026-11-20T13:59:48Z"},
        "problems":[{"part":"log","message":"No space left"}]}
        """

    @Test func `an overview says everything once`() throws {
        let text = StatusText(renderer: plain).overview(try json(satisfied))
        let expected = """
            ✓ Path default is satisfied via eth0, for 4 h (since 10:00)
              supports  IPv4, IPv6, DNS
              via       eth0 (wiredEthernet)
              from      192.0.2.10
              traits    expensive, good link quality, over wifi
              warnings  dns_on_other_interface
            Monitors
              ✗ Path vpn is unsatisfied: no tunnel, for 1 min 13 s (since 13:58)
            Interfaces
              no interfaces
            Gateways
              ADDRESS    INTERFACE  FAMILY  METRIC  ANSWERS
              192.0.2.1  eth0       ipv4       100  yes
            DNS
              192.0.2.53, fe80::1%eth0 (/etc/resolv.conf)
            Services
              1 service of 3 types, last census 12 s ago
            Problems
              ! log: No space left

            """
        #expect(text == expected)
    }

    private let judged = """
        {"headline":{"state":"no_internet","message":"nothing beyond 192.0.2.1 answers","hint":"ask the provider",
        "since":"2026-11-20T13:57:20Z"},"chain":[{"element":"host","name":"office","condition":"good"},
        {"element":"interface","name":"eth0","condition":"good"},
        {"element":"gateway","name":"192.0.2.1","condition":"good","round_trip_seconds":0.0004},
        {"element":"internet","name":null,"condition":"broken"},{"element":"dns","name":null,"condition":"not_reached"}],
        "path":{"status":"satisfied","supports_ipv4":true,"supports_dns":true},"interfaces":[{"name":"eth0","usable":true,
        "addresses":[{"address":"192.0.2.10","prefix_length":24,"scope":"global"},{"address":"fe80::1","scope":"link"}]}],
        "services":{"count":200}}
        """

    @Test func `five lines answer without a question`() throws {
        let day = """
            {"since":"2026-11-19T14:00:00Z","until":"2026-11-20T14:00:00Z","availability_percent":99.5,"outages":[
            {"start":"2026-11-20T12:00:00Z","end":"2026-11-20T12:36:00Z","duration_seconds":2160}],
            "unknown":[{"start":"2026-11-19T14:00:00Z","end":"2026-11-19T16:00:00Z"}]}
            """
        let expected = """
            ✗ No Internet, for 2 min 40 s (since 13:57)
              nothing beyond 192.0.2.1 answers → ask the provider
              office ── eth0 ── 192.0.2.1 400 µs ─✗ Internet ┄ DNS
              24 h ··▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▃▇ 99.5 %, 1 outage, 36 min
              192.0.2.10/24 · 200 services nearby

            """
        let text = StatusText(renderer: plain)
        #expect(text.brief(try json(judged), history: try json(day)) == expected)
        let lines = text.brief(try json(judged), history: nil).split(separator: "\n")
        #expect(lines.count == 4)
    }

    @Test func `no sign of the path is green beside a headline, and names that nobody reached are not said to work`()
        throws
    {
        let text = StatusText(renderer: plain).overview(try json(judged))
        #expect(!text.contains("✓"))
        #expect(text.contains("\n  path      satisfied\n  supports  IPv4, DNS (unreachable), no IPv6\n"), "\(text)")
    }

    @Test func `why and hint follow the verdict`() throws {
        let status = """
            {"message":"Path default is unsatisfied: eth0 has no carrier","since":"x","path":{"status":"unsatisfied",
            "unsatisfied_reason":"no_carrier","message":"eth0 has no carrier","hint":"plug it in","supports_ipv4":false}}
            """
        let expected = """
            ✗ Path default is unsatisfied: eth0 has no carrier
              why       eth0 has no carrier (no_carrier)
              hint      plug it in
              supports  none

            """
        #expect(StatusText(renderer: plain).monitor(try json(status)) == expected)
    }

    @Test(arguments: [("satisfied", "✓", "32"), ("unsatisfied", "✗", "31"), ("requiresConnection", "!", "33")])
    func `a verdict has a sign and a colour`(status: String, sign: String, colour: String) throws {
        let monitor = try json("{\"path\":{\"status\":\"\(status)\"}}")
        #expect(StatusText(renderer: plain).verdict(monitor) == "\(sign) Path is \(status)")
        #expect(
            StatusText(renderer: coloured).verdict(monitor) == "\u{1B}[\(colour)m\(sign) Path is \(status)\u{1B}[0m"
        )
    }

    @Test func `what is remembered of services says since when, until when and why`() throws {
        let services = """
            {"services":[{"name":"Lamp","type":"_a._tcp","interface":"eth0","present":true,
            "first_seen":"2026-11-20T11:00:00Z","last_seen":"2026-11-20T12:00:00Z","appearances":1,"removed":null},
            {"name":"x\\n","type":"_a._tcp","interface":"eth0","present":false,"first_seen":"2026-11-20T11:00:00Z",
            "last_seen":"2026-11-20T11:00:00Z","appearances":3,"removed":{"reason":"expired"}},
            {"name":"y","type":"_a._tcp","interface":"eth0","present":false,"appearances":1,"removed":null}]}
            """
        let lines = ServiceText(renderer: plain).past(try json(services).list("services")).split(separator: "\n")
        #expect(lines.first?.split(separator: " ").last == "STATE")
        #expect(lines.dropFirst().first?.hasSuffix("2026-11-20 11:00:00  2026-11-20 12:00:00    1×  present") == true)
        #expect(lines.dropFirst(2).first?.hasSuffix("3×  expired") == true)
        #expect(lines.last?.hasSuffix("1×  missing") == true && lines.count == 4)
        #expect(ServiceText(renderer: plain).past([]) == "")
    }

    @Test func `words from elsewhere cannot steer the terminal`() throws {
        let hostile = try json(
            """
            {"message":"x\\u001b[2J\\ny","path":{"status":"satisfied","message":"\\u202e","hint":"\\u0007"},
            "dns":{"servers":["\\u009b1m"],"source":"\\r"},"problems":[{"part":"\\u0000","message":"\\u2028"}],
            "interfaces":[{"name":"\\u001b]0;a","problem":"\\n\\n"}]}
            """
        )
        let text = StatusText(renderer: plain).overview(hostile)
        #expect(
            text.unicodeScalars.allSatisfy { $0 == "\n" || ($0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)) }
        )
        #expect(!text.unicodeScalars.contains { [0x202E, 0x2028].contains($0.value) })
        #expect(text.contains("x\\u{1B}[2J\\ny"))
    }
}

@Suite struct InterfaceTextTests {
    private let eth0 = """
        {"name":"eth0","alternative_names":["lan","enp0s31f6"],"index":3,"type":"wiredEthernet","kind":"veth","up":true,"carrier":true,"operstate":"up",
        "mtu":1500,"usable":true,"problem":null,"master":"br0","hardware_address":"02:00:00:00:00:01",
        "carrier_changes":2,"required":true,"ignored":false,"is_expensive":true,"is_constrained":false,"addresses":[
        {"address":"192.0.2.10","prefix_length":24,"scope":"global","flags":[]},
        {"address":"fe80::1","prefix_length":64,"scope":"link","flags":["tentative"],"valid_seconds":3600}]}
        """
    private let wlan0 = """
        {"name":"wlan0","index":4,"type":"wifi","kind":null,"usable":false,"problem":"no_carrier","required":false}
        """

    @Test func `a list has a line for each`() throws {
        let text = InterfaceText(renderer: plain).list([try json(eth0), try json(wlan0)])
        let expected = """
            NAME   TYPE           KIND  STATE       ADDRESSES                 NOTES
            eth0   wiredEthernet  veth  usable      192.0.2.10/24 fe80::1/64  required, expensive
            wlan0  wifi                 no carrier

            """
        #expect(text == expected)
        #expect(!InterfaceText(renderer: plain).list([try json(wlan0)]).contains("NOTES"))
        #expect(InterfaceText(renderer: plain).list([]) == "no interfaces\n")
    }

    @Test(arguments: [
        (
            """
            "associated":true,"ssid":"office-7","bssid":"02:00:00:00:01:00","frequency_mhz":5180,"band":"5","signal_dbm":-47,
            "rx_bits_per_second":866700000,"tx_bits_per_second":780000000,"authorized":true
            """, "office-7, -47 dBm, 02:00:00:00:01:00, 5180 MHz (5 GHz), 866 Mbit/s in, 780 Mbit/s out"
        ),
        (
            """
            "associated":true,"ssid":null,"ssid_hex":"ff41","bssid":null,"frequency_mhz":58320,"band":null,"signal_dbm":null,
            "rx_bits_per_second":null,"tx_bits_per_second":null,"authorized":false
            """, "0xff41, 58320 MHz, not authorized"
        ), (#""associated":false,"authorized":null"#, "not associated"),
    ])
    func `of Wi-Fi the list and the interface have everything`(members: String, words: String) throws {
        let interface = try json(#"{"name":"wlan0","type":"wifi","usable":true,"wifi":{\#(members)}}"#)
        #expect(InterfaceText(renderer: plain).list([interface]).hasSuffix("  \(words)\n"))
        #expect(InterfaceText(renderer: plain).detail(interface).contains("\n  wifi  \(words)\n"))
    }

    @Test func `one interface has a line for everything known`() throws {
        let expected = """
            ✓ eth0: usable
              also called  lan, enp0s31f6
              type         wiredEthernet, veth
              index        3
              link         up, carrier, up
              mtu          1500 bytes
              hardware     02:00:00:00:00:01
              port of      br0
              carrier      2 changes
              notes        required, expensive
              addresses    192.0.2.10/24 (global)
                           fe80::1/64 (link, tentative, valid for 1 h)

            """
        #expect(InterfaceText(renderer: plain).detail(try json(eth0)) == expected)
        #expect(InterfaceText(renderer: plain).detail(try json(wlan0)).hasPrefix("✗ wlan0: no carrier\n"))
    }

    @Test(arguments: [
        ("{\"usable\":true}", "usable", Palette.Tone.good), ("{\"problem\":\"loopback\"}", "loopback", .faint),
        ("{\"problem\":\"no_address\"}", "no address", .warning),
        ("{\"problem\":\"no_address\",\"required\":true}", "no address", .bad), ("{}", "not usable", .warning),
    ])
    func `a state is in words`(interface: String, words: String, tone: Palette.Tone) throws {
        #expect(InterfaceText.state(try json(interface)) == TextTable.Cell(words, tone))
    }

    @Test func `on a narrow terminal addresses go on below, and names stay whole`() throws {
        let narrow = TextRenderer(Screen(width: 60), now: now)
        let text = InterfaceText(renderer: narrow).list([try json(eth0)])
        #expect(text.split(separator: "\n").allSatisfy { DisplayWidth.of($0) <= 60 })
        #expect(text.contains("eth0") && text.contains("fe80::1/64") && !text.contains("…"))
    }
}

@Suite struct GatewayTextTests {
    @Test(arguments: [("true", "yes"), ("false", "no"), ("null", "not tested")])
    func `a gateway answers, does not, or is not tested`(reachable: String, words: String) throws {
        let gateway = try json("{\"address\":\"fe80::1%eth0\",\"interface\":\"eth0\",\"reachable\":\(reachable)}")
        #expect(
            GatewayText(renderer: plain).gateways([gateway]).contains(
                "fe80::1%eth0  eth0                       \(words)\n"
            )
        )
    }

    @Test(arguments: [
        (
            "{\"servers\":[\"192.0.2.53\",\"::1\"],\"search\":[\"a.test\",\"b.test\"],\"source\":\"f\",\"usable\":true}",
            "? DNS: reachable, not tested (run `nwpath diagnose`)\n  servers  192.0.2.53\n           ::1\n  search   a.test b.test\n  source   f\n"
        ),
        (
            "{\"servers\":[\"192.0.2.53\"],\"usable\":false}",
            "✗ DNS: no name server is reachable\n  servers  192.0.2.53\n"
        ),
        ("{\"servers\":[],\"usable\":false}", "✗ DNS: no name server\n"),
        (
            "{\"servers\":[\"127.0.0.1\"],\"source\":\"f\",\"usable\":false,\"problem\":\"f cannot be read: EACCES\"}",
            "✗ DNS: no name server is reachable\n  servers  127.0.0.1\n  problem  f cannot be read: EACCES\n  source   f\n"
        ),
    ])
    func `name servers come with what is known of them`(dns: String, expected: String) throws {
        #expect(GatewayText(renderer: plain).dns(try json(dns)) == expected)
    }

    @Test(arguments: [
        ("good", "✓ DNS: answers"), ("degraded", "! DNS: partly failing or slow"),
        ("broken", "✗ DNS: does not answer"),
        ("not_reached", "✗ DNS: not working, because the Internet connection is down"),
        ("not_asked", "? DNS: reachable, not tested (run `nwpath diagnose`)"),
    ])
    func `name servers have a tick where one answered`(condition: String, line: String) throws {
        let dns = try json(#"{"servers":["192.0.2.53"],"usable":true}"#)
        #expect(GatewayText(renderer: plain).dns(dns, condition: condition).hasPrefix(line + "\n"))
        let none = try json(#"{"servers":["192.0.2.53"],"usable":false}"#)
        let text = GatewayText(renderer: plain).dns(none, condition: condition)
        #expect(text.hasPrefix("✗ DNS: no name server is reachable\n"))
    }

    private func findings() throws -> ProbeFindings {
        let probes = """
            {"probes":[
            {"method":"icmp","last":{"time":"2026-11-20T13:59:57Z","success":true,"duration_seconds":0.0004,
            "address":"192.0.2.1"}},
            {"method":"icmp","last":{"time":"2026-11-20T13:59:50Z","success":false,"reason":"timeout","address":"192.0.2.1"}},
            {"method":"dns","last":{"time":"2026-11-20T13:59:58Z","success":false,"reason":"refused",
            "address":"2001:db8::53"}},
            {"method":"tcp","last":{"time":"2026-11-20T13:59:59Z","success":true,"address":"192.0.2.53"}},
            {"method":"dns","last":{"success":null,"reason":"not_assessed","address":"192.0.2.53"}},
            {"method":"dns","last":null}]}
            """
        return ProbeFindings(try json(probes).list("probes"), now: now)
    }

    @Test func `what a probe found last of a gateway or a name server stands beside it`() throws {
        let findings = try findings()
        let text = GatewayText(renderer: plain, findings: findings)
        let gateways = try json(#"[{"address":"192.0.2.1"},{"address":"192.0.2.9","reachable":false}]"#).array ?? []
        let lines = text.gateways(gateways).split(separator: "\n")
        #expect(lines[1].hasSuffix("  yes, 400 µs, 3 s ago") && lines[2].hasSuffix("  no"), "\(lines)")
        let dns = try json(#"{"servers":["192.0.2.53:5353","[2001:db8::53]:53"],"usable":true}"#)
        let servers = text.dns(dns, condition: "broken").split(separator: "\n")
        #expect(servers[1].hasSuffix("  not tested") && servers[2].hasSuffix("  fails: refused, 2 s ago"), "\(servers)")
        #expect(findings.host("192.0.2.53")?.isGood == true && findings.host("2001:db8::53") == nil)
    }
}

@Suite struct EventTextTests {
    @Test(arguments: [
        (
            "{\"time\":\"2026-11-20T13:48:57.1015542Z\",\"event\":\"path.changed\",\"severity\":\"error\",\"message\":\"m\"}",
            "2026-11-20 13:48:57.101 ✗ path.changed       m\n"
        ),
        ("{\"event\":\"dns.changed\",\"severity\":\"warning\",\"message\":\"m\"}", "! dns.changed        m\n"),
        ("{\"event\":\"address.added\",\"severity\":\"info\",\"message\":\"m\"}", "+ address.added      m\n"),
        ("{\"event\":\"service.removed\",\"severity\":\"info\",\"message\":\"a\\nb\"}", "- service.removed    a\\nb\n"),
        ("{\"event\":\"route.changed\",\"severity\":\"debug\",\"message\":\"m\"}", "· route.changed      m\n"),
        ("{\"event\":\"daemon.started\",\"severity\":\"info\",\"message\":\"m\"}", "• daemon.started     m\n"),
        (
            "{\"event\":\"path.changed\",\"severity\":\"info\",\"message\":\"m\",\"path\":{\"status\":\"satisfied\"}}",
            "✓ path.changed       m\n"
        ),
        (
            "{\"event\":\"service.resolve_failed\",\"severity\":\"info\",\"message\":\"m\"}",
            "• service.resolve_failed m\n"
        ),
        (
            "{\"event\":\"stream.reset\",\"message\":\"Events were lost\"}",
            "! stream.reset       Events were lost\n"
        ),
        ("{}", "•" + String(repeating: " ", count: 20) + "\n"),
    ])
    func `an event is one line`(event: String, expected: String) throws {
        #expect(EventText(renderer: plain).line(try json(event)) == expected)
    }
}

@Suite struct ServiceTextTests {
    private let service = """
        {"name":"Büro 打印\\u001b[1m","type":"_ipp._tcp","interface":"eth0","host":"p.local","port":631,
        "addresses":["192.0.2.60"],"txt":{"rp":"ipp/print","note":null}}
        """

    @Test func `a service is a line, with TXT below when asked for`() throws {
        let text = ServiceText(renderer: plain).list([try json(service)], hasText: true)
        let lines = text.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines[1].contains("Büro 打印\\u{1B}[1m  eth0       p.local   631  192.0.2.60"))
        #expect(lines[2].hasSuffix("  rp=ipp/print"))
        #expect(lines[3].hasSuffix("  note"))
        #expect(ServiceText(renderer: plain).list([try json(service)]).split(separator: "\n").count == 2)
        #expect(ServiceText(renderer: plain).list([]) == "")
        let types = try json(#"{"types":["_a._tcp","\u0007"]}"#)
        #expect(ServiceText(renderer: plain).types(types) == "_a._tcp\n\\u{7}\n")
    }

    @Test func `types and pairs are explained, and stay as they are`() throws {
        let named = service.dropLast() + #","type_name":"Printer","txt_meanings":{"rp":"queue"}}"#
        let lines = ServiceText(renderer: plain).list([try json(String(named))], hasText: true).split(separator: "\n")
        #expect(lines[0].hasSuffix("ADDRESSES   WHAT") && lines[1].hasSuffix("192.0.2.60  Printer"))
        #expect(lines[2...] == ["  rp=ipp/print  (queue)", "  note"])
        let types = try json(
            #"{"types":["_ipp._tcp","_a._tcp"],"type_names":{"_ipp._tcp":"Printer","_a._tcp":"_a._tcp"}}"#
        )
        #expect(ServiceText(renderer: plain).types(types) == "_ipp._tcp  Printer\n_a._tcp\n")
    }
}

@Suite struct HistoryTextTests {
    private let history = """
        {"monitor":"default","since":"2026-11-19T14:00:00Z","until":"2026-11-20T14:00:00Z","known_seconds":86400,
        "satisfied_seconds":86148,"availability_percent":99.708,"outages":[
        {"start":"2026-11-20T01:00:00.5Z","end":"2026-11-20T01:04:00.5Z","duration_seconds":240,"reason":"no_carrier",
        "message":"a, \\"b\\""},
        {"start":"2026-11-20T13:59:48Z","end":null,"duration_seconds":12.25,"reason":"no_default_route","message":"c"}]}
        """

    @Test func `outages follow the share of time`() throws {
        let expected = """
            Path default from 2026-11-19 14:00:00 to 2026-11-20 14:00:00 (1 d)
            ✗ 99.7 % available, 1 d recorded
            ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▆
            2 outages, 4 min 12 s total
              no_carrier: 1 outage, 4 min
              no_default_route: 1 outage, 12 s
            START                END                  DURATION  REASON            MESSAGE
            2026-11-20 01:00:00  2026-11-20 01:04:00     4 min  no_carrier        a, "b"
            2026-11-20 13:59:48  ongoing                  12 s  no_default_route  c

            """
        let text = HistoryText(renderer: plain).all(try json(history))
        #expect(text == expected)
    }

    @Test func `an outage that ended leaves no bad sign`() throws {
        let past = """
            {"availability_percent":99.999,"known_seconds":86400,"outages":[
            {"start":"2026-11-20T01:00:00Z","end":"2026-11-20T01:04:00Z","duration_seconds":240.5,"reason":"r"}]}
            """
        let text = HistoryText(renderer: plain).all(try json(past))
        #expect(text.contains("\n✓ 99.9 % available, 1 d recorded\n1 outage, 4 min total\n") && !text.contains("✗"))
    }

    @Test func `comma-separated values are quoted where they must be`() throws {
        let expected = """
            start,end,duration_seconds,reason,message
            2026-11-20T01:00:00.5Z,2026-11-20T01:04:00.5Z,240,no_carrier,"a, ""b""\"
            2026-11-20T13:59:48Z,,12.25,no_default_route,c

            """
        #expect(HistoryText.csv(try json(history)) == expected)
    }

    @Test func `nothing known and nothing wrong are told apart`() throws {
        let unknown = try json("{\"monitor\":\"x\",\"availability_percent\":null,\"outages\":[]}")
        #expect(HistoryText(renderer: plain).all(unknown).hasSuffix("no data for this period\n"))
        let good = try json("{\"availability_percent\":100,\"known_seconds\":5,\"satisfied_seconds\":5,\"outages\":[]}")
        #expect(HistoryText(renderer: plain).all(good).contains("✓ 100.0 % available, 5 s recorded\n"))
        #expect(HistoryText(renderer: plain).outages(good) == "no outages\n")
    }

    @Test(
        arguments: [
            (99.999, "99.9 %"), (99.9999, "99.9 %"), (100, "100.0 %"), (57.3, "57.3 %"), (0.04, "0.0 %"), (-1, "? %"),
            (.nan, "? %"),
        ]
    )
    func `a share is never rounded up`(value: Double, text: String) {
        #expect(HistoryText.percent(value) == text)
    }
}

@Suite struct AgeTextTests {
    @Test(
        arguments: [
            (Duration.zero, "0 s"), (.milliseconds(250), "250 ms"), (.milliseconds(1999), "1 s"),
            (.seconds(73), "1 min 13 s"),
            (.seconds(60), "1 min"), (.seconds(3659), "1 h"), (.seconds(273_659), "3 d 4 h"), (.seconds(-5), "0 s"),
            (.seconds(8_640_000), "100 d"),
        ] as [(Duration, String)]
    )
    func `a duration has its two largest units`(duration: Duration, text: String) {
        #expect(AgeText.of(duration) == text)
    }

    @Test(
        arguments: [(12.5, "12 s"), (0.0004, "0 s"), (nil, "?"), (-1, "?"), (.infinity, "?"), (1e300, "?")]
            as [(Double?, String)]
    )
    func `so have seconds as JSON has them`(seconds: Double?, text: String) {
        #expect(AgeText.of(seconds: seconds) == text)
    }

    @Test func `moments are cut, not rounded, and what is no time stays readable`() {
        #expect(AgeText.dayAndTime("2026-11-20T13:48:50.999Z") == "2026-11-20 13:48:50")
        #expect(AgeText.preciseTime("2026-11-20T14:48:50.9999+01:00") == "2026-11-20 13:48:50.999")
        #expect(AgeText.dayAndTime("soon\u{1B}") == "soon\\u{1B}")
        #expect(AgeText.dayAndTime(nil) == "?")
        #expect(AgeText.since("2026-11-20T14:00:05Z", now: now) == "0 s")
        #expect(AgeText.since("x", now: now) == nil)
    }
}
