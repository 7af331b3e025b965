// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The views of all interfaces as they were last published.
///
/// Only interfaces that were touched are compared again, so that thousands of idle ones cost nothing.
public struct InterfaceTracker: Sendable {
    /// The views by index, ignored interfaces included.
    public private(set) var views: [Int: InterfaceView] = [:]

    public init() {}

    /// Compares the interfaces that were touched.
    /// - Returns: What to publish, by rising index.
    public mutating func update(_ touched: Set<Int>, classifier: InterfaceClassifier) -> [ModelChange] {
        var changes: [ModelChange] = []
        for index in touched.sorted() {
            let view = classifier.state.links[index].map { InterfaceView($0, classifier: classifier) }
            changes += SnapshotDiff.interface(from: views[index], to: view)
            views[index] = view
        }
        return changes
    }

    /// Compares every interface, as after a new configuration or a full reading.
    public mutating func updateAll(classifier: InterfaceClassifier) -> [ModelChange] {
        update(Set(views.keys).union(classifier.state.links.keys), classifier: classifier)
    }
}
