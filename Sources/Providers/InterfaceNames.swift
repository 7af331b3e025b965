// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Netlink

/// Converts interface names to indexes and back, in the network namespace of the calling thread.
public struct InterfaceNames {
    /// The index of a name; `nil` when there is no such interface.
    public var index: (String) -> Int?
    /// The name of an index; `nil` when there is no such interface.
    public var name: (Int) -> String?

    /// Queries the kernel, which knows alternative names too.
    public static var kernel: InterfaceNames {
        InterfaceNames(
            index: { InterfaceLookup.index(named: $0) },
            name: { index in
                guard let number = UInt32(exactly: index) else { return nil }
                var bytes = [UInt8](repeating: 0, count: Int(IF_NAMESIZE))
                let isFound = unsafe bytes.withUnsafeMutableBytes { buffer in
                    guard let start = unsafe buffer.bindMemory(to: CChar.self).baseAddress else { return false }
                    return unsafe if_indextoname(number, start) != nil
                }
                return isFound ? String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) : nil
            }
        )
    }
}
