// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Configuration

public struct ServiceOptions: Sendable {
    /// The configuration in force at the start.
    public var configuration: Configuration
    /// Where the configuration is read again from.
    public var files: ConfigurationFiles
    public var paths: StandardPaths
    /// The environment, whose settings lie above the files.
    public var environment: [String: String]
    /// What flags set, above everything.
    public var overrides: [ConfigurationOverride]
    /// Where to write down everything the kernel says, for a replay.
    public var recording: String?
    public var version: String
    /// Where lines for the operator go.
    public var report: @Sendable (String) -> Void

    public init(
        configuration: Configuration,
        files: ConfigurationFiles,
        paths: StandardPaths,
        environment: [String: String],
        overrides: [ConfigurationOverride] = [],
        recording: String? = nil,
        version: String,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.files = files
        self.paths = paths
        self.environment = environment
        self.overrides = overrides
        self.recording = recording
        self.version = version
        self.report = report
    }
}
