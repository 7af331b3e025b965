// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Spelling

public struct LogSettings: Hashable, Sendable {
    public enum Level: String, Hashable, Sendable, CaseIterable {
        /// Single routes as well, as the kernel announces them.
        case debug
        /// What changes a published value.
        case info
    }

    /// The file; `-` is standard output.
    public var file: String
    public var level = Level.info
    /// The log is rotated before it grows past this; zero is never.
    public var maximumSize = ByteCount.mebibytes(16)
    /// The log is rotated when its first line is older than this; zero is never.
    public var maximumAge = Duration.seconds(7 * 86_400)
    /// How many rotated files are kept.
    public var keep = 4
}

extension LogSettings: ConfigurationSection {
    static let settings: [Setting<LogSettings>] = [
        Setting(
            "file",
            \.file,
            .fileOrOutput,
            needsRestart: true,
            "The file; - or /dev/stdout is standard output, which is never rotated."
        ),
        Setting("level", \.level, .choice, "info: what changes a published value; debug: also single routes."),
        Setting(
            "max_size",
            \.maximumSize,
            .size(.kibibytes(64)...(.mebibytes(4096)), zero: "never"),
            "Rotate before the file grows past this."
        ),
        Setting(
            "max_age",
            \.maximumAge,
            .duration(.seconds(60)...(.seconds(366 * 86_400)), zero: "never"),
            "Rotate when the first line of the file is older than this."
        ),
        Setting("keep", \.keep, .integer(0...1000), "How many rotated files are kept."),
    ]
}
