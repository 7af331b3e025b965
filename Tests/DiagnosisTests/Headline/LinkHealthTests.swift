// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Diagnosis
import PathModel
import Testing

/// A link whose counters grow minute by minute.
private struct Minutes {
    var health = LinkHealth()
    var sample: LinkSample
    private var now = Duration.zero

    init(_ sample: LinkSample) {
        self.sample = sample
        self.sample.counters = sample.counters ?? LinkCounters()
        health.apply([2: self.sample], at: now)
    }

    static func cable(_ wired: WiredFacts? = WiredFacts(megabits: 1000, isFullDuplex: true)) -> Minutes {
        Minutes(LinkSample("eth0", isCable: true, wired: wired))
    }

    /// Lets minutes pass, in each of which the counters grow.
    mutating func pass(
        _ count: Int = 1,
        of length: Duration = .seconds(60),
        _ grow: (inout LinkSample) -> Void = { _ in }
    ) {
        for _ in 0..<count {
            grow(&sample)
            now += length
            health.apply([2: sample], at: now)
        }
    }

    mutating func receive(_ packets: UInt64, crc: UInt64 = 0, minutes: Int = 1) {
        pass(minutes) {
            $0.counters?.received += packets
            $0.counters?.crcErrors += crc
        }
    }

    var codes: [VerdictCode] { health.verdicts.map(\.code) }
    var sentence: String? { health.verdicts.first?.say }
}

