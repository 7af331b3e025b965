// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Diagnosis
import LinuxIO
import OrderedJSON
import Testing

@testable import nwpath

private func status(
    _ status: String,
    since: String = "a",
    members: String = "",
    rest: String = ""
) throws -> JSONValue {
    try JSONValue(
        parsing: """
            {"message":"Path default is \(status)","since":"\(since)","path":{"status":"\(status)"\(members)}\(rest)}
            """
    )
}

@Suite struct WaitConditionTests {
    @Test(
        arguments: [
            ("satisfied", .satisfied), ("unsatisfied", .unsatisfied), ("connected", .connected), ("online", .online),
            ("ipv4", .ipv4), ("ipv6", .ipv6), ("dns", .dns), ("not-expensive", .notExpensive), ("traffic", .traffic),
            ("interface=eth0", .interface("eth0")),
            ("interface=a=b", .interface("a=b")),
            ("service=_ipp._tcp", .service(type: "_ipp._tcp", name: nil)),
            ("service=_ipp._tcp/A / B", .service(type: "_ipp._tcp", name: "A / B")),
        ] as [(String, WaitCondition)]
    )
    func `a condition reads back as it was typed`(text: String, condition: WaitCondition) {
        #expect(WaitCondition(text) == condition)
        #expect(condition.description == text)
    }

