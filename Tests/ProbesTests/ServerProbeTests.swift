// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import Testing

@testable import Probes

@Suite struct DNSServerDecisionTests {
    private static func run(
        _ network: ScriptedNetwork,
        _ questions: [DNSServerProbe.Question]
    ) -> ScriptedRun<DNSServerResult> {
        network.run(DNSServerProbe(Machine.server(53), questions))
    }

    private static func reply(_ answer: @escaping Answers.Answer, after delay: Int = 20) -> [ScriptedNetwork.Effect] {
        [.answer(after: .milliseconds(delay), answer)]
    }

    @Test func `each question has its reply, and the last one ends it`() {
        let names = ["www", "fail", "refuse", "none", "odd", "six"]
        var questions = names.map { DNSServerProbe.Question("\($0).example.test") }
        questions[5].record = .aaaa
        questions += [.init("big.example.test", .text), .init("no..name")]
        let network = ScriptedNetwork(packets: [
            1: Self.reply(Answers.dns([0xC000_0250])), 2: Self.reply(Answers.dns(code: 2)),
            3: Self.reply(Answers.dns(code: 5)), 4: Self.reply(Answers.dns(code: 3)),
            5: Self.reply(Answers.dns(code: 9)), 6: Self.reply(Answers.dns(), after: 70),
            7: Self.reply { packet in
                packet.bytes = Answers.message(packet.bytes)
                packet.bytes[2] |= 2
            },
        ])
        let run = Self.run(network, questions)
        #expect(
            run.result.replies == [
                .addresses([.v4(0xC000_0250)]), .failed("SERVFAIL"), .failed("REFUSED"), .noSuchName,
                .failed("code 9"), .addresses([]), .text(bytes: 0, isCut: true), .failed("no domain name"),
            ]
        )
        let usual = Duration.milliseconds(20)
        #expect(run.result.durations == [usual, usual, usual, usual, usual, .milliseconds(70), usual, nil])
        #expect(run.duration == .milliseconds(70) && !run.result.isUnreachable && !run.result.isDelayed)
        #expect(run.traffic.packets == 7 && run.traffic.refused == 0)
    }

    @Test func `questions that are no names are not sent`() {
        let run = Self.run(ScriptedNetwork(), [.init("no..name")])
        #expect(run.isFinished && run.sent.isEmpty && run.result.replies == [.failed("no domain name")])
    }

    @Test func `a query that was lost is repeated, and its time is from the first copy`() {
        let answer = Answers.aged(.milliseconds(5), Answers.dns([1]))
        let run = Self.run(
            ScriptedNetwork(packets: [1: Self.reply(Answers.dns([1])), 3: Self.reply(answer)]),
            [
                .init("www.test"), .init("later.test"),
            ]
        )
        #expect(run.result.durations == [.milliseconds(20), .milliseconds(465)])
        #expect(run.traffic.packets == 3 && run.duration == .milliseconds(470))
    }

    @Test func `forged and repeated answers say nothing`() {
        let forged = Self.reply(Answers.flipped(0, Answers.dns(code: 3)), after: 5)
        let late = Self.reply(Answers.dns(code: 3), after: 30)
        let network = ScriptedNetwork(packets: [1: forged + Self.reply(Answers.dns([1])) + late])
        let run = Self.run(network, [.init("www.test"), .init("silent.test")])
        #expect(run.result.replies == [.addresses([.v4(1)]), .silent] && run.duration == .milliseconds(2500))
        // A head, the name, the rest of the question, and the record.
        #expect(run.traffic.bytesReceived == 12 + 10 + 4 + 16)
    }

    @Test func `what the own filter refuses is counted`() {
        let network = ScriptedNetwork(everyPacket: { _ in [.sendFailure(.notPermitted)] })
        let run = Self.run(network, [.init("www.test"), .init("x.test")])
        #expect(run.traffic.packets == 6 && run.traffic.refused == 6 && run.traffic.bytesSent == 0)
        #expect(run.result.replies == [.silent, .silent] && run.duration == .milliseconds(2500))
        #expect(!run.result.isUnreachable)
    }

    @Test func `a closed port is silence, and a busy machine says so`() {
        let closed: [ScriptedNetwork.Effect] = [.receiveFailure(Errno(ECONNREFUSED), after: .milliseconds(1))]
        let run = Self.run(ScriptedNetwork(everyPacket: { _ in closed }), [.init("www.test")])
        #expect(run.result.replies == [.silent] && run.traffic.packets == 3 && !run.result.isDelayed)
        #expect(Self.run(ScriptedNetwork(delayedTimeouts: [1]), [.init("www.test")]).result.isDelayed)
    }
}

