// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
@testable import Network
import Testing

@Suite struct ConnectionLifeTests {
    private typealias Action = ConnectionLife.Action

    private let refused = NWError.posix(.ECONNREFUSED)
    private let reset = NWError.posix(.ECONNRESET)
    private let cancelled = NWError.posix(.ECANCELED)

    private func ready() -> ConnectionLife {
        var life = ConnectionLife()
        _ = life.start()
        _ = life.connected()
        return life
    }

    private func ending(isAbrupt: Bool = false) -> [Action] {
        [.disconnect(isAbrupt: isAbrupt), .endReceives(cancelled), .endSends(cancelled), .enter(.cancelled)]
    }

    @Test func `starts once`() {
        var life = ConnectionLife()
        #expect(life.start() == [.enter(.preparing), .connect])
        #expect(life.start() == [])
        #expect(life.connected() == [.enter(.ready), .viability(true)])
        #expect(life.isReady && life.connected() == [])
    }

    @Test func `a reset ends it, whether it was ready or not`() {
        let reset = NWError.posix(.ECONNRESET)
        var early = ConnectionLife()
        _ = early.start()
        var late = ConnectionLife()
        _ = late.start()
        _ = late.connected()
        #expect(early.couldNotConnect(reset) == late.broke(reset))
        #expect(early.state == .failed(reset) && early.retry() == [])
    }

    @Test func `waits when refused, and tries again`() {
        var life = ConnectionLife()
        #expect(life.retry() == [])
        _ = life.start()
        #expect(life.retry() == [], "it is at it")
        #expect(life.couldNotConnect(refused) == [.disconnect(isAbrupt: false), .enter(.waiting(refused))])
        #expect(life.couldNotConnect(refused) == [])
        #expect(life.retry() == [.enter(.preparing), .connect])
        #expect(life.state == .preparing && life.refusal == nil)
    }

    @Test func `fails when it breaks, with the error for everybody who waits`() {
        var life = ready()
        #expect(
            life.broke(reset) == [
                .disconnect(isAbrupt: false), .enter(.failed(reset)), .endReceives(reset), .endSends(reset),
            ]
        )
        #expect(life.broke(refused) == [] && life.retry() == [] && life.connected() == [])
        #expect(life.refusal == reset)
        #expect(life.cancel() == ending() && life.cancel() == [])
        #expect(life.refusal == cancelled)
    }

    @Test func `sends what waits before it is cancelled`() {
        var life = ready()
        #expect(life.finished() == [])
        #expect(life.cancel() == [.endReceives(cancelled), .finish])
        #expect(life.isFinishing && life.state == .ready && life.refusal == cancelled)
        #expect(life.cancel() == [] && life.routed(isViable: false, hasBetterPath: true) == [])
        #expect(life.finished() == ending())
        #expect(life.finished() == [] && life.forceCancel() == [])
    }

    @Test func `is cancelled when it breaks while it finishes`() {
        var life = ready()
        _ = life.cancel()
        #expect(life.broke(reset) == ending())
    }

    @Test func `is cancelled at once when it is told so, or is not ready`() {
        var life = ready()
        _ = life.cancel()
        #expect(life.forceCancel() == ending(isAbrupt: true))
        var early = ConnectionLife()
        #expect(early.cancel() == ending() && early.start() == [])
        var waiting = ConnectionLife()
        _ = waiting.start()
        _ = waiting.couldNotConnect(refused)
        #expect(waiting.cancel() == ending() && waiting.retry() == [])
    }

    @Test func `tells what changes about its path`() {
        var life = ready()
        #expect(life.routed(isViable: true, hasBetterPath: false) == [])
        #expect(life.routed(isViable: false, hasBetterPath: false) == [.viability(false)])
        #expect(life.routed(isViable: false, hasBetterPath: false) == [])
        #expect(life.routed(isViable: true, hasBetterPath: true) == [.viability(true), .betterPath(true)])
        #expect(life.routed(isViable: true, hasBetterPath: false) == [.betterPath(false)])
        _ = life.broke(reset)
        #expect(life.routed(isViable: false, hasBetterPath: false) == [])
    }

    @Test func `may fail while protocols agree`() {
        var life = ConnectionLife()
        _ = life.start()
        let error = NWError.tls(-9808)
        #expect(life.broke(error).contains(.enter(.failed(error))))
    }
}
