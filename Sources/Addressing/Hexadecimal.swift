// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits a byte, such as `02:00:5e` with `:` between them.
    public func hexadecimal(separator: String = "") -> String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: separator)
    }
}
