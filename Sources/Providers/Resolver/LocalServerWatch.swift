// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import LinuxIO
internal import Netlink

/// Follows which name servers on this machine answer (rule S35).
///
/// A socket on port 53 says so for certain, and the kernel tells when it is closed. A loopback address without one may
/// still be served, as Docker's 127.0.0.11 is by a redirect: there a question decides, which does not leave the machine.
/// It is repeated while the answer is in use; a server that is missing is looked for every second at first. Confined to
/// the loop's thread.
public final class LocalServerWatch {
    /// Who answers may have changed.
    public var onChange: () -> Void = {}
    /// The addresses of those asked about that are served.
    public private(set) var served: Set<IPAddress> = []

    private let loop: EventLoop
    private let listening: (Set<IPAddress>) -> Set<IPAddress>
    private var addresses: Set<IPAddress> = []
    /// Those with a socket.
    private var found: Set<IPAddress> = []
    private var answering: Set<IPAddress> = []
    private var questions: [IPAddress: Question] = [:]
    private var ends: ListenerEndSocket?
    private var endWatch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var looks = 0

    /// A question that waits for its answer.
    private final class Question {
        let socket: LocalServerQuestion
        var watch: EventLoop.Watch?
        var deadline: EventLoop.Timer?

        init(to address: IPAddress) throws(Errno) { socket = try LocalServerQuestion(to: address) }
    }

    /// How long an answer may take.
    private static let patience = Duration.seconds(1)
    /// The same for the first one, which the start waits for.
    private static let firstPatience = Duration.milliseconds(100)
    /// How often an answer that no socket vouches for is asked for again, and a missing server looked for.
    private static let pace = Duration.seconds(5)
    /// How often a missing server is looked for at first, since it starts after this service as a rule; and how many times.
    private static let hurry = (pace: Duration.seconds(1), looks: 30)

    /// - Parameters:
    ///   - loop: Serves the watch.
    ///   - listening: Which of the given addresses somebody listens on, at port 53.
    public init(loop: EventLoop, listening: @escaping (Set<IPAddress>) -> Set<IPAddress>) {
        self.loop = loop
        self.listening = listening
    }

    /// Follows these addresses, among which may be some of other machines; who answers is known when this returns, but
    /// for a server that takes long.
    public func follow(_ addresses: Set<IPAddress>) {
        guard addresses != self.addresses else { return }
        let isFirst = self.addresses.isEmpty
        self.addresses = addresses
        looks = 0
        answering.formIntersection(addresses)
        watchEnds()
        look(waiting: isFirst ? Self.firstPatience : .zero)
    }

    /// Looks again.
    public func refresh() { look() }

    /// Ends it.
    public func stop() {
        addresses = []
        found = []
        for address in questions.keys { end(address) }
        if let timer { loop.cancel(timer) }
        timer = nil
        watchEnds()
    }

    /// Finds out once, and waits for answers.
    public static func served(_ addresses: Set<IPAddress>) -> Set<IPAddress> {
        let found = ListenerSocket.served(addresses)
        let open = addresses.filter(\.isLoopback).subtracting(found)
        let answering = open.filter { address in
            (try? Question(to: address))?.socket.wait(atMost: patience) == .answered
        }
        return found.union(answering)
    }

    private func watchEnds() {
        let isWanted = addresses.contains(where: \.isLoopback)
        if isWanted, endWatch == nil, let socket = try? ListenerEndSocket(port: 53) {
            // Without it, audits find out.
            endWatch = try? loop.watch(socket.descriptor, for: .readable) { [weak self] _ in self?.hearEnd() }
            ends = consume socket
        } else if !isWanted, let endWatch {
            loop.unwatch(endWatch)
            self.endWatch = nil
            ends = nil
        }
    }

    private func hearEnd() {
        ends?.drain()
        looks = 0
        look()
    }

    /// Loopback addresses that no socket vouches for.
    private var open: Set<IPAddress> { addresses.filter(\.isLoopback).subtracting(found) }

    /// - Parameter limit: How long to wait for answers here.
    private func look(waiting limit: Duration = .zero) {
        found = addresses.isEmpty ? [] : listening(addresses).intersection(addresses)
        let open = open
        answering.formIntersection(open)
        for address in questions.keys where !open.contains(address) { end(address) }
        for address in open where questions[address] == nil { ask(address, waiting: limit) }
        settle()
    }

    private func ask(_ address: IPAddress, waiting limit: Duration) {
        guard let question = try? Question(to: address) else { return note(address, .refused) }
        let outcome = question.socket.wait(atMost: limit)
        guard outcome == .waiting else { return note(address, outcome) }
        questions[address] = question
        question.watch = try? loop.watch(question.socket.descriptor, for: .readable) { [weak self] _ in
            guard let self, let outcome = questions[address]?.socket.look(), outcome != .waiting else { return }
            finish(address, outcome)
        }
        question.deadline = loop.schedule(after: Self.patience) { [weak self] in self?.finish(address, .refused) }
    }

    private func finish(_ address: IPAddress, _ outcome: LocalServerQuestion.Outcome) {
        end(address)
        note(address, outcome)
        settle()
    }

    private func note(_ address: IPAddress, _ outcome: LocalServerQuestion.Outcome) {
        if outcome == .answered { answering.insert(address) } else { answering.remove(address) }
    }

    private func end(_ address: IPAddress) {
        guard let question = questions.removeValue(forKey: address) else { return }
        if let watch = question.watch { loop.unwatch(watch) }
        if let deadline = question.deadline { loop.cancel(deadline) }
    }

    private func settle() {
        let now = found.union(answering)
        if let timer { loop.cancel(timer) }
        timer = nil
        if !open.isEmpty {
            let hurries = !open.isSubset(of: answering) && looks < Self.hurry.looks
            timer = loop.schedule(after: hurries ? Self.hurry.pace : Self.pace) { [weak self] in
                self?.looks += 1
                self?.look()
            }
        }
        guard now != served else { return }
        served = now
        onChange()
    }
}
