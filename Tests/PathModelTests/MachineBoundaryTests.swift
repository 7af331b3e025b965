// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// The machines at the very ends of their windows, and with clocks and settings that are odd.
@Suite struct MachineBoundaryTests {
    // MARK: - Settler (S42)

    @Test func `quiet and cap end to the nanosecond (S42)`() {
        var debounce = DebounceState(quiet: .milliseconds(100), cap: .milliseconds(250))
        debounce.trigger(at: .seconds(1))
        #expect(debounce.isPending)
        #expect(debounce.next(at: .milliseconds(1100) - .nanoseconds(1)) == .wait(.nanoseconds(1)))
        debounce.trigger(at: .milliseconds(1100) - .nanoseconds(1))
        debounce.trigger(at: .milliseconds(1200))
        // The cap comes before the end of the quiet.
        #expect(debounce.next(at: .milliseconds(1249)) == .wait(.milliseconds(1)))
        #expect(debounce.next(at: .milliseconds(1250)) == .evaluate)
        #expect(!debounce.isPending)
        #expect(debounce.next(at: .milliseconds(1251)) == .idle)
    }

    @Test func `a burst begins anew after it was evaluated (S42)`() {
        var debounce = DebounceState()
        debounce.trigger(at: .zero)
        #expect(debounce.next(at: .seconds(9)) == .evaluate)
        debounce.trigger(at: .seconds(9))
        #expect(debounce.next(at: .seconds(9)) == .wait(.milliseconds(100)))
        #expect(debounce.next(at: .milliseconds(9100)) == .evaluate)
    }

    // MARK: - Sleep (S49)

    @Test func `the threshold itself is sleep, less is not, and a gap that shrinks is none (S49)`() {
        var detector = SleepDetector(threshold: .milliseconds(500))
        #expect(detector.observe(boot: .seconds(10), awake: .seconds(10)) == nil)
        #expect(detector.observe(boot: .milliseconds(11_499), awake: .seconds(11)) == nil)
        // The next look compares with the last one, so that noise does not add up to sleep.
        #expect(detector.observe(boot: .milliseconds(12_998), awake: .seconds(12)) == nil)
        #expect(detector.observe(boot: .milliseconds(14_498), awake: .seconds(13)) == .milliseconds(500))
        #expect(detector.observe(boot: .seconds(14), awake: .seconds(14)) == nil)
        #expect(detector.observe(boot: .seconds(3614), awake: .seconds(14)) == .seconds(3600))
    }

    // MARK: - Audits (S9)

    @Test func `a new interval counts from the last reading and keeps the count (S9)`() {
        var schedule = AuditSchedule()
        schedule.read(at: .seconds(100))
        _ = schedule.evaluated(isSatisfied: false, didChange: true, cause: .audit)
        schedule.apply(interval: .seconds(4))
        #expect(schedule.silentChanges == 1)
        #expect(schedule.due == .seconds(104) && schedule.lossInterval == .seconds(4))
        schedule.apply(interval: .seconds(60))
        #expect(schedule.due == .seconds(110))
        schedule.apply(interval: .seconds(-5))
        #expect(schedule.due == nil)
        schedule.apply(interval: .seconds(60))
        schedule.read(at: .seconds(200))
        _ = schedule.evaluated(isSatisfied: true, didChange: false, cause: .link)
        #expect(schedule.due == .seconds(260))
    }

    // MARK: - Flapping

