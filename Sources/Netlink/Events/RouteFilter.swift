// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetlink

/// The classic BPF program that keeps long prefixes from waking us (rule S3).
///
/// It drops `RTM_NEWROUTE` and `RTM_DELROUTE` whose `rtm_dst_len` is over 3, and passes everything else, parts of
/// dumps included.
enum RouteFilter {
    /// The longest prefix that passes: `0.0.0.0/0`, its halves, and `2000::/3`.
    static let longestPrefix: UInt32 = 3

    /// The program, as `nwp_attach_filter` takes it.
    ///
    /// A load turns network order into host order, but netlink headers are in host order already: the constants
    /// are swapped instead.
    static var program: [UInt64] {
        [
            instruction(BPF_LD | BPF_H | BPF_ABS, 4),
            instruction(BPF_JMP | BPF_JEQ | BPF_K, swapped(RTM_NEWROUTE), then: 1, otherwise: 0),
            instruction(BPF_JMP | BPF_JEQ | BPF_K, swapped(RTM_DELROUTE), then: 0, otherwise: 5),
            instruction(BPF_LD | BPF_H | BPF_ABS, 6),
            instruction(BPF_JMP | BPF_JSET | BPF_K, swapped(Int(NLM_F_MULTI)), then: 3, otherwise: 0),
            instruction(BPF_LD | BPF_B | BPF_ABS, 17),
            instruction(BPF_JMP | BPF_JGT | BPF_K, longestPrefix, then: 0, otherwise: 1),
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
