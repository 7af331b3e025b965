// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import TestSupport
public import Testing

/// The files of one daemon under test; its log and the streams from it are checked when this value goes.
public final class DaemonFiles {
    /// Where they are.
    public let scratch: Scratch
    /// What of the log is not its own.
    private let past: String
    private let sourceLocation: SourceLocation
    private var streams: [String] = []

    /// Names the files; the daemon makes them.
    ///
    /// - Parameters:
    ///   - scratch: The directory.
    ///   - hasForeignPast: Whether the test wrote the log that is there already.
    ///   - sourceLocation: Whose daemon it is.
    public init(
        in scratch: Scratch,
        hasForeignPast: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        self.scratch = scratch
        self.sourceLocation = sourceLocation
        past = hasForeignPast ? scratch.read("events.jsonl") : ""
    }

    deinit {
        LiveJSON.check(log: log, after: past, sourceLocation: sourceLocation)
        for name in streams { LiveJSON.check(scratch.read(name), sourceLocation: sourceLocation) }
    }

    /// Its log.
    public var log: String { scratch.file("events.jsonl") }
    /// Where it listens.
    public var socket: String { scratch.file("api.sock") }

    /// The options of `nwpath serve` that name its log and the directory of its state.
    ///
    /// - Parameters:
    ///   - scratch: The directory.
    ///   - connectivity: What is tested without being named.
    /// - Returns: The words.
    public static func options(in scratch: Scratch, connectivity: String = "off") -> [String] {
        ["--log-file", scratch.file("events.jsonl"), "--state-dir", scratch.path, "--connectivity", connectivity]
    }

    /// Notes a file into which somebody writes what a stream of the daemon says.
    ///
    /// - Parameter name: The name in the directory.
    /// - Returns: The path.
    public func stream(_ name: String) -> String {
        streams.append(name)
        return scratch.file(name)
    }
}
