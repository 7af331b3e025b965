// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Finds interfaces by any of their names, in the network namespace of the calling thread.
public enum InterfaceLookup {
    /// Whether if_nametoindex(3) and `SO_BINDTODEVICE` accept the name; the kernel knows short alternative names too.
    private static func isShort(_ name: String) -> Bool { name.utf8.count < Int(IF_NAMESIZE) }

    private static func link(named name: String) -> Link? {
        guard let kernel = try? LiveKernel() else { return nil }
        return try? kernel.link(named: name)
    }

    /// The index of an interface; `nil` when no interface has the name, or when the kernel cannot be queried.
    public static func index(named name: String) -> Int? {
        guard isShort(name) else { return link(named: name)?.index }
        let index = unsafe if_nametoindex(name)
        return index == 0 ? nil : Int(index)
    }

    /// A name of the interface that sockets can be bound to; `nil` when a long name is no interface's.
    public static func bindableName(of name: String) -> String? {
        isShort(name) ? name : link(named: name)?.name
    }
}
