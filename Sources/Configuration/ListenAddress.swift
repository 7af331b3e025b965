// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension ValueForm where Value == ListenAddress {
    static let listenAddress = ValueForm(
        scalar: ListenAddress.expectation,
        schema: [
            "type": "string", "pattern": "^(unix:/.+|[0-9.]+:[0-9]{1,5}|\\[[0-9a-fA-F:.]+(%[^\\]]+)?\\]:[0-9]{1,5})$",
        ],
        parse: { (text) throws(Refusal) in
            guard let address = ListenAddress(text) else { throw .expected(ListenAddress.expectation(for: text)) }
            return address
        },
        write: { .text($0.description) }
    )
}
