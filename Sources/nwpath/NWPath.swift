// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The one executable.
@main enum NWPath {
    static func main() {}
}
