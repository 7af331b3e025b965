// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Receives the events of a service, on the run loops that the service is scheduled in.
///
/// Every method may be left out.
public protocol NetServiceDelegate: AnyObject {
    /// Probing for the name is about to begin.
    func netServiceWillPublish(_ sender: NetService)
    /// The service is published; its name may be another one than it was.
    func netServiceDidPublish(_ sender: NetService)
    /// The service is not published.
    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber])
    /// Resolving is about to begin.
    func netServiceWillResolve(_ sender: NetService)
    /// Host, port and addresses are known, or have changed.
    func netServiceDidResolveAddress(_ sender: NetService)
    /// The service was not found.
    func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber])
    /// Publishing or resolving has ended.
    func netServiceDidStop(_ sender: NetService)
    /// The service says something else about itself; only while it is monitored.
    func netService(_ sender: NetService, didUpdateTXTRecord data: Data)
}

extension NetServiceDelegate {
    /// Does nothing.
    public func netServiceWillPublish(_ sender: NetService) {}
    /// Does nothing.
    public func netServiceDidPublish(_ sender: NetService) {}
    /// Does nothing.
    public func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {}
    /// Does nothing.
    public func netServiceWillResolve(_ sender: NetService) {}
    /// Does nothing.
    public func netServiceDidResolveAddress(_ sender: NetService) {}
    /// Does nothing.
    public func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {}
    /// Does nothing.
    public func netServiceDidStop(_ sender: NetService) {}
    /// Does nothing.
    public func netService(_ sender: NetService, didUpdateTXTRecord data: Data) {}
}
