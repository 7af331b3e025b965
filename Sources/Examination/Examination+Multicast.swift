// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import Netlink
internal import Probes

/// Multicast on the own link: the first four hosts that normally answer are asked the same with the group and alone.
///
/// Two messages to the group for each, and up to three to the host itself.
extension Examination {
    func askMulticast(_ place: Int, on link: Link) {
        guard place < 4, link.flags.contains(.multicast), link.flags.contains(.up) else { return }
        send(.link) { done in
            MulticastProbe(evidence.peers[place].address, on: link.index, loop: loop) { [weak self] result in
                self?.count(sent: result.sent, received: result.received)
                if let answers = result.answersUnicast { self?.evidence.peers[place].answersUnicast = .known(answers) }
                if let answers = result.answersMulticast {
                    self?.evidence.peers[place].answersMulticast = .known(answers)
                }
                done()
            }
        }
    }
}
