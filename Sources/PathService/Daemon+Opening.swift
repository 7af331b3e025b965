// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import EventHub
internal import EventLog
internal import Glibc
internal import LinuxIO
internal import Netlink
internal import PathEngine
internal import StatusServer

/// What the daemon opens before it listens.
extension Daemon {
    /// Refuses a limit of open files under which the service would run and answer nobody.
    /// - Throws: ``ServiceError/tooFewDescriptors(limit:needed:)``.
    public static func checkDescriptorLimit() throws(ServiceError) {
        let (limit, needed) = (DescriptorLimit.current, StatusServer.leastDescriptors)
        guard limit >= needed else { throw .tooFewDescriptors(limit: limit, needed: needed) }
    }

    static func openLog(_ configuration: Configuration, identity: DaemonIdentity) throws(ServiceError) -> EventLog {
        var options = EventLog.Options(identity: identity)
        options.rotation = configuration.rotation
        do {
            return try EventLog(path: configuration.log.file, options: options)
        } catch {
            throw .log(error)
        }
    }

    static func openRecording(_ file: String?) throws(ServiceError) -> NetlinkRecorder? {
        guard let file else { return nil }
        do {
            return try NetlinkRecorder(path: file)
        } catch {
            guard case .failed(let reason) = error.cause else { throw .refused(error) }
            throw .recording(file: file, reason: reason)
        }
    }

    static func watchCalendar(on loop: EventLoop, clock: any TimeSource) throws(ServiceError) -> CalendarMonitor {
        do {
            return try CalendarMonitor(loop: loop, clock: clock)
        } catch {
            throw .loop(error)
        }
    }

    static func openSystem(
        loop: EventLoop,
        configuration: Configuration,
        recorder: NetlinkRecorder?
    ) throws(ServiceError) -> PathSystem {
        do {
            return try PathSystem(
                loop: loop,
                settings: configuration.engineSettings,
                options: configuration.providerOptions,
                recorder: recorder
            )
        } catch {
            throw .netlink(error)
        }
    }
}

extension DaemonIdentity {
    init(version: String) {
        self.init(version: version, revision: Build.revision, processID: getpid(), bootID: Self.bootIdentifier)
    }

    /// The kernel's random name of this boot, random(4).
    private static var bootIdentifier: String? {
        ProcFile.text("/proc/sys/kernel/random/boot_id")?.filter { $0 != "-" && $0 != "\n" }
    }
}

enum Build {
    /// No build sets the commit.
    static let revision = "unknown"
    /// The tools version of `Package.swift`.
    static let swiftVersion = "6.3"
}
