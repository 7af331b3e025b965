// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Testing

@testable import MulticastDNS

private func question(_ name: String) -> Question { Question(DomainName(name) ?? DomainName(), .ptr) }

private let first = question("_a._tcp.local")
private let second = question("_b._tcp.local")

/// A schedule, a fixed seed, and a clock that goes from deadline to deadline.
private struct Bench {
    var schedule = QuestionSchedule(rate: 100)
    var random: RandomSource

    init(seed: UInt64 = 1) { random = RandomSource(seed: seed) }

    mutating func ask(_ question: Question, times: Int = .max, at seconds: Double) {
        schedule.query(question, times: times, at: time(seconds), random: &random)
    }

    /// Lets time pass up to `end`, and gives every packet with its time since the start.
    mutating func run(until end: Double) -> [(time: Double, questions: [Question])] {
        var packets: [(time: Double, questions: [Question])] = []
        while let deadline = schedule.nextDeadline, deadline <= time(end) {
            for questions in schedule.due(at: deadline) {
                packets.append(((deadline - time(0)) / .seconds(1), questions))
            }
        }
        return packets
    }
}

@Suite struct QuestionScheduleTests {
    @Test(arguments: 0..<50 as Range<UInt64>)
    func `the first query waits 20 to 120 ms`(seed: UInt64) throws {
        var bench = Bench(seed: seed)
        bench.ask(first, at: 0)
        let deadline = try #require(bench.schedule.nextDeadline)
        #expect(deadline >= time(0.02) && deadline <= time(0.12))
        #expect(bench.schedule.due(at: time(0.019)).isEmpty)
        #expect(bench.schedule.due(at: deadline) == [[first]])
    }

    @Test func `first delays are spread over the whole range`() {
        let delays = (0..<200 as Range<UInt64>).map { seed -> Duration in
            var bench = Bench(seed: seed)
            bench.ask(first, at: 0)
            return bench.schedule.nextDeadline ?? .zero
        }
        #expect((delays.min() ?? .zero) < time(0.03) && (delays.max() ?? .zero) > time(0.11))
        #expect(Set(delays).count > 50)
    }

