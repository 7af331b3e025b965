// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import DNSWire

extension Service {
    /// The locations in the order in which a client is to try them (rule D4, RFC 2782).
    ///
    /// Those of lower priority first; of one priority, each place is drawn with the weights as chances. Those on port 0
    /// are not offered, and are left out.
    public func locationsToTry(using random: inout some RandomNumberGenerator) -> [ServiceLocation] {
        var order: [ServiceLocation] = []
        let offered = locations.filter { $0.port != 0 }
        for priority in Set(offered.map(\.priority)).sorted() {
            var group = offered.filter { $0.priority == priority }.sorted { $0.weight < $1.weight }
            while !group.isEmpty {
                var draw = Int.random(in: 0...group.reduce(0) { $0 + Int($1.weight) }, using: &random)
                let index = group.firstIndex { location in
                    draw -= Int(location.weight)
                    return draw <= 0
                }
                order.append(group.remove(at: index ?? 0))
            }
        }
        return order
    }
}
