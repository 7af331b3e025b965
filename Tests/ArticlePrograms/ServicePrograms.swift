// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import FoundationBonjour

/// Finds services of several types and where they are, with delegates, as people wrote it in 2021.
class ServiceFinder: NSObject, NetServiceBrowserDelegate, NetServiceDelegate {
    var browsers: [NetServiceBrowser] = []
    var services: [NetService] = []

    func search(for types: [String]) {
        for type in types {
            let browser = NetServiceBrowser()
            browser.delegate = self
            browser.searchForServices(ofType: type, inDomain: "local.")
            browsers.append(browser)
        }
    }

    func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {
        services.append(service)
        service.delegate = self
        service.resolve(withTimeout: 30)
    }

    func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {
        services.removeAll { $0 == service }
        print("lost \(service.name) \(service.type)")
    }

    func netServiceDidResolveAddress(_ sender: NetService) {
        let addresses = (sender.addresses ?? []).compactMap(text(of:)).filter { !$0.contains(":") }
        print("\(sender.name) \(sender.type) \(addresses.joined(separator: ",")) \(sender.port)")
    }

    func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {
        print("cannot resolve \(sender.name): \(errorDict[NetService.errorCode] ?? 0)")
    }

    private func text(of address: Data) -> String? {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = address.withUnsafeBytes { bytes -> Int32 in
            guard let start = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
            return getnameinfo(start, socklen_t(bytes.count), &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
        }
        return code == 0 ? String(decoding: host.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self) : nil
    }
}

/// Publishes a service until the program ends.
class ServicePublisher: NSObject, NetServiceDelegate {
    let service: NetService

    init(name: String, type: String, port: Int32) {
        service = NetService(domain: "local.", type: type, name: name, port: port)
        super.init()
        service.delegate = self
    }

    func netServiceDidPublish(_ sender: NetService) {
        print("published \(sender.name)")
    }

    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
        print("not published \(errorDict[NetService.errorCode] ?? 0)")
    }
}

extension ArticlePrograms {
    static func find(_ types: [String]) {
        let finder = ServiceFinder()
        finder.search(for: types)
        RunLoop.main.run()
        withExtendedLifetime(finder) {}
    }

    static func publish(_ name: String, _ type: String) {
        let publisher = ServicePublisher(name: name, type: type, port: 8080)
        publisher.service.publish()
        RunLoop.main.run()
        withExtendedLifetime(publisher) {}
    }
}
