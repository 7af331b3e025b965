// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import EventHub
internal import Glibc
internal import LinuxIO
internal import Netlink
internal import PathEngine
internal import PathModel
internal import PathService
internal import Spelling

/// `nwpath replay`: the events of a recording.
struct Replay: Command {
    var file = ""
    var config: String?
    var debounce: Duration?
    var isPaced = false

    static let specification = Specification<Replay>(
        "replay",
        "Prints the events that a recording of `serve --record` produces.",
        discussion:
            "The recorded messages of the kernel run through the same code as in the service, at their times but "
            + "without waiting. Data of providers such as resolv.conf is not recorded. Without a terminal, or with "
            + "--json, the events are JSON lines, else one sentence each.",
        examples: [
            CommandExample("nwpath replay outage.rec", "what happened"),
            CommandExample("nwpath replay outage.rec --debounce 0 --json", "every change, as it would be logged"),
        ],
        arguments: [
            .positional("FILE", into: \.file, .path, help: "The recording."),
            .option("--config", value: "FILE", into: \.config, .path, help: "The configuration file."),
            .option("--debounce", value: "DURATION", into: \.debounce, .duration, help: "Quiet time before a change."),
            .flag("--real-time", into: \.isPaced, help: "Keep the original timing."),
        ],
        common: [.output, .messages],
        exits: [
            ExitNote(.success, "replayed"), ExitNote(.negative, "the file is not a recording; the message says where"),
            ExitNote(.usage, "the command line or the configuration is not valid"),
        ]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        guard var settings = CommandConfiguration.load(config) else { return .usage }
        if let debounce { settings.debounce(debounce) }
        let recording: NetlinkRecording
        do {
            recording = try NetlinkRecording(path: file)
        } catch {
            Terminal.complain("\(file): \(Self.describe(error))")
            return .negative
        }
        if recording.isTorn && !common.isQuiet {
            Terminal.complain("\(file): ends in the middle of a line, which is left out")
        }
        var engineSettings = settings.engine
        // What this command is bound to says nothing of the program that recorded.
        engineSettings.policy.boundInterface = nil
        let engine = ReplayEngine(recording, settings: engineSettings)
        let isText = Terminal.isInteractive && !common.isJSON
        // One stream and one host, so that two replays of a file are the same to the byte.
        var options = EventHub.Options(host: "replay")
        options.minimumSeverity = settings.minimumSeverity
        let hub = EventHub(options, after: Self.position, clock: engine.clock)
        hub.addSink { event in
            if isText {
                Terminal.print("\(event.time) \(event.name.rawValue) \(PrintableText.escape(event.message))")
            } else {
                Terminal.print(event.line)
            }
        }
        let publisher = UpdatePublisher(hub: hub)
        engine.onUpdate = { publisher.publish($0) }
        engine.onResync = { [unowned engine] found in
            publisher.publishResync(total: engine.overruns, duration: .zero, found: found)
        }
        let traffic = TrafficReplay(engine, hub: hub)
        engine.onStep = { traffic.follow($0) }
        if isPaced { engine.onAdvance = Self.pace(from: engine.clock.boot) }
        do {
            try engine.run()
            return .success
        } catch {
            Terminal.complain("\(file): does not hold what the service read when it started")
            return .negative
        }
    }

    /// The stream of every replay; its first event has the number 1.
    private static var position: EventPosition? {
        StreamID("00000000").map { EventPosition(stream: $0, sequence: 0) }
    }

    /// Waits until as much time went by here as there.
    private static func pace(from start: Duration) -> (Duration) -> Void {
        let clock = KernelClock()
        let began = clock.boot
        return { time in
            var rest = time - start - (clock.boot - began)
            while rest > .zero {
                usleep(UInt32(min(rest, .milliseconds(500)).nanoseconds / 1000))
                rest = time - start - (clock.boot - began)
            }
        }
    }

    private static func describe(_ error: RecordingError) -> String {
        switch error {
        case .unreadable(let code): "cannot be read: \(code)"
        case .foreign: "not a recording of nwpath (byte offset 0)"
        case .malformed(let line, let offset): "line \(line), byte offset \(offset): not a frame of a recording"
        case .tooLarge(let limit): "larger than \(limit) bytes"
        }
    }
}
