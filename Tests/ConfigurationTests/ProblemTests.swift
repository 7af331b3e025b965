// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Configuration

@Suite struct ProblemTests {
    @Test(arguments: [
        ("listn: []", "nwpath.yaml:1:1: unknown key 'listn' (did you mean 'listen'?)"),
        (
            "interfaces:\n  eth0:\n    reqired: true",
            "nwpath.yaml:3:5: unknown key 'reqired' in interfaces.eth0 (did you mean 'required'?)"
        ),
        ("log: {rotate: 3}", "nwpath.yaml:1:7: unknown key 'rotate' in log"),
        ("<<: {a: b}", "nwpath.yaml:1:1: unknown key '<<'"),
        ("- a", "nwpath.yaml:1:1: the file is a list, expected a map of keys and values"),
        ("log: yes", "nwpath.yaml:1:6: log is 'yes', expected a map of keys and values"),
        ("insecure: yes", "nwpath.yaml:1:11: insecure is 'yes', expected true or false (did you mean 'true'?)"),
        ("insecure: treu", "nwpath.yaml:1:11: insecure is 'treu', expected true or false (did you mean 'true'?)"),
        ("insecure: 'true'", "nwpath.yaml:1:11: insecure is 'true', expected true or false without quotes"),
        ("insecure:", "nwpath.yaml:1:10: insecure is empty, expected true or false"),
        ("insecure: [true]", "nwpath.yaml:1:11: insecure is a list, expected true or false"),
        (
            "audit_interval: 10",
            """
            nwpath.yaml:1:17: audit_interval is '10', expected a duration such as 250ms, 10s, 5m, 1h or 7d, from 1s to \
            1d, or 0 (off)
            """
        ),
        (
            "audit_interval: 1ms",
            "nwpath.yaml:1:17: audit_interval is '1ms', expected a duration from 1s to 1d, or 0 (off)"
        ),
        (
            "mdns: {census_interval: 0}",
            "nwpath.yaml:1:25: mdns.census_interval is '0', expected a duration from 10s to 1d"
        ),
        (
            "log: {max_size: 1KiB}",
            "nwpath.yaml:1:17: log.max_size is '1KiB', expected a size from 64KiB to 4GiB, or 0 (never)"
        ),
        (
            "log: {max_size: 10M}",
            """
            nwpath.yaml:1:17: log.max_size is '10M', expected a size such as 4096, 16KiB, 10MiB or 1GiB, from 64KiB to \
            4GiB, or 0 (never)
            """
        ),
        ("log: {keep: -1}", "nwpath.yaml:1:13: log.keep is '-1', expected a whole number from 0 to 1000"),
        ("log: {keep: 1.0}", "nwpath.yaml:1:13: log.keep is '1.0', expected a whole number from 0 to 1000"),
        (
            "log: {level: inof}",
            "nwpath.yaml:1:14: log.level is 'inof', expected one of debug, info (did you mean 'info'?)"
        ),
        (
            "log: {file: events.jsonl}",
            """
            nwpath.yaml:1:13: log.file is 'events.jsonl', expected an absolute path, or - for standard output
            """
        ),
        (
            "hosts: nas",
            """
            nwpath.yaml:1:8: hosts is 'nas', expected a list; each item a host name such as nas.example.test, without a port
            """
        ),
        (
            "hosts: [nas, 'a b']",
            """
            nwpath.yaml:1:14: hosts[1] is 'a b', expected a host name such as nas.example.test, without a port
            """
        ),
        (
            "listen: [8353]",
            """
            nwpath.yaml:1:10: listen[0] is '8353', expected unix:PATH or ADDRESS:PORT, such as 127.0.0.1:8353 or \
            [::1]:8353
            """
        ),
        (
            "listen: ['0.0.0.0:8353']",
            """
            nwpath.yaml:1:10: listen[0] 0.0.0.0:8353 is reachable from other hosts: set tls_server_config, \
            basic_auth_users or token_file, use a loopback address, or set \
            insecure: true
            """
        ),
        ("listen: ['[::1]:1', '[::1]:1']", "nwpath.yaml:1:21: listen[1] names [::1]:1 twice"),
        ("listen: []", "nwpath.yaml:1:9: listen needs at least one address"),
        ("probes: {ipv4: ['::1']}", "nwpath.yaml:1:17: probes.ipv4[0] is '::1', expected an IPv4 address"),
        (
            "probes: {ipv4: [127.0.0.1]}",
            """
            nwpath.yaml:1:17: probes.ipv4[0] is '127.0.0.1', expected an IPv4 address that is neither loopback, link-local, \
            multicast nor unspecified
            """
        ),
        ("probes: {ipv6: []}", "nwpath.yaml:1:16: probes.ipv6 needs at least one address"),
        (
            "ignore: ['[']",
            "nwpath.yaml:1:10: ignore[0] is '[', expected a name or a pattern such as eth0, wl* or en[op]*"
        ),
        (
            "interfaces: {'eth[': {}}",
            """
            nwpath.yaml:1:14: a name in interfaces is 'eth[', expected a name or a pattern such as eth0, \
            wl* or en[op]*
            """
        ),
        (
            "interfaces: {eth0: {type: wired}}",
            """
            nwpath.yaml:1:27: interfaces.eth0.type is 'wired', expected one of other, wifi, cellular, wiredEthernet, loopback
            """
        ),
        (
            "monitors: {Wired: {required_type: wifi}}",
            """
            nwpath.yaml:1:12: a name in monitors is 'Wired', expected a name of a-z, 0-9, _ and -, up to 32 long
            """
        ),
        (
            "monitors: {default: {required_type: wifi}}",
            "nwpath.yaml:1:12: monitors.default uses the reserved name of the built-in monitor"
        ),
        ("monitors: {a: {}}", "nwpath.yaml:1:12: monitors.a needs required_type or prohibited_types"),
        (
            "monitors: {a: {required_type: wifi, prohibited_types: [wifi]}}",
            "nwpath.yaml:1:55: monitors.a.prohibited_types contains the required type wifi"
        ),
        (
            "monitors: {a: {required_type: wifi}}\nviews: {a: {mark: 1}}",
            "nwpath.yaml:2:9: views.a has the same name as a monitor"
        ),
        ("views: {a: {}}", "nwpath.yaml:1:9: views.a needs mark, uid or oif"),
        (
            "views: {a: {mark: 0x1ffffffff}}",
            "nwpath.yaml:1:19: views.a.mark is '0x1ffffffff', expected a number from 0 to 0xffffffff"
        ),
        ("views: {a: {mark: -1}}", "nwpath.yaml:1:19: views.a.mark is '-1', expected a number from 0 to 0xffffffff"),
        ("views: {a: {oif: 'a b'}}", "nwpath.yaml:1:18: views.a.oif is 'a b', expected an interface name such as eth0"),
        ("debounce: {quiet: 2s}", "nwpath.yaml:1:11: debounce.cap must not be shorter than debounce.quiet"),
        (
            "gateway_liveness: {strict: true}",
            "nwpath.yaml:1:28: gateway_liveness.strict needs gateway_liveness.enabled: true"
        ),
        (
            "limits: {max_streams: 300}",
            "nwpath.yaml:1:23: limits.max_streams must not exceed limits.max_connections (256)"
        ),
        ("mdns: {watched: [_ssh._tcp, _ssh._tcp]}", "nwpath.yaml:1:29: mdns.watched[1] names _ssh._tcp twice"),
        (
            "mdns: {watched: [ssh]}",
            """
            nwpath.yaml:1:18: mdns.watched[0] is 'ssh', expected a service such as _ipp._tcp or _ipp._tcp/Office Printer
            """
        ),
        ("\"a\\e[31m\": 1", "nwpath.yaml:1:1: unknown key 'a\\u{1B}[31m'"),
    ])
    func `one mistake gives one line with place and expectation`(text: String, expected: String) {
        #expect(problems(text) == [expected])
    }

    @Test func `all mistakes are told at once, in order`() {
        let text = """
            hots: [a]
            insecure: maybe
            listen: ["0.0.0.0:1"]
            log:
              keep: many
              levle: info
            views:
              x: {mrak: 1}
            """
        #expect(
            problems(text).map { $0.split(separator: " ")[0] } == [
                "nwpath.yaml:1:1:", "nwpath.yaml:2:11:", "nwpath.yaml:5:9:", "nwpath.yaml:6:3:", "nwpath.yaml:8:7:",
            ]
        )
    }

    @Test func `a list of problems is bounded`() {
        let text = (0..<500).map { "key\($0): 1\n" }.joined()
        #expect(problems(text).count == 101)
        #expect(problems(text).last?.hasSuffix("there are more problems; fix these first") == true)
    }

    @Test func `lists and maps are bounded`() {
        let list = "ignore: [" + String(repeating: "a,", count: 65) + "]"
        #expect(problems(list) == ["nwpath.yaml:1:9: ignore has more than 64 entries"])
        let map = "views: {" + (0..<65).map { "v\($0): {mark: 1}, " }.joined() + "}"
        #expect(problems(map).map { $0.split(separator: ": ")[1] } == ["views has more than 64 entries"])
    }
}
