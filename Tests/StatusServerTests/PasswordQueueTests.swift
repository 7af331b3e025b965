// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusServer

@Suite struct PasswordQueueTests {
    private func check(_ queue: PasswordQueue, _ user: String, _ password: String) -> PasswordQueue.Check {
        let bytes = Array(password.utf8)
        return .init(key: queue.key(user: user, password: bytes, hash: "h"), password: bytes, hash: "h")
    }

    @Test func `one at a time, and then the processor rests for three times as long`() {
        var queue = PasswordQueue(secret: [1])
        let first = check(queue, "ada", "1")
        let second = check(queue, "ada", "2")
        #expect(queue.next(at: .zero) == nil && queue.nextMoment == nil)
        #expect(queue.ask(first, user: "ada") == .waits)
        #expect(queue.ask(second, user: "ada") == .waits)
        #expect(queue.nextMoment == .zero)
        #expect(queue.next(at: .zero) == first)
        #expect(queue.next(at: .zero) == nil && queue.nextMoment == nil)
        queue.finished(user: "ada", isRight: false, took: .milliseconds(60), at: .milliseconds(60))
        #expect(queue.nextMoment == .milliseconds(240))
        #expect(queue.next(at: .milliseconds(239)) == nil)
        #expect(queue.next(at: .milliseconds(240)) == second)
        queue.finished(user: nil, isRight: false, took: .seconds(10), at: .seconds(20))
        #expect(queue.ask(first, user: "ada") == .waits)
        // A rest is never long.
        #expect(queue.nextMoment == .seconds(21))
    }

    @Test func `what was right is known from then on, until the users change`() {
        var queue = PasswordQueue(secret: [1])
        let right = check(queue, "ada", "1")
        #expect(queue.ask(right, user: "ada") == .waits)
        _ = queue.next(at: .zero)
        // The same question, while it is being answered, is no second check.
        #expect(queue.ask(right, user: "ada") == .waits)
        queue.finished(user: "ada", isRight: true, took: .zero, at: .zero)
        #expect(queue.nextMoment == nil)
        #expect(queue.ask(right, user: "ada") == .right)
        #expect(queue.ask(check(queue, "ada", "2"), user: "ada") == .waits)
        #expect(queue.ask(check(queue, "eve", "1"), user: "eve") == .waits)
        queue.forget()
        #expect(queue.ask(right, user: "ada") == .waits)
    }

    @Test func `what was wrong is not known, and a wrong one does not push out a right one`() {
        var queue = PasswordQueue(secret: [1])
        for (password, isRight) in [("1", true), ("2", false), ("3", false)] {
            #expect(queue.ask(check(queue, "ada", password), user: "ada") == .waits)
            _ = queue.next(at: .seconds(9))
            queue.finished(user: "ada", isRight: isRight, took: .zero, at: .zero)
        }
        #expect(queue.ask(check(queue, "ada", "1"), user: "ada") == .right)
        #expect(queue.ask(check(queue, "ada", "2"), user: "ada") == .waits)
    }

    @Test func `a bounded number waits`() {
        var queue = PasswordQueue(secret: [1], capacity: 2)
        for password in ["1", "2"] { #expect(queue.ask(check(queue, "eve", password), user: "eve") == .waits) }
        #expect(queue.ask(check(queue, "eve", "3"), user: "eve") == .full)
        #expect(queue.ask(check(queue, "eve", "1"), user: "eve") == .waits)
        _ = queue.next(at: .zero)
        #expect(queue.ask(check(queue, "eve", "3"), user: "eve") == .waits)
    }

    @Test func `keys tell users, hashes, passwords and processes apart`() {
        let queue = PasswordQueue(secret: [1])
        let keys = [
            queue.key(user: "a", password: [1], hash: "h"), queue.key(user: "b", password: [1], hash: "h"),
            queue.key(user: "a", password: [2], hash: "h"), queue.key(user: "a", password: [1], hash: "i"),
            PasswordQueue(secret: [2]).key(user: "a", password: [1], hash: "h"),
            queue.key(user: "ah", password: [1], hash: ""),
        ]
        #expect(Set(keys).count == keys.count && keys.allSatisfy { $0.count == 32 })
    }
}

@Suite struct DigestTests {
    @Test func `codes are those of RFC 4231`() {
        let code = SHA256.code(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        #expect(code.prefix(4) == [0x5B, 0xDC, 0xC1, 0x46] && code.suffix(2) == [0x38, 0x43])
    }

    @Test func `comparing looks at every byte`() {
        #expect(SHA256.areEqual([1, 2, 3], [1, 2, 3]) && SHA256.areEqual([], []))
        #expect(!SHA256.areEqual([1, 2, 3], [1, 2, 4]) && !SHA256.areEqual([1, 2], [1, 2, 3]))
    }

    @Test(arguments: ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "AAECAw=="])
    func `reads base 64 back`(text: String) {
        #expect(Base64.bytes(of: text).map(Base64.text) == text)
    }

    @Test(arguments: ["Z", "Zg", "Zg=", "Zg=\n", "Zm9v Zm9v", "Zm-v", "Zm_v", "Zm9\u{e9}"])
    func `refuses what is no base 64`(text: String) {
        #expect(Base64.bytes(of: text) == nil)
    }

    @Test func `nobody foresees random bytes`() {
        #expect(RandomBytes.make(32) != RandomBytes.make(32) && RandomBytes.make(7).count == 7)
    }
}