    @Test func `the second asking of what one host has, and of the list of types, is a packet for each`() throws {
        var bench = Bench()
        let enumeration = question("_services._dns-sd._udp.local")
        let own = try [RecordType.srv, .txt, .a, .aaaa, .srv, .txt].enumerated().map { number, type in
            Question(try #require(DomainName("n\(number).local")), type)
        }
        for question in [first, enumeration] + own { bench.ask(question, times: 3, at: 0) }
        let sizes = bench.run(until: 10).map(\.questions)
        #expect(sizes.first?.count == 8)
        // Of many that are asked at once, four go alone; the others as before.
        let alone = sizes.filter { $0.count == 1 }.flatMap(\.self)
        #expect(alone.contains(enumeration))
        #expect(own.count { alone.contains($0) } == 4)
        #expect(sizes.flatMap(\.self).count == 24)
    }

    @Test func `gaps start at a second and double up to an hour`() {
        var bench = Bench()
        bench.ask(first, at: 0)
        let times = bench.run(until: 30_000).map(\.time)
        let gaps = zip(times.dropFirst(), times).map { ($0 - $1).rounded() }
        #expect(gaps.prefix(13) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600])
        #expect(gaps.dropFirst(13).allSatisfy { $0 == 3600 })
    }

    @Test(arguments: [RecordType.srv, .txt, .a, .aaaa, .any])
    func `what one host has is asked for again when its second of silence is over for sure`(type: RecordType) {
        var bench = Bench()
        bench.ask(Question(first.name, type), times: 3, at: 0)
        let times = bench.run(until: 30).map(\.time)
        let gaps = zip(times.dropFirst(), times).map { Int((($0 - $1) * 1000).rounded()) }
        #expect(gaps == [1120, 2240])
        // So is a new series.
        bench.ask(Question(first.name, type), times: 1, at: times[2] + 0.5)
        let next = bench.run(until: 60).map(\.time)
        #expect(next.count == 1 && next[0] - times[2] >= 1.139)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `questions that many answers bring one by one are gathered for one packet`(seed: UInt64) throws {
        var bench = Bench(seed: seed)
        let learned = (0..<20).map { (question("_type-\($0)._tcp.local"), Double($0) / 1000) }
        for (question, seconds) in learned {
            bench.schedule.query(
                question,
                times: 1,
                within: QuestionSchedule.gatheringDelay,
                at: time(seconds),
                random: &bench.random
            )
        }
        let packets = bench.run(until: 1)
        #expect(packets.map(\.questions) == [learned.map(\.0)])
        #expect(try #require(packets.first).time >= 0.05 && packets[0].time <= 0.12)
    }

    @Test(arguments: [(1, 1), (2, 2), (4, 4), (0, 0), (-3, 0)])
    func `a series ends after its repetitions`(times: Int, packets: Int) {
        var bench = Bench()
        bench.ask(first, times: times, at: 0)
        #expect(bench.run(until: 1000).count == packets)
        #expect(bench.schedule.count == 0 && bench.schedule.nextDeadline == nil)
    }

    @Test func `what the first repetition brings is reason to ask halfway to the next one for any type, once`() {
        let other = Question(first.name, .any)
        var bench = Bench()
        bench.ask(first, at: 0)
        let start = bench.run(until: 0.9)[0].time
        bench.schedule.supplement(first, at: time(0.9))
        #expect(bench.schedule.count == 1, "the repetition was still to come")
        #expect(bench.run(until: 1.5).map(\.questions) == [[first]])
        for _ in 0..<3 { bench.schedule.supplement(first, at: time(1.5)) }
        let packets = bench.run(until: 3.5)
        #expect(packets.map(\.questions) == [[other], [first]])
        #expect(packets.map { Int((($0.time - start) * 1000).rounded()) } == [2100, 3200])
        bench.schedule.supplement(first, at: time(3.5))
        bench.schedule.supplement(second, at: time(3.5))
        #expect(bench.run(until: 30).allSatisfy { $0.questions == [first] })
    }

    @Test func `a series may be told to end after so many more`() {
        var bench = Bench()
        bench.ask(first, at: 0)
        bench.ask(second, times: 2, at: 0)
        _ = bench.run(until: 0.5)
        for question in [first, second, question("_none._tcp.local")] { bench.schedule.limit(question, to: 3) }
        let later = bench.run(until: 1000).flatMap(\.questions)
        #expect(later.count { $0 == first } == 3 && later.count { $0 == second } == 1 && later.count == 4)
    }

    @Test func `when its question ends, so does what was to be asked besides it`() {
        var bench = Bench()
        bench.ask(first, at: 0)
        _ = bench.run(until: 1.5)
        bench.schedule.supplement(first, at: time(1.5))
        bench.schedule.cancel(first)
        #expect(bench.run(until: 30).isEmpty && bench.schedule.count == 0)
        // But not what a client asks.
        bench.ask(Question(first.name, .any), times: 1, at: 40)
        bench.ask(first, times: 3, at: 40)
        bench.schedule.cancel(first)
        #expect(bench.schedule.count == 1)
    }

    @Test func `what records made us ask goes as far as they paid for it, what clients ask always`() {
        var bench = Bench()
        bench.schedule = QuestionSchedule(rate: 100_000)
        for number in 0..<4000 {
            let question = Question(DomainName("instance-\(number)._a._tcp.local") ?? DomainName(), .srv)
            bench.schedule.query(question, times: 2, isResponseTriggered: true, at: time(0), random: &bench.random)
        }
        bench.ask(first, times: 2, at: 0)
        let asked = bench.run(until: 60).flatMap(\.questions)
        let bytes = asked.reduce(0) { $0 + ResponseTriggeredLimit.size(of: $1) }
        #expect(asked.count { $0 == first } == 2 && asked.count > 1000)
        #expect(bytes <= ResponseTriggeredLimit.most + 2 * ResponseTriggeredLimit.rate)
        #expect(bench.schedule.count == 0)
        // A client that wants the same makes it one of its own.
        bench.schedule.query(second, times: 2, isResponseTriggered: true, at: time(60), random: &bench.random)
        bench.ask(second, times: 2, at: 60)
        #expect(bench.run(until: 90).flatMap(\.questions) == [second, second])
    }

    @Test func `questions that are ready go in one packet, and keep their own schedules`() {
        var bench = Bench()
        bench.ask(first, times: 3, at: 0)
        bench.ask(second, times: 3, at: 0)
        bench.ask(question("_c._tcp.local"), times: 1, at: 0)
        let packets = bench.run(until: 100)
        #expect(packets.map(\.questions.count) == [3, 2, 2])
        #expect(Set(packets[1].questions) == [first, second])
    }

    @Test func `a question asked during a series joins it`() {
        var bench = Bench()
        bench.ask(first, times: 2, at: 0)
        #expect(bench.run(until: 0.5).count == 1)
        bench.ask(first, times: 2, at: 0.5)
        let packets = bench.run(until: 100)
        #expect(packets.count == 2 && packets[0].time > 1)
    }

    @Test func `a new series begins a second after the last asking at the earliest`() {
        var bench = Bench()
        bench.ask(first, times: 1, at: 0)
        let before = bench.run(until: 0.5)
        bench.ask(first, times: 1, at: 0.5)
        let after = bench.run(until: 10)
        #expect(before.count == 1 && after.count == 1)
        #expect(after[0].time - before[0].time >= 1.02)
    }

    @Test func `a cancelled question is not asked`() {
        var bench = Bench()
        bench.ask(first, at: 0)
        bench.ask(second, times: 1, at: 0)
        #expect(bench.schedule.isPending(first))
        bench.schedule.cancel(first)
        #expect(!bench.schedule.isPending(first))
        #expect(bench.run(until: 100).flatMap(\.questions) == [second])
    }

    @Test func `the same question by another host counts as sent`() {
        var bench = Bench()
        bench.ask(first, times: 3, at: 0)
        bench.schedule.observe(first, at: time(0.01))
        let times = bench.run(until: 100).map(\.time)
        #expect(times.count == 2)
        #expect((times.first ?? 0) >= 1.01 && (times.last ?? 0) >= 3.01)
    }

    @Test func `a question due much later is not taken for sent`() {
        var bench = Bench()
        bench.ask(first, at: 0)
        #expect(bench.run(until: 10).count == 4)
        let before = bench.schedule.nextDeadline
        bench.schedule.observe(first, at: time(10))
        #expect(bench.schedule.nextDeadline == before)
        bench.schedule.observe(second, at: time(10))
        #expect(bench.schedule.count == 1)
    }

    /// A series that asks next at 1023 s; the next one is 512 s after it.
    private func settled() -> Bench {
        var bench = Bench()
        bench.ask(first, at: 0)
        #expect(bench.run(until: 600).count == 10)
        return bench
    }

    @Test func `what runs out is asked for beside a series, which goes on as planned`() throws {
        var bench = settled()
        let next = try #require(bench.schedule.nextDeadline)
        bench.schedule.renew(first, at: time(600), random: &bench.random)
        #expect(bench.schedule.isPending(first) && bench.schedule.count == 2)
        let packets = bench.run(until: 1000)
        #expect(packets.map(\.questions) == [[first]] && packets[0].time >= 600.02 && packets[0].time <= 600.12)
        #expect(bench.schedule.nextDeadline == next && bench.schedule.count == 1)
    }

    @Test func `what is in doubt is asked for twice beside a series, once more when that asks as well`() {
        var bench = settled()
        bench.schedule.renew(first, times: 2, at: time(600), random: &bench.random)
        let times = bench.run(until: 1000).map(\.time)
        #expect(times.count == 2 && times[1] - times[0] == 1)
        bench.schedule.renew(first, at: time(1022.5), random: &bench.random)
        #expect(bench.run(until: 1500).count == 1, "the series was due within a second")
    }

    @Test func `a series that begins and a record that runs out make one asking`() {
        for isFirst in [true, false] {
            var bench = Bench()
            if isFirst { bench.ask(first, times: 2, at: 0) }
            bench.schedule.renew(first, at: time(0), random: &bench.random)
            if !isFirst { bench.ask(first, times: 2, at: 0) }
            #expect(bench.run(until: 100).count == 2)
        }
    }

    @Test func `four askings of a record that lives for ten seconds fit into its last two`() {
        var bench = settled()
        for point in [608, 608.5, 609, 609.5] {
            #expect(bench.run(until: point).count == (point == 608 ? 0 : 1))
            bench.schedule.renew(first, at: time(point), random: &bench.random)
        }
        #expect(bench.run(until: 609.7).count == 1)
        for _ in 0..<2 { bench.schedule.renew(first, at: time(609.7), random: &bench.random) }
        let last = bench.run(until: 700)
        #expect(last.count == 1 && last[0].time >= 609.77)
    }

    @Test func `what runs out is not asked for when it was answered, or when another host asks`() {
        var bench = settled()
        bench.schedule.renew(first, at: time(600), random: &bench.random)
        bench.schedule.observe(first, at: time(600.01))
        #expect(bench.schedule.count == 1 && bench.run(until: 1000).isEmpty)
        bench.schedule.renew(first, at: time(1000), random: &bench.random)
        bench.schedule.endSeries(first)
        #expect(bench.schedule.count == 1 && bench.run(until: 1001).count == 1)
        bench.schedule.renew(first, at: time(1010), random: &bench.random)
        bench.schedule.cancel(first)
        #expect(bench.schedule.count == 0 && bench.run(until: 5000).isEmpty)
    }

    @Test func `questions never exceed the budget, whatever is asked`() {
        var bench = Bench()
        for number in 0..<1000 { bench.ask(question("_t\(number)._tcp.local"), times: 1, at: 0) }
        let packets = bench.run(until: 60)
        #expect(packets.reduce(0) { $0 + $1.questions.count } == 1000)
        for packet in packets {
            let second = packets.filter { $0.time > packet.time - 1 && $0.time <= packet.time }
            #expect(second.reduce(0) { $0 + $1.questions.count } <= 200)
        }
        #expect((packets.last?.time ?? 0) > 8)
        #expect(packets.first?.questions.count == 100)
    }

    @Test func `different types and unicast bits are different questions`() {
        var bench = Bench()
        let name = first.name
        bench.ask(Question(name, .srv), times: 1, at: 0)
        bench.ask(Question(name, .txt), times: 1, at: 0)
        bench.ask(Question(name, .txt, wantsUnicast: true), times: 1, at: 0)
        #expect(bench.run(until: 1).flatMap(\.questions).count == 3)
    }
}

@Suite struct QueryWriterTests {
    private let type = first.name

