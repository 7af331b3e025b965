// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetlink

/// The classic BPF program that keeps long prefixes from waking us (rule S3).
///
/// It drops `RTM_NEWROUTE` and `RTM_DELROUTE` whose `rtm_dst_len` is over 8 (IPv4) or 16 (IPv6), and passes everything
/// else, parts of dumps included. A shorter prefix may stand for the Internet (rule S20), so its changes must be heard.
enum RouteFilter {
    /// The longest IPv4 prefix that passes.
    static let longestIPv4Prefix: UInt32 = 8
    /// The longest IPv6 prefix that passes.
    static let longestIPv6Prefix: UInt32 = 16

    /// The program, as `nwp_attach_filter` takes it.
    ///
    /// A load turns network order into host order, but netlink headers are in host order already: the constants
    /// are swapped instead.
    static var program: [UInt64] {
        [
            instruction(BPF_LD | BPF_H | BPF_ABS, 4),
            instruction(BPF_JMP | BPF_JEQ | BPF_K, swapped(RTM_NEWROUTE), then: 1, otherwise: 0),
            instruction(BPF_JMP | BPF_JEQ | BPF_K, swapped(RTM_DELROUTE), then: 0, otherwise: 9),
            instruction(BPF_LD | BPF_H | BPF_ABS, 6),
            instruction(BPF_JMP | BPF_JSET | BPF_K, swapped(Int(NLM_F_MULTI)), then: 7, otherwise: 0),
            // The family, then the prefix length.
            instruction(BPF_LD | BPF_B | BPF_ABS, 16),
            instruction(BPF_JMP | BPF_JEQ | BPF_K, 10, then: 2, otherwise: 0),
            instruction(BPF_LD | BPF_B | BPF_ABS, 17),
            instruction(BPF_JMP | BPF_JGT | BPF_K, longestIPv4Prefix, then: 2, otherwise: 3),
            instruction(BPF_LD | BPF_B | BPF_ABS, 17),
            instruction(BPF_JMP | BPF_JGT | BPF_K, longestIPv6Prefix, then: 0, otherwise: 1),
            instruction(BPF_RET | BPF_K, 0),
            instruction(BPF_RET | BPF_K, .max),
        ]
    }

    private static func swapped(_ value: Int) -> UInt32 { UInt32(UInt16(value).bigEndian) }

    private static func instruction(
        _ code: Int32,
        _ operand: UInt32,
        then jump: UInt64 = 0,
        otherwise other: UInt64 = 0
    ) -> UInt64 {
        UInt64(code) << 48 | jump << 40 | other << 32 | UInt64(operand)
    }
}
