// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import LinuxIO

/// The engines of one network namespace; confined to the thread of their loop.
package final class Engines {
    /// Their loop.
    package let loop: EventLoop
    /// The path, and what follows it.
    lazy var paths = PathHub(loop: loop)
    /// Services on the links.
    package private(set) lazy var multicast = MulticastHub(loop: loop, paths: paths)
    /// What reads of sockets go into.
    let buffer = ReadBuffer()
    private var followsPath = false
    private var sessions: [UInt64: any EngineSession] = [:]
    private var rested: EngineThread?
    private var lastEnd = Duration.zero

    /// How long the thread stays after the last connection: one after another finds the path known.
    private static let rest = Duration.seconds(1)

    init(loop: EventLoop) { self.loop = loop }

    /// Closes everything; nobody holds an object any more that could request more.
    func stop() {
        let remaining = sessions.values
        sessions = [:]
        for session in remaining { session.end() }
        paths.stop()
    }

    /// The path, followed from the first connection on for as long as there is any object of the library: connections
    /// come and go too fast to begin anew with each.
    func followPath() -> PathHub {
        if !followsPath {
            followsPath = true
            paths.subscribe(EngineThread.makeID(), to: PathQuestion()) { _ in }
        }
        return paths
    }

    /// Whether the path is followed: new subscribers need not wait for a first update.
    var isWarm: Bool { followsPath && paths.isRunning }

    /// Keeps the thread a little longer, as a connection is over.
    func linger(_ thread: EngineThread) {
        lastEnd = loop.clock.boot
        guard rested == nil else { return }
        rested = thread
        leaveLater()
    }

    private func leaveLater() {
        loop.schedule(at: lastEnd + Self.rest) { [weak self] in
            guard let self else { return }
            if lastEnd + Self.rest > loop.clock.boot { leaveLater() } else { rested = nil }
        }
    }

    /// Keeps a session until ``end(_:)``.
    package func add(_ session: any EngineSession, as id: UInt64) { sessions[id] = session }

    /// Ends a session; one that has ended is no error.
    package func end(_ id: UInt64) { sessions.removeValue(forKey: id)?.end() }

    /// The session of an object, of the type that the object knows.
    package func session<Session: EngineSession>(_ id: UInt64, as type: Session.Type) -> Session? {
        sessions[id] as? Session
    }
}

/// What engines do for one object; confined to the thread of the engines.
package protocol EngineSession: AnyObject {
    /// Lets go of everything; called once.
    func end()
}