    @Test func `the window of changes ends where the change before it leaves`() {
        var damper = FlapDamper(limit: 2, window: .seconds(10))
        for second in [0, 1, 2] { _ = damper.change(at: .seconds(second)) }
        #expect(damper.isFlapping)
        // One change, half of the limit, may be left: the one at 2 s; that at 1 s leaves at 11 s.
        #expect(damper.nextCheck == .seconds(11))
        #expect(damper.end(at: .seconds(11)) == 0)
        var slow = FlapDamper(limit: 2, window: .seconds(10))
        for second in [0, 5, 10, 15, 20] { #expect(slow.change(at: .seconds(second)) == .publish) }
    }

    @Test func `changes before a sleep do not keep flapping alive (S49)`() {
        var damper = FlapDamper(limit: 2, window: .seconds(10))
        for second in [0, 1, 2, 3] { _ = damper.change(at: .seconds(second)) }
        damper.slept(until: .seconds(3))
        #expect(damper.isFlapping && damper.nextCheck == nil)
        #expect(damper.end(at: .seconds(3)) == 1)
    }

    // MARK: - Recovery (S43)

    @Test func `the better of two recoveries is published when the wait is over (S43)`() {
        let down = World().path()
        let up = World.ordinary().path()
        var better = up
        better.isExpensive = true
        var hold = RecoveryHold(duration: .seconds(5))
        _ = hold.update(down, at: .zero)
        #expect(hold.update(up, at: .seconds(1)) == down)
        #expect(hold.update(better, at: .seconds(4)) == down)
        #expect(hold.isHolding && hold.releaseAt == .seconds(6))
        #expect(hold.update(better, at: .seconds(6) - .nanoseconds(1)) == down)
        #expect(hold.update(better, at: .seconds(6)) == better)
        #expect(RecoveryHold(duration: .seconds(-1)).duration == .zero)
    }

    @Test func `a connection that can be made is no recovery (S43)`() {
        let down = World().path()
        var other = down
        other.status = .requiresConnection
        var hold = RecoveryHold(duration: .seconds(5))
        _ = hold.update(down, at: .zero)
        #expect(hold.update(other, at: .seconds(1)) == other)
        #expect(!hold.isHolding && hold.releaseAt == nil)
    }

    // MARK: - Quality (S39)

    @Test func `a change that is held back says until when, and a way back takes that away (S39)`() {
        var meter = LinkQualityMeter()
        _ = meter.read(.cellular(percent: 90), at: .seconds(100))
        #expect(meter.read(.cellular(percent: 40), at: .seconds(110)) == .moderate)
        #expect(meter.heldUntil == nil)
        #expect(meter.read(.cellular(percent: 10), at: .seconds(120)) == .moderate)
        #expect(meter.heldUntil == .seconds(140))
        #expect(meter.read(.cellular(percent: 40), at: .seconds(130)) == .moderate)
        #expect(meter.heldUntil == nil)
        #expect(meter.read(.unknown, at: .seconds(139)) == .moderate)
        #expect(meter.read(.unknown, at: .seconds(140)) == .unknown)
        // So is what comes back.
        #expect(meter.read(.cellular(percent: 90), at: .seconds(141)) == .unknown)
        #expect(meter.heldUntil == .seconds(170))
        #expect(meter.read(.cellular(percent: 90), at: .seconds(170)) == .good)
    }

    // MARK: - Ends (S28)

    @Test func `a route that ran out is looked for twice a second while the kernel keeps it (S28)`() {
        var world = World()
        world.link("eth0", 2)
        world.add("2001:db8::10/64", on: "eth0")
        world.route("::/0", "eth0", via: "fe80::1") { $0.expiresIn = -0.5 }
        #expect(world.path().reason == .noDefaultRoute)
        #expect(world.evaluate().nextCheck == world.now + .milliseconds(500))
        // Another router may do the work meanwhile.
        world.route("::/0", "eth0", via: "fe80::2")
        #expect(world.path().gatewayTexts == ["fe80::2%eth0"])
        #expect(world.evaluate().nextCheck == world.now + .milliseconds(500))
        world.table.routes.removeFirst()
        #expect(world.evaluate().nextCheck == nil)
    }

    @Test(arguments: [(75, false), (76, true), (99, true)])
    func `the last quarter is warned about, not a moment before (S28)`(second: Int, isWarned: Bool) {
        var plan = ExpiryPlan()
        let route = Expiry(subject: .route(.ipv6, index: 2), at: .seconds(100) + .milliseconds(1))
        var evaluation = Evaluation(path: World.ordinary().path(), expiries: [route], nextCheck: route.at)
        plan.apply(to: &evaluation, at: .zero)
        plan.apply(to: &evaluation, at: .seconds(second))
        #expect(evaluation.path.warnings.contains(.expiring) == isWarned)
    }
}

/// When the news of an address is news (rules S24, S27, S28).
@Suite struct HeldAddressTests {
    private func state(_ address: InterfaceAddress, at now: Duration = .zero) -> KernelState {
        var state = KernelState()
        _ = state.apply(.link(Link(index: 2, name: "eth0", flags: .up, carrier: true)), at: now)
        _ = state.apply(.address(address), at: now)
        return state
    }

