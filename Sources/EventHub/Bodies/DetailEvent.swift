// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON

/// An event that another record of the same change says already: published at debug level only.
public struct DetailEvent<Body: EventBody>: EventBody {
    let body: Body

    /// Lowers the severity of an event.
    public init(_ body: Body) { self.body = body }

    public var name: EventName { body.name }
    public var severity: Severity { .debug }
    public var message: String { body.message }

    public func write(to object: inout JSONObjectWriter) { body.write(to: &object) }
}
