// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CCrypt
internal import Glibc
internal import LinuxIO

/// Lets requests pass that show what ``AccessRules`` ask for.
///
/// Passwords are checked on a thread of its own, one at a time; the loop never waits for one.
final class AccessGate {
    var rules: AccessRules {
        didSet { if rules != oldValue { queue.forget() } }
    }
    private let loop: EventLoop
    private var queue = PasswordQueue(secret: RandomBytes.make(32))
    private var waiting: [PasswordQueue.Key: [Waiter]] = [:]
    private var timer: EventLoop.Timer?

    private struct Waiter {
        let user: String
        let responder: any HTTPResponder
        let pass: () -> Void
    }

    init(loop: EventLoop, rules: AccessRules) {
        self.loop = loop
        self.rules = rules
    }

    deinit {
        if let timer { loop.cancel(timer) }
    }

    /// Calls `pass` with the request and its identity, now or later, or answers 401.
    func admit(_ request: HTTPRequest, _ responder: any HTTPResponder, pass: @escaping (HTTPRequest) -> Void) {
        switch rules.judge(request.field("Authorization"), from: request.peer) {
        case .admitted(let identity):
            var request = request
            request.identity = identity
            pass(request)
        case .refused: responder.respond(rules.refusal, route: Self.route)
        case .checked(let user, let password, let hash):
            let key = queue.key(user: user, password: password, hash: hash)
            let check = PasswordQueue.Check(key: key, password: password, hash: hash)
            let pass = {
                var request = request
                request.identity = .user(user)
                pass(request)
            }
            switch queue.ask(check, user: user) {
            case .right: pass()
            case .waits: wait(Waiter(user: user, responder: responder, pass: pass), for: key)
            case .full:
                let problem = Problem(status: 503, detail: "Too many password checks are pending; try again shortly.")
                let fields = [HTTPField("Retry-After", "1")]
                responder.respond(HTTPResponse(problem, fields: fields), route: Self.route)
            }
        }
    }

    /// What metrics call requests that did not come to a route.
    private static let route = "refused"

    private func wait(_ waiter: Waiter, for key: PasswordQueue.Key) {
        waiting[key, default: []].append(waiter)
        let responder = waiter.responder
        responder.onCancelled = { [weak self, weak responder] in
            self?.waiting[key]?.removeAll { $0.responder === responder }
        }
        work()
    }

    private func work() {
        if let timer { loop.cancel(timer) }
        timer = nil
        if let check = queue.next(at: loop.clock.boot) { begin(check) }
        if let moment = queue.nextMoment {
            timer = loop.schedule(at: moment) { [weak self] in self?.work() }
        }
    }

    private func begin(_ check: PasswordQueue.Check) {
        let began = loop.clock.boot
        do {
            try loop.offload({ Bcrypt.verify(check.password, hash: check.hash) }) { [weak self] isRight in
                self?.finish(check, isRight: isRight, after: began)
            }
        } catch {
            finish(check, isRight: false, after: began)
        }
    }

    private func finish(_ check: PasswordQueue.Check, isRight: Bool, after began: Duration) {
        let waiters = waiting.removeValue(forKey: check.key) ?? []
        let now = loop.clock.boot
        queue.finished(user: waiters.first?.user, isRight: isRight, took: now - began, at: now)
        for waiter in waiters {
            waiter.responder.onCancelled = nil
            if isRight { waiter.pass() } else { waiter.responder.respond(rules.refusal, route: Self.route) }
        }
        work()
    }
}

/// Passwords as bcrypt hashes them, by crypt(3).
enum Bcrypt {
    /// Whether a password fits a hash; takes as long as the hash's cost wants.
    static func verify(_ password: [UInt8], hash: String) -> Bool {
        var data: UnsafeMutableRawPointer?
        var size: Int32 = 0
        defer { unsafe free(data) }
        let phrase = password.map { CChar(bitPattern: $0) } + [0]
        guard let result = unsafe crypt_ra(phrase, hash, &data, &size) else { return false }
        let text = unsafe Array(UnsafeRawBufferPointer(start: result, count: strlen(result)))
        return SHA256.areEqual(text, Array(hash.utf8))
    }
}
