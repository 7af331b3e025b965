// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import Glibc

/// Shows on a terminal which layers are done, on one line of standard error that vanishes at the end.
final class LayerTicker {
    private let isShown: Bool
    private let layers: [Layer]
    private var done: Set<Layer> = []

    init(isShown: Bool, _ layers: [Layer] = Layer.ofNetwork) {
        self.isShown = isShown
        self.layers = layers
    }

    func tick(_ layer: Layer) {
        done.insert(layer)
        if isShown { Terminal.rewrite(Self.line(done, of: layers)) }
    }

    func clear() {
        if isShown { Terminal.rewrite("") }
    }

    /// The line: every layer, ticked or waited for.
    static func line(_ done: Set<Layer>, of layers: [Layer] = Layer.ofNetwork) -> String {
        layers.map { "\(done.contains($0) ? "✓" : "…") \($0.rawValue)" }.joined(separator: "  ")
    }
}
