// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Who a client has shown to be, besides what the kernel says of it.
public enum HTTPIdentity: Equatable, Sendable {
    case anonymous
    /// A user of `basic_auth_users` with the right password.
    case user(String)
    case token
}

/// Who may change something, such as the configuration in force; pure.
///
/// Through the unix socket the kernel vouches for a client (`SO_PEERCRED`, `SO_PEERGROUPS`): root, the daemon's own
/// user and the members of the daemon's own group may. Through TCP only the token shows the right.
struct ChangeRights: Equatable {
    let user: UInt32
    let group: UInt32

    func allow(_ peer: HTTPPeer, as identity: HTTPIdentity) -> Bool {
        guard case .unix(_, let user, let group, let groups) = peer else { return identity == .token }
        return user == 0 || user == self.user || group == self.group || groups.contains(self.group)
            || identity == .token
    }
}
