// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON
internal import Addressing

/// What many documents and events have in common.
extension Form {
    public static var time: Form {
        Form.pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{9}Z$")
            .about("RFC 3339 with nine digits, UTC.")
            .named("Time")
    }

    public static var seconds: Form { amount.about("A duration in seconds.").named("Seconds") }

    public static var family: Form { oneOf(AddressFamily.self).about("An address family.").named("Family") }

    /// Whatever is in the first label, and whatever the case (RFC 6763 section 7).
    public static var serviceType: Form {
        pattern("^_.*\\._([Tt][Cc][Pp]|[Uu][Dd][Pp])$").about("Such as `_ipp._tcp`.").named("ServiceType")
    }

    /// The name of a stream of events.
    public static var stream: Form { pattern("^[0-9a-f]{4,8}$") }

    /// A stream and the number of an event in it.
    public static var position: Form {
        pattern("^[0-9a-f]{4,8}\\.[0-9]+$").about("A place in the log, such as `7f3a.46`.").named("Position")
    }
}

extension Members {
    /// An object whose first member says what it is, after its name.
    public static func document(_ name: String, _ sentence: String) -> Members {
        let schema = DocumentSchema.name(of: name.lowercased())
        return Members(.named(name, sentence)).member("schema", as: .constant(schema)) { _ in schema }
    }

    /// The member that says what a service type is in plain words.
    public func typeName(_ name: @escaping @Sendable (Root) -> String) -> Members {
        added("type_name", "The type in plain words, such as `Printer`; the type itself where there are none.", name)
    }
}
