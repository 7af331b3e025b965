// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Why silence is no evidence of anything.
public enum SchedulingDelay {
    public static let text = "this machine was too busy to receive an answer"
}