    @Test(
        arguments: [
            (#","headline":{"state":"online","message":"m"}"#, nil),
            (#","headline":{"state":"no_internet","message":"nothing answers"}"#, "No Internet: nothing answers"),
            (#","headline":{"state":"connected","message":"nobody was asked"}"#, "Connected: nobody was asked"),
            ("", "the service reports no headline"),
        ] as [(String, String?)]
    )
    func `online is what answered, not what the kernel would do`(rest: String, missing: String?) throws {
        #expect(WaitCondition.online.missing(in: try status("satisfied", rest: rest), services: []) == missing)
    }

    @Test(arguments: Headline.State.allCases)
    func `connected is that nothing is known to be wrong, and no test is about to decide`(state: Headline.State) throws
    {
        let seen = try status("satisfied", rest: #","headline":{"state":"\#(state.rawValue)","message":"m"}"#)
        let holds = [.online, .connected].contains(state)
        #expect(WaitCondition.connected.missing(in: seen, services: []) == (holds ? nil : "\(state.word): m"))
    }

    @Test func `path is another word for satisfied`() {
        #expect(WaitCondition("path") == .satisfied)
    }

    @Test(
        arguments: [
            ("good", "online", nil), ("not_asked", "connected", nil), ("not_asked", "checking", "Checking: m"),
            ("broken", "dns_broken", "DNS broken: m"), ("not_reached", "no_internet", "No Internet: m"),
            ("degraded", "degraded", nil),
        ] as [(String, String, String?)]
    )
    func `names have to be answered where that is tested`(condition: String, state: String, missing: String?) throws {
        let rest = #","headline":{"state":"\#(state)","message":"m"},"chain":[{"condition":"\#(condition)"}]"#
        let seen = try status("satisfied", members: ",\"supports_dns\":true", rest: rest)
        #expect(WaitCondition.dns.missing(in: seen, services: []) == missing)
    }

    @Test func `a path that is refused may lead to name servers all the same`() throws {
        let rest = #","headline":{"state":"offline","message":"m"},"chain":[{"condition":"not_reached"}]"#
        let reached = try status("unsatisfied", members: ",\"supports_dns\":true", rest: rest)
        #expect(WaitCondition.dns.missing(in: reached, services: []) == nil)
        #expect(WaitCondition.dns.missing(in: try status("unsatisfied", rest: rest), services: []) != nil)
    }

    @Test func `names that nothing tests need a name server in reach`() throws {
        let rest = #","headline":{"state":"connected","message":"m"},"chain":[{"condition":"not_asked"}]"#
        let seen = try status("satisfied", rest: rest)
        #expect(WaitCondition.dns.missing(in: seen, services: []) == "the path has no DNS")
    }

    @Test(arguments: [
        "", "Satisfied", "ipv5", "interface", "interface=", "service=", "service=ipp", "service=_ipp",
        "service=_ipp._tcp/",
        "gateway=x", "=",
    ])
    func `nothing else is a condition`(text: String) {
        #expect(WaitCondition(text) == nil)
    }

    @Test(
        arguments: [
            (.satisfied, "satisfied", "", nil), (.satisfied, "unsatisfied", "", "Path default is unsatisfied"),
            (.unsatisfied, "satisfied", "", "Path default is satisfied"), (.unsatisfied, "requiresConnection", "", nil),
            (.ipv4, "satisfied", ",\"supports_ipv4\":true", nil), (.ipv4, "satisfied", "", "the path has no IPv4"),
            (.ipv6, "unsatisfied", ",\"supports_ipv6\":false", "Path default is unsatisfied"),
            (.dns, "satisfied", ",\"supports_dns\":true", nil), (.dns, "satisfied", "", "the path has no DNS"),
            (.notExpensive, "satisfied", "", nil), (.notExpensive, "unsatisfied", "", "Path default is unsatisfied"),
            (.notExpensive, "satisfied", ",\"is_expensive\":true", "the path is expensive"),
        ] as [(WaitCondition, String, String, String?)]
    )
    func `a path fulfils a condition or says why not`(
        condition: WaitCondition,
        path: String,
        members: String,
        expected: String?
    ) throws {
        #expect(condition.missing(in: try status(path, members: members), services: []) == expected)
    }

    @Test(arguments: [
        ("eth0", nil), ("eth1", "eth1: no carrier"), ("lan", nil), ("eth2", "there is no interface eth2"),
    ])
    func `an interface has to be usable`(name: String, expected: String?) throws {
        let interfaces =
            ",\"interfaces\":[{\"name\":\"eth0\",\"alternative_names\":[\"lan\"],\"usable\":true},{\"name\":\"eth1\",\"problem\":\"no_carrier\"}]"
        let seen = try status("satisfied", rest: interfaces)
        #expect(WaitCondition.interface(name).missing(in: seen, services: []) == expected)
    }

    @Test func `an interface that is ignored is told apart from one that is not there`() throws {
        let seen = try status("satisfied", rest: ",\"interfaces\":[{\"name\":\"eth0\",\"usable\":true}]")
        let condition = WaitCondition.interface("docker0")
        let words = "docker0 is ignored, so it is not reported; see 'nwpath interfaces --all'"
        #expect(condition.missing(in: seen, services: [], ignored: ["docker0"]) == words)
        #expect(condition.missing(in: seen, services: [], ignored: ["docker1"]) == "there is no interface docker0")
        #expect(condition.interface == "docker0" && WaitCondition.dns.interface == nil)
        // What the status shows counts, whatever was ignored a moment ago.
        #expect(WaitCondition.interface("eth0").missing(in: seen, services: [], ignored: ["eth0"]) == nil)
        var machine = WaitMachine([condition], isAny: false, hold: .zero, timeout: .zero, at: .zero)
        machine.evaluate(seen, services: [], ignored: ["docker0"], at: .seconds(1))
        #expect(machine.findings.map(\.missing) == [words])
    }

    @Test(
        arguments: [
            ("_ipp._tcp", nil, nil), ("_ipp._tcp", "Office", nil),
            ("_ipp._tcp", "Home", "no _ipp._tcp named Home was found"),
            ("_ssh._tcp", nil, "no _ssh._tcp was found"),
        ] as [(String, String?, String?)]
    )
    func `a service has to be found`(type: String, name: String?, expected: String?) throws {
        let services = [try JSONValue(parsing: "{\"type\":\"_ipp._tcp\",\"name\":\"Office\"}")]
        let seen = try status("satisfied", rest: ",\"services\":{\"count\":1}")
        #expect(WaitCondition.service(type: type, name: name).missing(in: seen, services: services) == expected)
    }

    @Test func `without a census no service is ever found`() throws {
        let condition = WaitCondition.service(type: "_ipp._tcp", name: nil)
        #expect(condition.needsServices)
        #expect(!WaitCondition.dns.needsServices)
        let missing = condition.missing(in: try status("satisfied"), services: [])
        #expect(missing == "service discovery is off (mdns.enabled)")
    }
}

@Suite struct WaitMachineTests {
    private func machine(
        _ conditions: [WaitCondition] = [.satisfied],
        isAny: Bool = false,
        hold: Duration = .zero,
        timeout: Duration = .zero
    ) -> WaitMachine {
        WaitMachine(conditions, isAny: isAny, hold: hold, timeout: timeout, at: .seconds(100))
    }

    @Test func `is over as soon as all conditions hold`() throws {
        var machine = machine([.satisfied, .ipv4])
        #expect(machine.step(at: .seconds(100)) == .wait(nil))
        machine.evaluate(try status("satisfied"), services: [], at: .seconds(101))
        #expect(machine.step(at: .seconds(101)) == .wait(nil))
        #expect(machine.findings.map(\.missing) == [nil, "the path has no IPv4"])
        machine.evaluate(try status("satisfied", members: ",\"supports_ipv4\":true"), services: [], at: .seconds(102))
        #expect(machine.step(at: .seconds(102)) == .satisfied)
    }

    @Test func `one is enough when any will do`() throws {
        var machine = machine([.ipv6, .satisfied], isAny: true)
        machine.evaluate(try status("satisfied"), services: [], at: .seconds(101))
        #expect(machine.step(at: .seconds(101)) == .satisfied)
    }

    @Test func `gives up at the deadline and not before`() throws {
        var machine = machine(timeout: .seconds(5))
        #expect(machine.step(at: .milliseconds(104_999)) == .wait(.milliseconds(1)))
        #expect(machine.remaining(at: .seconds(103)) == .seconds(2))
        #expect(machine.step(at: .seconds(105)) == .timedOut)
        #expect(machine.remaining(at: .seconds(200)) == .zero)
        // What holds at the deadline holds.
        machine.evaluate(try status("satisfied"), services: [], at: .seconds(105))
        #expect(machine.step(at: .seconds(105)) == .satisfied)
    }

    @Test func `waits until it has held long enough`() throws {
        var machine = machine(hold: .seconds(10), timeout: .seconds(60))
        machine.evaluate(try status("satisfied"), services: [], at: .seconds(101))
        #expect(machine.step(at: .seconds(101)) == .wait(.seconds(10)))
        machine.evaluate(try status("satisfied"), services: [], at: .seconds(105))
        #expect(machine.step(at: .seconds(105)) == .wait(.seconds(6)))
        #expect(machine.step(at: .seconds(111)) == .satisfied)
    }

    @Test func `a break begins the time anew, seen or unseen`() throws {
        var machine = machine(hold: .seconds(10))
        machine.evaluate(try status("satisfied"), services: [], at: .seconds(101))
        machine.evaluate(try status("unsatisfied", since: "b"), services: [], at: .seconds(105))
        #expect(machine.step(at: .seconds(111)) == .wait(nil))
        machine.evaluate(try status("satisfied", since: "c"), services: [], at: .seconds(112))
        #expect(machine.step(at: .seconds(112)) == .wait(.seconds(10)))
        machine.evaluate(try status("satisfied", since: "d"), services: [], at: .seconds(115))
        #expect(machine.step(at: .seconds(122)) == .wait(.seconds(3)))
        machine.lose("gone")
        #expect(machine.step(at: .seconds(130)) == .wait(nil))
        #expect(machine.loss == "gone")
        #expect(machine.findings.map(\.missing) == ["the service is not running"])
    }

    @Test func `what is missing is told in lines`() throws {
        var machine = machine([.ipv6, .service(type: "_x._tcp", name: "a\u{1B}b")])
        #expect(Wait.missing(machine.findings).count == 2)
        machine.evaluate(try status("satisfied", members: ",\"supports_ipv6\":true"), services: [], at: .seconds(101))
        let expected = "still waiting for: service=_x._tcp/a\\u{1B}b (service discovery is off (mdns.enabled))"
        #expect(Wait.missing(machine.findings) == [expected])
    }
}