@Suite struct NTPDecisionTests {
    private static func run(_ network: ScriptedNetwork) -> ScriptedRun<NTPResult> {
        network.run(NTPProbe(Machine.server(123)))
    }

    private static func reply(_ answer: @escaping Answers.Answer, after delay: Int = 20) -> [ScriptedNetwork.Effect] {
        [.answer(after: .milliseconds(delay), answer)]
    }

    private static func milliseconds(_ duration: Duration?) -> Double? {
        duration.map { ($0 / .milliseconds(1)).rounded() }
    }

    @Test(arguments: [0, 100, -3600])
    func `the own clock is as far behind as the server's is ahead`(seconds: Int) {
        let answer = Answers.time(at: .milliseconds(10), ahead: .seconds(seconds))
        let run = Self.run(ScriptedNetwork(packets: [1: Self.reply(answer)]))
        #expect(run.result.isAnswered && Self.milliseconds(run.result.ahead) == Double(-1000 * seconds))
        #expect(run.traffic.bytesSent == 48 && run.traffic.bytesReceived == 48)
    }

    @Test func `how long an answer was not read does not move the clock`() {
        let answer = Answers.aged(.milliseconds(980), Answers.time(at: .milliseconds(10)))
        let run = Self.run(ScriptedNetwork(packets: [3: Self.reply(Answers.same), 1: Self.reply(answer, after: 1000)]))
        #expect(Self.milliseconds(run.result.ahead) == 0)
    }

    @Test func `an answer belongs to its own query, however late`() {
        let answer = Answers.time(at: .milliseconds(300), ahead: .seconds(7))
        let run = Self.run(ScriptedNetwork(packets: [1: Self.reply(answer, after: 600)]))
        #expect(Self.milliseconds(run.result.ahead) == -7000)
        #expect(run.sent == ["0 ms udp 48", "450 ms udp 48"] && run.duration == .milliseconds(600))
    }

    @Test func `a forgery says nothing, and a server that does not know the time is alive`() {
        let forgery = Answers.flipped(24, Answers.time(at: .zero, ahead: .seconds(9)))
        let forged = Self.run(ScriptedNetwork(packets: [1: Self.reply(forgery)]))
        #expect(!forged.result.isAnswered && forged.traffic.packets == 3 && forged.traffic.bytesReceived == 0)
        let idle = Self.run(ScriptedNetwork(packets: [1: Self.reply(Answers.time(at: .zero, stratum: 0))]))
        #expect(idle.result.isAnswered && idle.result.ahead == nil && idle.isFinished)
    }

    @Test func `refusals are counted, and every copy is tried`() {
        let run = Self.run(ScriptedNetwork(everyPacket: { _ in [.sendFailure(.notPermitted)] }))
        #expect(run.traffic.packets == 3 && run.traffic.refused == 3 && run.traffic.bytesSent == 0)
        #expect(!run.result.isAnswered && run.duration == .milliseconds(2500))
        let closed: [ScriptedNetwork.Effect] = [.receiveFailure(Errno(ECONNREFUSED), after: .milliseconds(1))]
        #expect(Self.run(ScriptedNetwork(everyPacket: { _ in closed })).traffic.packets == 3)
    }

    @Test func `a socket that cannot be opened is tried again with the next copy`() {
        let failure = ScriptedNetwork.Opening.failure(Errno(EMFILE), .socket)
        let answer = Answers.time(at: .milliseconds(460))
        let later = ScriptedNetwork(packets: [1: Self.reply(answer)], openings: [0: [failure]])
        let run = Self.run(later)
        #expect(run.result.isAnswered && run.sent == ["450 ms udp 48"])
        let never = Self.run(ScriptedNetwork(openings: [0: [failure, failure, failure]]))
        #expect(never.traffic.shortage == "no file descriptor of this process is left (EMFILE)")
        #expect(never.traffic.packets == 0 && never.duration == .milliseconds(2500))
    }

    @Test func `a busy machine says so`() {
        #expect(Self.run(ScriptedNetwork(delayedTimeouts: [1])).result.isDelayed)
        #expect(!Self.run(ScriptedNetwork()).result.isDelayed)
    }
}
