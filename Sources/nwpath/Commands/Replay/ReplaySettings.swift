// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import EventHub
internal import Glibc
internal import PathEngine
internal import PathModel
internal import PathService

/// The configuration as commands need it that do the service's work themselves.
struct CommandConfiguration {
    private(set) var engine: EngineSettings
    /// The least severity that is published.
    let minimumSeverity: Severity
    /// The file the C library reads its name servers from.
    let resolverFile: String
    let diagnosis: TargetSettings

    /// Reads a file, or the standard one, and says on standard error what is wrong with it.
    /// - Returns: `nil` when it is not right.
    static func load(_ file: String?) -> CommandConfiguration? {
        let environment = Environment.variables
        let paths = StandardPaths(userID: geteuid(), environment: environment)
        let files =
            file.map { ConfigurationFiles(file: Environment.absolute($0)) }
            ?? ConfigurationFiles(standard: paths)
        do {
            let configuration = try Configuration.load(files, paths: paths, environment: environment)
            return CommandConfiguration(
                engine: configuration.engineSettings,
                minimumSeverity: configuration.minimumSeverity,
                resolverFile: configuration.dns.resolverFile,
                diagnosis: configuration.diagnosis
            )
        } catch {
            Terminal.complain("\(error)")
            return nil
        }
    }

    /// Sets the quiet time; the cap is raised with it.
    mutating func debounce(_ quiet: Duration) {
        engine.quiet = quiet
        engine.cap = max(engine.cap, quiet)
    }
}
