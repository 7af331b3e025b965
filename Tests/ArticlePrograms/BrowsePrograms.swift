// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import Network

/// Services of a type as a stream of the whole list.
func services(ofType type: String) -> AsyncStream<Set<NWBrowser.Result>> {
    AsyncStream { continuation in
        let parameters = NWParameters()
        parameters.includePeerToPeer = true
        let browser = NWBrowser(for: .bonjour(type: type, domain: nil), using: parameters)
        browser.stateUpdateHandler = { state in
            switch state {
            case .failed(let error):
                print("failed \(error)")
                continuation.finish()
            case .cancelled: continuation.finish()
            case .ready: print("ready")
            default: break
            }
        }
        browser.browseResultsChangedHandler = { results, _ in continuation.yield(results) }
        continuation.onTermination = { _ in browser.cancel() }
        browser.start(queue: .main)
    }
}

/// A list of services for a screen, with what each says about itself.
final class ServiceList {
    private var browser: NWBrowser?
    private var names: [String: NWTXTRecord] = [:]

    func search(for type: String) {
        let browser = NWBrowser(for: .bonjourWithTXTRecord(type: type, domain: "local."), using: .tcp)
        browser.browseResultsChangedHandler = { [weak self] _, changes in
            for change in changes { self?.apply(change) }
        }
        browser.start(queue: .main)
        self.browser = browser
    }

    private func apply(_ change: NWBrowser.Result.Change) {
        switch change {
        case .added(let result): show("added", result)
        case .removed(let result): show("removed", result)
        case .changed(old: _, new: let result, flags: let flags):
            show(flags.contains(.metadataChanged) ? "updated" : "moved", result)
        case .identical: break
        @unknown default: break
        }
    }

    private func show(_ word: String, _ result: NWBrowser.Result) {
        guard case let .service(name, type, domain, _) = result.endpoint else { return }
        if case let .bonjour(record) = result.metadata { names[name] = record }
        print("\(word) \(name) \(type) \(domain) path=\(names[name]?["path"] ?? "-")")
    }
}

extension ArticlePrograms {
    static func browseWithStream(_ type: String) async {
        for await results in services(ofType: type) {
            let names = results.compactMap { result -> String? in
                guard case let .service(name: name, type: _, domain: _, interface: _) = result.endpoint else {
                    return nil
                }
                return name
            }
            print("found \(names.sorted().joined(separator: ","))")
        }
        print("over")
    }

    static func browseWithModel(_ type: String) async {
        let list = ServiceList()
        list.search(for: type)
        await waitForever()
        withExtendedLifetime(list) {}
    }
}
