// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import MultipeerConnectivity

@Suite struct PeerIDTests {
    @Test func `two peers of one name are two`() {
        let (one, other) = (MCPeerID(displayName: "Ada"), MCPeerID(displayName: "Ada"))
        #expect(one != other)
        #expect(one == one.copy() as? MCPeerID)
        #expect(Set([one, other]).count == 2)
    }
}
