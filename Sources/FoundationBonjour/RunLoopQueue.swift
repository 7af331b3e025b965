// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Foundation
internal import Synchronization

/// Hands events of any thread to the run loops that an object is scheduled in.
///
/// While it is scheduled, a run loop has something to wait for, as with Apple's objects.
package final class RunLoopQueue<Event: Sendable>: Sendable {
    /// A timer that is far away until there is something to deliver: setting its date wakes the run loop.
    private final class Alarm: Sendable {
        let loop: ObjectIdentifier
        /// Its date may be set, and it may be invalidated, by any thread (CFRunLoopTimer).
        nonisolated(unsafe) let timer: Timer
        let modes: [RunLoop.Mode]

        init(_ loop: RunLoop, _ modes: [RunLoop.Mode], ring: @escaping @Sendable () -> Void) {
            self.loop = ObjectIdentifier(loop)
            self.modes = modes
            unsafe timer = Timer(fire: .distantFuture, interval: 1e9, repeats: true) { timer in
                timer.fireDate = .distantFuture
                ring()
            }
            for mode in modes { loop.add(unsafe timer, forMode: mode) }
        }

        func ring() { unsafe timer.fireDate = Date() }

        func end() { unsafe timer.invalidate() }
    }

    private let events = Mutex<[Event]>([])
    private let alarms = Mutex<[Alarm]>([])
    /// Called on the run loops alone, where the object that it belongs to lives.
    private nonisolated(unsafe) let handler: ([Event]) -> Void

    /// Delivers to `handler`, which gets what has gathered since the last time.
    package init(_ handler: @escaping ([Event]) -> Void) { unsafe self.handler = handler }

    deinit { for alarm in alarms.withLock({ $0 }) { alarm.end() } }

    /// Delivers soon; may be called by any thread.
    package func post(_ event: Event) {
        events.withLock { $0.append(event) }
        for alarm in alarms.withLock({ $0 }) { alarm.ring() }
    }

    /// Delivers in this mode of this run loop, too.
    package func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) {
        replace(on: loop) { $0.contains(mode) ? $0 : $0 + [mode] }
    }

    /// Delivers no more in this mode of this run loop.
    package func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) {
        replace(on: loop) { modes in modes.filter { $0 != mode } }
    }

    /// A timer cannot leave a mode: another one replaces it.
    private func replace(on loop: RunLoop, _ change: ([RunLoop.Mode]) -> [RunLoop.Mode]) {
        let old = alarms.withLock { $0.first { $0.loop == ObjectIdentifier(loop) } }
        let modes = change(old?.modes ?? [])
        guard modes != old?.modes else { return }
        let new = modes.isEmpty ? nil : Alarm(loop, modes) { [weak self] in self?.deliver() }
        alarms.withLock { alarms in
            alarms.removeAll { $0 === old }
            if let new { alarms.append(new) }
        }
        old?.end()
        if !events.withLock({ $0.isEmpty }) { new?.ring() }
    }

    private func deliver() {
        let gathered = events.withLock { events in
            defer { events = [] }
            return events
        }
        if !gathered.isEmpty { unsafe handler(gathered) }
    }
}