    private func known(_ count: Int) -> [ResourceRecord] {
        (0..<count).map { number in
            let instance = try? DomainName(labels: [Array("instance-\(number)".utf8)]).appending(type)
            return ResourceRecord(type, .ptr, .pointer(instance ?? type), timeToLive: 4000)
        }
    }

    private func messages(_ packets: [[UInt8]]) throws -> [Message] {
        try packets.map { try Message(parsing: $0.span) }
    }

    @Test func `nothing to ask is no packet`() {
        #expect(QueryWriter.packets([], limit: 1472) { _ in known(3) }.isEmpty)
    }

    @Test func `questions and known answers share a packet`() throws {
        let packets = QueryWriter.packets([first, second], limit: 1472) { $0 == first ? known(3) : [] }
        let message = try #require(try messages(packets).first)
        #expect(packets.count == 1 && message.questions == [first, second] && message.answers == known(3))
        #expect(message.flags == [] && message.id == 0)
    }

    @Test(arguments: [200, 500, 1452, 1472])
    func `known answers go on in packets without questions, all but the last marked`(limit: Int) throws {
        let packets = QueryWriter.packets([first], limit: limit) { _ in known(200) }
        let messages = try messages(packets)
        #expect(packets.count > 1 && packets.allSatisfy { $0.count <= limit })
        #expect(messages.map(\.questions.count) == [1] + Array(repeating: 0, count: packets.count - 1))
        #expect(messages.dropLast().allSatisfy { $0.flags.contains(.truncated) })
        #expect(messages.last?.flags.contains(.truncated) == false)
        #expect(messages.flatMap(\.answers) == known(200))
    }

    @Test func `too many questions make more packets, each with its own known answers`() throws {
        let questions = (0..<100).map { question("_type-\($0)._tcp.local") }
        let packets = QueryWriter.packets(questions, limit: 512) { $0 == questions[99] ? known(1) : [] }
        let messages = try messages(packets)
        #expect(messages.flatMap(\.questions) == questions)
        #expect(messages.allSatisfy { !$0.flags.contains(.truncated) && !$0.questions.isEmpty })
        #expect(messages.map(\.answers.count).reduce(0, +) == 1 && messages.last?.answers.count == 1)
    }

    @Test func `what fits no packet is left out`() throws {
        let long = try DomainName(labels: Array(repeating: [UInt8](repeating: 97, count: 60), count: 4))
        let packets = QueryWriter.packets([Question(long, .ptr), first], limit: 100) { _ in
            [ResourceRecord(long, .ptr, .pointer(long), timeToLive: 9)] + known(1)
        }
        let messages = try messages(packets)
        #expect(messages.flatMap(\.questions) == [first] && messages.flatMap(\.answers) == known(1))
    }
}