    /// The old lifetime, how long ago it was told, the new one, and whether that is to be evaluated.
    @Test(
        arguments: [
            (100, 0, 100, false), (100, 0, 99, false), (100, 0, 98, true), (100, 10, 90, false), (100, 10, 200, false),
            (100, 74, 104, false), (100, 75, 104, true), (100, 100, 100, true), (nil, 5, 100, true),
            (100, 5, nil, true), (nil, 5, nil, false),
        ] as [(UInt32?, Int, UInt32?, Bool)]
    )
    func `a refresh matters when it ends earlier, or comes in the last quarter`(
        old: UInt32?,
        after: Int,
        new: UInt32?,
        isNews: Bool
    ) {
        var state = state(World.address("2001:db8::1/64", index: 2, valid: old))
        let trigger = state.apply(.address(World.address("2001:db8::1/64", index: 2, valid: new)), at: .seconds(after))
        #expect((trigger != nil) == isNews)
        #expect(state.addresses[2]?.count == 1)
    }

    @Test(arguments: [AddressFlags.deprecated, .tentative, .duplicateDetected, .temporary])
    func `a flag that comes or goes is news, however equal the rest`(flag: AddressFlags) {
        let plain = World.address("2001:db8::1/64", index: 2, valid: 100)
        let marked = World.address("2001:db8::1/64", index: 2, flags: flag, valid: 100)
        var state = state(plain)
        #expect(state.apply(.address(marked), at: .zero)?.cause == .address)
        #expect(state.apply(.address(marked), at: .zero) == nil)
        #expect(state.apply(.address(plain), at: .zero) != nil)
    }

    @Test func `one IPv4 address may be there once for each peer`() {
        var first = World.address("192.0.2.1/32", index: 2)
        first.peer = IPAddress("198.51.100.1")
        var second = first
        second.peer = IPAddress("198.51.100.2")
        var state = state(first)
        #expect(state.apply(.address(second), at: .zero) != nil)
        #expect(state.addresses[2]?.count == 2)
        #expect(state.apply(.addressRemoved(first), at: .zero) != nil)
        #expect(state.addresses[2]?.map(\.value) == [second])
        #expect(state.routableInterfaces == [2])
        #expect(state.apply(.addressRemoved(first), at: .zero) == nil)
    }

    @Test func `an IPv6 address has one entry, whatever its peer`() {
        let plain = World.address("2001:db8::1/64", index: 2)
        var pointToPoint = plain
        pointToPoint.peer = IPAddress("2001:db8::2")
        var state = state(plain)
        #expect(state.apply(.address(pointToPoint), at: .zero) != nil)
        #expect(state.addresses[2]?.map(\.value) == [pointToPoint])
    }

    @Test func `news of an interface that nobody knows does not stick to the next one of its index`() {
        var state = KernelState()
        #expect(state.apply(.addressRemoved(World.address("192.0.2.1/24", index: 7)), at: .zero) == nil)
        #expect(state.apply(.linkRemoved(index: 7, name: "old"), at: .zero) == nil)
        _ = state.apply(.link(Link(index: 7, name: "old", flags: .up, carrier: true)), at: .zero)
        _ = state.apply(.address(World.address("192.0.2.1/24", index: 7)), at: .zero)
        _ = state.apply(.linkRemoved(index: 7, name: "old"), at: .zero)
        _ = state.apply(.link(Link(index: 7, name: "new", flags: .up, carrier: true)), at: .seconds(5))
        #expect(state.routableInterfaces.isEmpty && state.addresses[7] == nil)
        #expect(state.link(named: "old") == nil && state.link(named: "new")?.index == 7)
        #expect(state.settlingSince(7) == .seconds(5))
    }

    /// Links and addresses that a full reading finds to be others, and how many interfaces that makes.
    @Test func `an interface that differs in two ways is counted once (S9)`() {
        var difference = StateDifference()
        #expect(difference.isEmpty)
        difference.addedLinks = [5]
        difference.changedLinks = [3, 4]
        difference.changedAddresses = [3, 5, 6]
        difference.removedLinks = [9]
        #expect(difference.count == 5 && !difference.isEmpty)
    }
}
