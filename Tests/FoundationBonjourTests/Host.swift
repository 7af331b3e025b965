// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import FoundationBonjour
import LinuxIO
import Synchronization
import TestSupport

/// What was told on other threads, in order.
final class Log: Sendable {
    private let storage = Mutex<[String]>([])

    var lines: [String] { storage.withLock { $0 } }

    func write(_ line: String) { storage.withLock { $0.append(line) } }

    func contains(_ line: String) -> Bool { lines.contains(line) }
}

/// A host of the tests: a thread with a run loop, in a namespace.
final class Host: Sendable {
    typealias Work = @Sendable (Host) -> Void

    /// Touched on the host's thread only.
    nonisolated(unsafe) var objects: [String: AnyObject] = [:]
    let log = Log()
    private let works: Mutex<RunLoopQueue<Work>?> = Mutex(nil)
    private let isOver = Mutex(false)

    /// Starts the thread on a namespace's own, whose namespace it takes over.
    init(in namespace: Namespace) async {
        let (started, continuation) = AsyncStream.makeStream(of: Void.self)
        namespace.loop.perform { [self] in
            Thread.detachNewThread { self.run { continuation.finish() } }
        }
        for await _ in started {}
    }

    private func run(ready: () -> Void) {
        let mailbox = RunLoopQueue<Work> { [unowned self] works in for work in works { work(self) } }
        mailbox.schedule(in: .current, forMode: .default)
        works.withLock { $0 = mailbox }
        ready()
        while !isOver.withLock({ $0 }), RunLoop.current.run(mode: .default, before: .distantFuture) {}
        unsafe objects = [:]
    }

    /// Runs work on the host's run loop.
    func perform(_ work: @escaping Work) { works.withLock { $0 }?.post(work) }

    /// Ends the thread; what it holds goes with it.
    func end() {
        perform { host in
            unsafe host.objects = [:]
            host.isOver.withLock { $0 = true }
        }
        works.withLock { $0 = nil }
    }

    /// Keeps an object under a name until the end.
    func keep(_ object: AnyObject, as name: String) { unsafe objects[name] = object }

    func service(_ name: String) -> NetService? { unsafe objects[name] as? NetService }

    func browser(_ name: String) -> NetServiceBrowser? { unsafe objects[name] as? NetServiceBrowser }
}

/// Writes down what becomes of services and searches, as a class of the 2021 era would.
final class Witness: NSObject, NetServiceDelegate, NetServiceBrowserDelegate {
    private let log: Log
    private let prefix: String
    private(set) var found: [NetService] = []
    var onFind: ((NetService) -> Void)?

    init(_ log: Log, prefix: String = "") {
        self.log = log
        self.prefix = prefix
    }

    private func write(_ line: String) { log.write(prefix + line) }

    func netServiceWillPublish(_ sender: NetService) { write("will publish \(sender.name)") }
    func netServiceDidPublish(_ sender: NetService) { write("published \(sender.name)") }
    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
        write("not published \(errorDict[NetService.errorCode] ?? 0)")
    }
    func netServiceWillResolve(_ sender: NetService) { write("will resolve \(sender.name)") }
    func netServiceDidResolveAddress(_ sender: NetService) {
        let addresses = (sender.addresses ?? []).filter { $0.count == 16 }.map { data in
            data[data.startIndex + 4..<data.startIndex + 8].map { String($0) }.joined(separator: ".")
        }
        let text = NetService.dictionary(fromTXTRecord: sender.txtRecordData() ?? Data())
        let path = text["path"].map { String(decoding: $0, as: UTF8.self) } ?? "-"
        write("resolved \(sender.name) \(sender.port) \(addresses.joined(separator: ",")) \(path)")
    }
    func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {
        write("not resolved \(errorDict[NetService.errorCode] ?? 0)")
    }
    func netServiceDidStop(_ sender: NetService) { write("stopped") }
    func netService(_ sender: NetService, didUpdateTXTRecord data: Data) {
        let text = NetService.dictionary(fromTXTRecord: data)
        write("text \(text["path"].map { String(decoding: $0, as: UTF8.self) } ?? "-")")
    }

    func netServiceBrowserWillSearch(_ browser: NetServiceBrowser) { write("will search") }
    func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser) { write("search stopped") }
    func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]) {
        write("no search \(errorDict[NetService.errorCode] ?? 0)")
    }
    func netServiceBrowser(_ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool) {
        write("domain \(domainString) \(moreComing)")
    }
    func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {
        found.append(service)
        write("found \(service.name) \(service.type) \(service.domain)\(moreComing ? " more" : "")")
        onFind?(service)
    }
    func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {
        let isKnown = found.contains { $0 === service }
        write("removed \(service.name)\(isKnown ? "" : " unknown")")
    }
}
