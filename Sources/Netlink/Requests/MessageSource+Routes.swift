// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

extension MessageSource {
    /// The routes of all tables that `isWanted`, of one type or of all.
    ///
    /// The kernel picks the type, so that a million routes of another one cost nothing. Reading ends after `limit`
    /// entries (`isComplete` is then `false`): for explanations, where a full table must not cost seconds.
    public func routes(
        _ family: AddressFamily,
        type: RouteType?,
        limit: Int = 10_000,
        where isWanted: (RouteEntry) -> Bool = { _ in true }
    ) throws(NetlinkError) -> Dump<RouteEntry> {
        var result = Dump<RouteEntry>([])
        var seen = 0
        let completion = try request(.routes(family, type: type)) { _, body in
            seen += 1
            if let entry = RouteEntry(decoding: body) {
                if isWanted(entry) { result.values.append(entry) }
            } else {
                result.undecodable += 1
            }
            result.isComplete = seen < limit
            return result.isComplete
        }
        result.isConsistent = completion != .done(isConsistent: false)
        return result
    }
}