@Suite struct LinkHealthTests {
    @Test func `a damaged cable is named with its figures`() {
        var link = Minutes.cable()
        link.receive(100_000, crc: 150)
        #expect(link.codes.isEmpty, "one burst may be a plug that was moved")
        link.receive(100_000, crc: 162)
        #expect(link.codes == [.linkErrors])
        #expect(
            link.sentence
                == "eth0 received 312 of 200312 frames with errors within 2 minutes (312 CRC, 0 alignment)"
        )
        #expect(link.health.verdicts.first?.severity == .warning)
        #expect(
            link.health.verdicts.first?.evidence.map(\.name) == [
                "crc_errors", "frame_errors", "packets", "window_seconds",
            ]
        )
    }

    @Test func `damaged frames that only the MAC layer counts are found`() {
        var link = Minutes.cable()
        func receive(_ crc: UInt64?) {
            link.pass {
                $0.counters?.received += 100_000
                $0.counters?.mac = crc.map { MACCounters(crcErrors: $0) }
            }
        }
        receive(5000)
        receive(5000)
        #expect(link.codes.isEmpty, "what was counted before the first reading is of no known time")
        receive(5150)
        // A reading that failed is made up for by the next one.
        receive(nil)
        #expect(link.health.samples[2]?.counters?.preferringMAC.crcErrors == 5150)
        receive(5312)
        #expect(link.codes == [.linkErrors])
        #expect(link.sentence?.hasPrefix("eth0 received 312 of ") == true, "\(link.sentence ?? "")")
    }

    @Test func `a burst that the kernel and the MAC layer count in different minutes is one burst`() {
        var link = Minutes.cable()
        link.pass { $0.counters?.mac = MACCounters(crcErrors: 0) }
        link.pass {
            $0.counters?.received += 1000
            $0.counters?.mac?.crcErrors = 100
        }
        link.receive(1000, crc: 100, minutes: 1)
        link.receive(1000, minutes: 3)
        #expect(link.codes.isEmpty)
        // What the MAC layer does not count, the kernel does.
        link.pass {
            $0.counters?.received += 1000
            $0.counters?.frameErrors += 30
        }
        #expect(link.sentence?.contains("(100 CRC, 30 alignment)") == true, "\(link.sentence ?? "")")
    }

    @Test func `a link that is renamed keeps its fault, under its new name`() {
        var link = Minutes.cable()
        link.receive(1000, crc: 150, minutes: 2)
        let before = link.health.verdicts
        #expect(before.first?.severity == .degraded)
        link.sample.name = "uplink"
        link.receive(0)
        #expect(link.codes == [.linkErrors] && link.health.verdicts.first?.severity == .degraded)
        #expect(link.health.verdicts.first?.subject == "uplink")
        #expect(link.sentence?.hasPrefix("uplink received 300 of 2300 frames") == true, "\(link.sentence ?? "")")
        link.receive(1_000_000, minutes: 12)
        #expect(link.codes.isEmpty)
    }

    @Test func `what damages every hundredth frame is more than a warning`() {
        var link = Minutes.cable()
        link.receive(1000, crc: 20, minutes: 2)
        #expect(link.health.verdicts.first?.severity == .degraded)
    }

    @Test func `single errors are none`() {
        var link = Minutes.cable()
        link.receive(1000, crc: 1, minutes: 60)
        #expect(link.codes.isEmpty, "fewer than twenty in ten minutes")
        var busy = Minutes.cable()
        busy.receive(60_000_000, crc: 50, minutes: 60)
        #expect(busy.codes.isEmpty, "one of a million")
    }

    @Test func `a fault ends by traffic without errors, not by a pause`() {
        var link = Minutes.cable()
        link.receive(100_000, crc: 100, minutes: 3)
        link.receive(0, minutes: 120)
        #expect(link.codes == [.linkErrors])
        #expect(
            link.sentence
                == "eth0 received 200 of 200200 frames with errors within 2 minutes (200 CRC, 0 alignment)"
        )
        link.receive(1000, minutes: 10)
        #expect(link.codes == [.linkErrors], "too few packets to say")
        link.receive(11_000)
        #expect(link.codes.isEmpty)
    }

    @Test func `a fault that goes on at a fifth of the rate does not end`() {
        var link = Minutes.cable()
        link.receive(1_000_000, crc: 20, minutes: 3)
        link.receive(1_000_000, crc: 4, minutes: 60)
        #expect(link.codes == [.linkErrors])
    }

    @Test func `what is said is renewed every ten minutes at most, a higher severity at once`() {
        var link = Minutes.cable()
        link.receive(100_000, crc: 100, minutes: 3)
        let first = link.sentence
        link.receive(100_000, crc: 100, minutes: 8)
        #expect(link.sentence == first)
        link.receive(100_000, crc: 100, minutes: 2)
        #expect(link.sentence?.contains("within 12 minutes") == true)
        link.receive(1000, crc: 500, minutes: 10)
        #expect(link.health.verdicts.first?.severity == .degraded, "it became worse")
        link.receive(1_000_000, crc: 100, minutes: 20)
        #expect(link.health.verdicts.first?.severity == .warning, "it became better")
    }

    @Test func `a card that nothing passes is a warning, whatever it counts`() {
        var link = Minutes.cable()
        link.receive(1000, crc: 500, minutes: 3)
        #expect(link.health.verdicts.first?.severity == .degraded)
        link.pass { $0.isUsed = false }
        #expect(link.health.verdicts.first?.severity == .warning)
    }

    @Test func `what a reading that failed leaves out belongs to its own time`() {
        var link = Minutes.cable()
        link.receive(100_000, crc: 1, minutes: 2)
        let counters = link.sample.counters
        link.pass(30) { $0.counters = nil }
        link.pass {
            $0.counters = counters
            $0.counters?.received += 3_000_000
            $0.counters?.crcErrors += 30
        }
        #expect(link.codes.isEmpty, "thirty in half an hour are one in a minute")
    }

    @Test func `a cable that falls to half duplex says nothing of what was counted before`() {
        var link = Minutes.cable()
        link.receive(100_000, crc: 100, minutes: 3)
        link.pass { $0.wired = WiredFacts(megabits: 100, isFullDuplex: false) }
        #expect(link.codes.isEmpty)
        link.receive(100_000, crc: 100, minutes: 2)
        #expect(link.codes == [.linkDuplex])
        #expect(
            link.sentence?.contains("counted 0 late collisions and 200 frames with errors within 3 minutes") == true
        )
    }

    @Test func `duplex that both ends negotiate ends the fault`() {
        var link = Minutes.cable(WiredFacts(megabits: 100, isFullDuplex: false))
        link.pass(2) {
            $0.counters?.received += 10_000
            $0.counters?.lateCollisions += 30
        }
        #expect(link.codes == [.linkDuplex])
        link.pass { $0.wired = WiredFacts(megabits: 1000, isFullDuplex: true) }
        #expect(link.codes.isEmpty)
    }

    @Test func `failures without retries are a whole sentence`() {
        var link = station(-80)
        link.pass(2) {
            $0.radio?.sent? += 1000
            $0.radio?.retries = nil
            $0.radio?.failures? += 30
        }
        #expect(
            link.sentence == "wlan0 receives its access point at -80 dBm: 30 of 1000 packets were not acknowledged"
        )
    }

    @Test func `ten minutes without a carrier end it`() {
        var link = Minutes.cable()
        link.receive(100_000, crc: 100, minutes: 3)
        link.pass(9) { $0.hasCarrier = false }
        #expect(link.codes == [.linkErrors])
        link.pass(2) { $0.hasCarrier = false }
        #expect(link.codes.isEmpty)
    }

    @Test func `readings that failed neither begin nor end a fault`() {
        var link = Minutes.cable()
        link.receive(100_000, crc: 100, minutes: 2)
        let counters = link.sample.counters
        link.pass(60) { $0.counters = nil }
        #expect(link.codes == [.linkErrors])
        link.pass { $0.counters = counters }
        #expect(link.codes == [.linkErrors])
    }

    @Test func `a counter that was set back or jumps says nothing`() {
        var link = Minutes.cable()
        link.receive(100_000, minutes: 3)
        link.pass {
            $0.counters = LinkCounters()
            $0.counters?.crcErrors = 5000
        }
        link.pass { $0.counters?.crcErrors = UInt64.max }
        link.pass { $0.counters?.crcErrors = 0 }
        #expect(link.codes.isEmpty)
        link.receive(100_000, crc: 100, minutes: 2)
        #expect(link.codes == [.linkErrors])
    }

    @Test func `only network cards with a cable count damaged frames`() {
        var tunnel = Minutes(LinkSample("gre1"))
        tunnel.receive(1000, crc: 1000, minutes: 30)
        #expect(tunnel.codes.isEmpty)
    }

    @Test func `a queue in the stead of another one begins anew`() {
        var link = Minutes.cable()
        func drop(_ drops: UInt64, of kind: String = "tbf") {
            link.pass {
                let old = $0.counters?.queue ?? QueueCounters(kind: kind)
                $0.counters?.queue = QueueCounters(kind: kind, sent: old.sent + 1000, drops: old.drops + drops)
            }
        }
        drop(0)
        drop(500)
        drop(500)
        #expect(link.codes == [.linkQueueDrops])
        link.pass { $0.counters?.queue = QueueCounters(kind: "tbf", sent: 10, drops: 300) }
        #expect(link.codes.isEmpty, "the same kind, made anew")
        drop(300)
        #expect(link.codes.isEmpty, "one reading")
        drop(300)
        #expect(
            link.sentence?.hasPrefix("the queue of eth0 (tbf) dropped 600 of 2600 packets within 2 minutes") == true
        )
        link.pass { $0.counters?.queue = nil }
        #expect(link.codes.isEmpty)
    }

    @Test func `a card that is gone has no fault`() {
        var link = Minutes.cable()
        link.receive(100_000, crc: 100, minutes: 3)
        link.health.apply([:], at: .seconds(240))
        #expect(link.codes.isEmpty)
    }

    @Test func `a machine that reads too slowly is to blame itself`() {
        var link = Minutes.cable()
        link.pass(2) {
            $0.counters?.received += 10_000
            $0.counters?.overruns += 60
        }
        #expect(link.codes == [.linkOverruns])
        #expect(link.sentence?.hasPrefix("eth0 dropped 120 of 20120 received frames within 2 minutes") == true)
    }

    // MARK: - Duplex and speed

    @Test(arguments: [
        (WiredFacts(megabits: 100, isFullDuplex: false), "runs at half duplex"),
        (WiredFacts(megabits: 100, isFullDuplex: true, isNegotiated: false), "runs at full duplex"),
    ])
    func `damaged frames where duplex was not negotiated are no bad cable`(wired: WiredFacts, words: String) {
        var link = Minutes.cable(wired)
        link.pass(2) {
            $0.counters?.received += 10_000
            $0.counters?.crcErrors += 30
            $0.counters?.lateCollisions += 10
        }
        #expect(link.codes == [.linkDuplex])
        #expect(link.sentence?.contains(words) == true)
    }

    @Test func `half duplex without a symptom is none`() {
        var hub = Minutes.cable(WiredFacts(megabits: 10, isFullDuplex: false))
        hub.receive(10_000, minutes: 20)
        #expect(hub.codes.isEmpty)
    }

    @Test func `less speed than both ends offer is a bad cable`() {
        var link = Minutes.cable(WiredFacts(megabits: 100, isFullDuplex: true, offered: 1000))
        #expect(link.codes.isEmpty, "it may have changed just now")
        link.pass()
        #expect(link.codes == [.linkSpeed])
        #expect(link.sentence == "eth0 runs at 100 Mbit/s, although both ends offer 1000")
        link.pass { $0.wired = nil }
        #expect(link.codes == [.linkSpeed], "the driver does not know at the moment")
        link.pass { $0.wired = WiredFacts(megabits: 1000, isFullDuplex: true, offered: 1000) }
        #expect(link.codes.isEmpty)
    }

    // MARK: - Queues

    private func queue(_ kind: String, isTailDrop: Bool = true) -> Minutes {
        var sample = LinkSample("ppp0", counters: LinkCounters())
        sample.counters?.queue = QueueCounters(kind: kind, isTailDrop: isTailDrop)
        return Minutes(sample)
    }

    private func overload(_ link: inout Minutes, minutes: Int = 2) {
        link.pass(minutes) {
            $0.counters?.queue?.sent += 1000
            $0.counters?.queue?.drops += 100
        }
    }

    @Test func `a full queue is named`() {
        var link = queue("tbf")
        overload(&link)
        #expect(link.codes == [.linkQueueDrops])
        #expect(link.sentence == "the queue of ppp0 (tbf) dropped 200 of 2200 packets within 2 minutes")
        link.pass(11) { $0.counters?.queue?.sent += 1000 }
        #expect(link.codes.isEmpty)
    }

    @Test func `a queue that drops on purpose is none, and ends what another one began`() {
        var link = queue("fq_codel", isTailDrop: false)
        overload(&link, minutes: 30)
        #expect(link.codes.isEmpty)
        var replaced = queue("pfifo_fast")
        overload(&replaced)
        replaced.pass { $0.counters?.queue = QueueCounters(kind: "fq_codel", isTailDrop: false) }
        #expect(replaced.codes.isEmpty)
    }

    @Test func `a queue that could not be read says nothing`() {
        var link = queue("tbf")
        overload(&link)
        let queue = link.sample.counters?.queue
        link.pass(30) {
            $0.counters?.queue = nil
            $0.counters?.isQueueKnown = false
        }
        #expect(link.codes == [.linkQueueDrops])
        link.pass {
            $0.counters?.queue = queue
            $0.counters?.isQueueKnown = true
        }
        #expect(link.codes == [.linkQueueDrops])
    }

    // MARK: - Wi-Fi

    private func station(_ signal: Int) -> Minutes {
        let radio = RadioCounters(
            accessPoint: [2, 0, 0, 0, 0, 1],
            signal: signal,
            sent: 0,
            retries: 0,
            failures: 0,
            beaconLosses: 0
        )
        return Minutes(LinkSample("wlan0", radio: radio))
    }

    @Test func `a weak signal counts where packets get lost`() {
        var link = station(-82)
        link.pass(30) { $0.radio?.sent? += 1000 }
        #expect(link.codes.isEmpty, "far away and in order")
        link.pass(2) {
            $0.radio?.sent? += 1000
            $0.radio?.retries? += 700
        }
        #expect(link.codes == [.linkWeakSignal])
        #expect(link.sentence == "wlan0 receives its access point at -82 dBm: 700 retries for 1000 packets")
        link.pass(4) {
            $0.radio?.signal = -60
            $0.radio?.sent? += 1000
        }
        #expect(link.codes == [.linkWeakSignal])
        link.pass(2) { $0.radio?.sent? += 1000 }
        #expect(link.codes.isEmpty)
    }

    @Test func `lost packets are worse than retries, and an hour without a bad reading ends a weak signal`() {
        var link = station(-82)
        link.pass(2) { $0.radio?.beaconLosses? += 1 }
        #expect(link.health.verdicts.first?.severity == .degraded)
        #expect(link.sentence == "wlan0 receives its access point at -82 dBm: beacons lost once")
        link.pass(59)
        #expect(link.codes == [.linkWeakSignal])
        link.pass(2)
        #expect(link.codes.isEmpty)
        link.pass { $0.radio?.beaconLosses? += 1 }
        #expect(link.codes.isEmpty, "one of three")
    }

    @Test func `a new association with the same access point is compared with nothing`() {
        var link = station(-82)
        func count(_ sent: UInt32, _ retries: UInt32) {
            link.pass {
                $0.radio?.sent = sent
                $0.radio?.retries = retries
            }
        }
        count(1000, 100)
        for _ in 0..<3 {
            count(1050, 0)
            count(900, 300)
        }
        #expect(link.codes.isEmpty)
    }

    @Test func `retries with a good signal are those of a busy channel`() {
        var link = station(-55)
        link.pass(10) {
            $0.radio?.sent? += 1000
            $0.radio?.retries? += 900
            $0.radio?.beaconLosses? += 1
        }
        #expect(link.codes.isEmpty)
    }

    @Test func `an idle client and an unknown signal say nothing`() {
        var idle = station(-85)
        idle.pass(10) {
            $0.radio?.sent? += 5
            $0.radio?.retries? += 5
        }
        #expect(idle.codes.isEmpty)
        for signal in [0, -127, 7] {
            var odd = station(signal)
            odd.pass(10) { $0.radio?.beaconLosses? += 1 }
            #expect(odd.codes.isEmpty, "\(signal)")
        }
    }

    @Test func `another access point is compared with itself`() {
        var link = station(-82)
        link.pass {
            $0.radio = RadioCounters(
                accessPoint: [2, 0, 0, 0, 0, 2],
                signal: -82,
                sent: 10_000,
                retries: 9000,
                failures: 0,
                beaconLosses: 5
            )
        }
        link.pass(3) { $0.radio?.sent? += 1000 }
        #expect(link.codes.isEmpty)
    }
}
