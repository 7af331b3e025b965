// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import FoundationWebSocket
import Testing

@Suite struct MessageBoxTests {
    private struct Over: Error {}

    private func words(_ deliveries: [MessageBox<String, Int>.Delivery]) -> [String] {
        deliveries.map { delivery in "\(delivery.receiver) \((try? delivery.result.get()) ?? "over")" }
    }

    @Test func `each receiver gets one message, in order`() {
        var box = MessageBox<String, Int>()
        #expect(words(box.receive(1)) == [] && words(box.receive(2)) == [])
        #expect(words(box.add("a")) == ["1 a"] && words(box.add("b")) == ["2 b"])
        #expect(words(box.add("c")) == [] && words(box.add("d")) == [])
        #expect(words(box.receive(3)) == ["3 c"] && words(box.receive(4)) == ["4 d"])
    }

    @Test func `more is wanted while nothing waits`() {
        var box = MessageBox<String, Int>()
        #expect(box.wantsMore)
        _ = box.add("a")
        #expect(!box.wantsMore)
        _ = box.receive(1)
        #expect(box.wantsMore)
        _ = box.finish(Over())
        #expect(!box.wantsMore)
    }

    @Test func `the end comes after what came before, to all who wait and who come later`() {
        var box = MessageBox<String, Int>()
        _ = box.add("a")
        #expect(words(box.finish(Over())) == [])
        #expect(words(box.receive(1)) == ["1 a"] && words(box.receive(2)) == ["2 over"])
        var other = MessageBox<String, Int>()
        _ = other.receive(1)
        _ = other.receive(2)
        #expect(words(other.finish(Over())) == ["1 over", "2 over"])
        #expect(words(other.finish(URLError(.cancelled))) == [])
        let late = other.receive(3)
        #expect(words(late) == ["3 over"])
        #expect(throws: Over.self) { try late[0].result.get() }
    }

    @Test(arguments: 0..<20) func `whatever the order, every message and every receiver is served once`(seed: UInt64) {
        var numbers = seed &* 6_364_136_223_846_793_005 &+ 1
        var box = MessageBox<Int, Int>()
        var (sent, asked): (Int, Int) = (0, 0)
        var got: [(Int, Int?)] = []
        for _ in 0..<200 {
            numbers = numbers &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let deliveries: [MessageBox<Int, Int>.Delivery]
            if numbers >> 40 & 1 == 0 {
                deliveries = box.add(sent)
                sent += 1
            } else {
                deliveries = box.receive(asked)
                asked += 1
            }
            got += deliveries.map { ($0.receiver, try? $0.result.get()) }
        }
        #expect(got.count == min(sent, asked))
        got += box.finish(Over()).map { ($0.receiver, try? $0.result.get()) }
        #expect(got.map(\.0) == Array(0..<asked))
        #expect(got.compactMap(\.1) == Array(0..<min(sent, asked)))
    }
}
