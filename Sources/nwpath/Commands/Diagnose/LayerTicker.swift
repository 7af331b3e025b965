// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import Glibc

/// Shows on a terminal which layers are still being asked, on one line of standard error that vanishes at the end.
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
        guard isShown else { return }
        Terminal.rewrite(Self.line(waitingFor: layers.filter { !done.contains($0) }, width: Terminal.width))
    }

    func clear() {
        if isShown { Terminal.rewrite("") }
    }

    /// Such as `asking: gateway, wan, dns and 4 more`; whatever fits into a line of that many columns.
    static func line(waitingFor layers: [Layer], width: Int) -> String {
        guard !layers.isEmpty else { return "" }
        let texts = (0...layers.count).reversed().map { shown in
            let names = layers.prefix(shown).map(\.rawValue).joined(separator: ", ")
            let rest = layers.count - shown
            return "testing: " + names + (rest == 0 ? "" : shown == 0 ? "\(rest) layers" : " and \(rest) more")
        }
        // The last column stays empty: a full line would wrap.
        return texts.first { $0.count < width } ?? ""
    }
}
