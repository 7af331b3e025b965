// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// Finds and reads the configuration file and its drop-ins.
public struct ConfigurationFiles: Hashable, Sendable {
    public let file: String
    /// Whether this file was requested, so that its absence is an error.
    public let isRequired: Bool

    /// The directory of the drop-ins: `conf.d` beside the file.
    public var dropIns: String {
        guard let slash = file.lastIndex(of: "/") else { return "conf.d" }
        return file[...slash] + "conf.d"
    }

    /// Whether it is the one that the package installs, and an upgrade replaces while nobody edited it.
    public var isPackaged: Bool { file == "/etc/nwpath/nwpath.yaml" }

    static let mostDropIns = 256

    /// The standard file, which may be missing.
    public init(standard paths: StandardPaths) {
        file = paths.configurationFile
        isRequired = false
    }

    /// A file that somebody named; it must exist unless it is to be made.
    public init(file: String, isRequired: Bool = true) {
        self.file = file
        self.isRequired = isRequired
    }

    /// Reads the file, then `conf.d/*.yaml` in the byte order of their names; hidden files are left out.
    /// - Throws: ``ConfigurationError`` with every file that exists and cannot be read.
    public func sources() throws(ConfigurationError) -> [Configuration.Source] {
        var sources: [Configuration.Source] = []
        var problems: [ConfigurationProblem] = []
        func add(_ path: String, isRequired: Bool) {
            do {
                sources.append(Configuration.Source(name: path, bytes: try Self.read(path)))
            } catch {
                if case .kernel(.noEntry) = error, !isRequired { return }
                problems.append(ConfigurationProblem(origin: .path(path), fact: error.fact))
            }
        }
        add(file, isRequired: isRequired)
        do {
            let names = try Self.list(dropIns)
            for name in names.prefix(Self.mostDropIns) { add("\(dropIns)/\(name)", isRequired: true) }
            if names.count > Self.mostDropIns {
                let fact = ConfigurationProblem.Fact.tooMany(key: "the directory", limit: Self.mostDropIns)
                problems.append(ConfigurationProblem(origin: .path(dropIns), fact: fact))
            }
        } catch {
            if error != .noEntry && error != Errno(ENOTDIR) {
                problems.append(ConfigurationProblem(origin: .path(dropIns), fact: .unreadable(error.description)))
            }
        }
        guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
        return sources
    }

    /// Reads one file that must be there.
    static func source(_ path: String) throws(ConfigurationError) -> Configuration.Source {
        do {
            return Configuration.Source(name: path, bytes: try read(path))
        } catch {
            throw ConfigurationError(problems: [ConfigurationProblem(origin: .path(path), fact: error.fact)])
        }
    }

    private enum ReadFailure: Error {
        case kernel(Errno)
        case notAFile
        case tooLarge

        var fact: ConfigurationProblem.Fact {
            switch self {
            case .kernel(let errno): .unreadable(errno.description)
            case .notAFile: .unreadable("not a regular file")
            case .tooLarge: .tooLarge(limit: YAMLDocument.largestFile)
            }
        }
    }

    /// Reads a regular file; a pipe of that name cannot make this wait.
    private static func read(_ path: String) throws(ReadFailure) -> [UInt8] {
        do {
            let descriptor = try FileDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
            var status = stat()
            guard unsafe fstat(descriptor.rawValue, &status) == 0 else { throw ReadFailure.kernel(.current) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw ReadFailure.notAFile }
            let bytes = try descriptor.readAll(upTo: YAMLDocument.largestFile)
            guard bytes.count <= YAMLDocument.largestFile else { throw ReadFailure.tooLarge }
            return bytes
        } catch let failure as ReadFailure {
            throw failure
        } catch let errno as Errno {
            throw .kernel(errno)
        } catch {
            throw .notAFile
        }
    }

    private static func list(_ directory: String) throws(Errno) -> [String] {
        try FilePath.names(in: directory).filter { $0.hasSuffix(".yaml") && !$0.hasPrefix(".") }
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

extension Configuration {
    /// What is wrong with the files that a configuration names: a dotted key, and a sentence on it.
    public struct Complaint: Hashable, Sendable {
        /// The key that names the file.
        public let key: String
        /// What is wrong, such as `cannot be read: no such file`.
        public let sentence: String

        public init(key: String, _ sentence: String) {
            self.key = key
            self.sentence = sentence
        }
    }

    /// Reads the files, the environment and the flags.
    ///
    /// - Parameters:
    ///   - files: Where the files are.
    ///   - paths: The standard paths of this user.
    ///   - environment: The environment.
    ///   - overrides: What flags set.
    ///   - verifying: Checks what an otherwise right configuration refers to.
    /// - Returns: The configuration.
    /// - Throws: ``ConfigurationError`` with everything that was found.
    public static func load(
        _ files: ConfigurationFiles,
        paths: StandardPaths,
        environment: [String: String],
        overrides: [ConfigurationOverride] = [],
        verifying: (Configuration) -> [Complaint] = { _ in [] }
    ) throws(ConfigurationError) -> Configuration {
        var findings = Findings()
        let configuration = read(try files.sources(), paths, environment, overrides, &findings)
        if findings.problems.isEmpty {
            for complaint in verifying(configuration) {
                findings.reportConflict(at: complaint.key, complaint.sentence)
            }
        }
        guard findings.problems.isEmpty else { throw ConfigurationError(problems: findings.problems) }
        return configuration
    }
}
