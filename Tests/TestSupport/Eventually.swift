// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import Testing

extension EventLoop {
    /// Waits until `condition` holds, looking again every 2 ms of a running loop; records an issue when it never does.
    ///
    /// A condition that takes longer, such as a program, is looked at a quarter of the time.
    ///
    /// The test must run on this loop (`.inNamespace`), so that handlers run between two looks. Only a test that fails
    /// waits to the end, so nobody waits for less than a minute and 100 looks: on a busy machine, under a sanitizer, a
    /// shorter limit would tell of the machine and not of the program. It then tells what was `found`, such as the
    /// states that there were.
    /// - Returns: Whether it held in time.
    @discardableResult
    public func eventually(
        within limit: Duration = .seconds(60),
        _ what: String = "the condition",
        found: @autoclosure () -> Any? = nil,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: () throws -> Bool
    ) async rethrows -> Bool {
        let limit = max(limit, .seconds(60))
        let deadline = clock.boot + limit
        var looks = 1
        var began = clock.boot
        while try !condition() {
            let took = clock.boot - began
            guard clock.boot < deadline || looks < 100 else {
                let found = found().map { "; found \($0)" } ?? ""
                Issue.record("\(what) did not hold within \(limit)\(found)", sourceLocation: sourceLocation)
                return false
            }
            looks += 1
            await sleep(for: max(.milliseconds(2), min(took * 3, .milliseconds(200))))
            began = clock.boot
        }
        return true
    }
}
