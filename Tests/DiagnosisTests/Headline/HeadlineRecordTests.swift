// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import PathModel
import Testing

/// What is recorded of the headline, and what reading it records: nothing.
@Suite struct HeadlineRecordTests {
    /// A record with the facts of one daemon: what changes them, and what its timers do.
    private struct Daemon: Equatable {
        var record = HeadlineRecord()
        var facts = HeadlineFacts(
            host: "office-7",
            path: Path(
                status: .satisfied,
                reason: nil,
                dns: DNSState(servers: [DNSServer(ScopedAddress(.v4(0xC000_0235)))], isUsable: true)
            )
        )
        var events: [HeadlineTracker.Change] = []
        /// When an evaluation was due, of each evaluation.
        var dues: [Duration?] = []
        let reads: Int

        init(reads: Int) { self.reads = reads }

        static func == (left: Daemon, right: Daemon) -> Bool {
            (left.record, left.events, left.dues) == (right.record, right.events, right.dues)
        }

        /// Lets time pass, in which timers expire, and then changes facts.
        mutating func pass(to time: Duration, _ change: (inout HeadlineFacts) -> Void = { _ in }) {
            while let due = record.due, due <= time {
                evaluate(at: max(due, facts.now))
                if let event = record.dequeueChange(at: facts.now) {
                    events.append(event)
                    evaluate(at: facts.now)
                }
            }
            change(&facts)
            evaluate(at: time)
        }

        private mutating func evaluate(at now: Duration) {
            facts.now = now
            record.reevaluate(facts)
            dues.append(record.due)
            for _ in 0..<reads {
                _ = record.current
                for state in Headline.State.allCases { _ = record.seconds(of: state, at: now + .seconds(7)) }
            }
        }
    }

    private static func probe(_ answered: Int?, failing: Int? = nil, isDecided: Bool = false) -> ProbeObservation {
        ProbeObservation(
            "far",
            .beyond,
            isFailing: isDecided,
            failingSince: failing.map { .seconds($0) },
            answered: answered.map { .seconds($0) },
            lastStart: (failing ?? answered).map { .seconds($0) }
        )
    }

    private static func day(of daemon: Daemon) -> Daemon {
        var daemon = daemon
        daemon.pass(to: .seconds(100)) { $0.probes = [probe(100)] }
        daemon.pass(to: .seconds(202)) { $0.probes = [probe(100, failing: 200)] }
        daemon.pass(to: .seconds(204)) { $0.probes = [probe(100, failing: 200, isDecided: true)] }
        daemon.pass(to: .seconds(233)) { $0.probes = [probe(233)] }
        daemon.pass(to: .seconds(300)) { $0.path = Path(status: .unsatisfied, reason: .noCarrier) }
        daemon.pass(to: .seconds(301)) { $0.statusSince = .seconds(300) }
        daemon.pass(to: .seconds(1000))
        return daemon
    }

    @Test func `a daemon that is read a thousand times emits the events and plans the timers of one that is not`() {
        let (read, unread) = (Self.day(of: Daemon(reads: 1000)), Self.day(of: Daemon(reads: 0)))
        #expect(read == unread)
        let states = unread.events.map(\.headline.state)
        #expect(states == [.noInternet, .online, .offline], "\(states)")
        #expect(unread.events.map(\.since) == [200, 233, 300].map { .seconds($0) })
    }

    @Test func `an answer that expires changes the headline on time, although no fact changes`() throws {
        var daemon = Daemon(reads: 0)
        daemon.pass(to: .seconds(100)) { $0.probes = [Self.probe(100)] }
        let state = { daemon.record.current?.headline.state }
        #expect(state() == .online)
        // Others that failed are awaited for five seconds, an answer counts for 180.
        #expect(daemon.record.due == .seconds(105))
        daemon.pass(to: .seconds(105))
        let expiry = Duration.seconds(280) + .nanoseconds(1)
        #expect(daemon.record.due == expiry)
        daemon.pass(to: .seconds(280))
        #expect(state() == .online && daemon.record.due == expiry)
        daemon.pass(to: expiry)
        #expect(state() == .checking && daemon.record.due == nil)
    }

    @Test func `connections and examinations expire as well`() {
        var daemon = Daemon(reads: 0)
        daemon.pass(to: .seconds(10)) { facts in
            facts.examination = ExaminationSummary(
                started: .seconds(8),
                ended: .seconds(9),
                validity: .seconds(90),
                reachedInternet: true,
                reachedDNS: true
            )
            facts.traffic = [
                TrafficObservation(family: .ipv4, interface: "eth0", gateway: nil, answered: .seconds(10))
            ]
        }
        #expect(daemon.record.due == .seconds(99) + .nanoseconds(1))
        daemon.pass(to: .seconds(100))
        #expect(daemon.record.current?.headline.state == .online)
        #expect(daemon.record.due == .seconds(190) + .nanoseconds(1))
        daemon.pass(to: .seconds(200))
        #expect(daemon.record.current?.headline.state == .connected)
        #expect(daemon.events.map(\.headline.state) == [.connected])
    }

    @Test func `before the first evaluation there is no headline`() {
        let record = HeadlineRecord()
        #expect(record.current == nil && record.due == nil)
        #expect(Headline.State.allCases.allSatisfy { record.seconds(of: $0, at: .seconds(9)) == 0 })
    }
}
