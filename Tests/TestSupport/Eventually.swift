// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import Testing

extension EventLoop {
    /// Waits until `condition` holds, looking again every 2 ms of a running loop; records an issue when it never does.
    ///
    /// The test must run on this loop (`.inNamespace`), so that handlers run between two looks.
    /// - Returns: Whether it held in time.
    @discardableResult
    public func eventually(
        within limit: Duration = .seconds(20),
        _ what: String = "the condition",
        sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: () throws -> Bool
    ) async rethrows -> Bool {
        let deadline = clock.boot + limit
        while try !condition() {
            guard clock.boot < deadline else {
                Issue.record("\(what) did not hold within \(limit)", sourceLocation: sourceLocation)
                return false
            }
            await sleep(for: .milliseconds(2))
        }
        return true
    }
}
