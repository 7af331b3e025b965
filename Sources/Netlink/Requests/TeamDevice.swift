// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetlink

/// How a team sends, by the options that its daemon sets (linux/if_team.h).
public struct TeamDevice: Hashable, Sendable {
    /// The mode, such as `activebackup`; `nil` before a daemon has set one: the kernel drops all packets then.
    public var mode: String?
    /// The index of the only port that sends, where the mode has one and the daemon has chosen it.
    public var activePort: Int?

    public init(mode: String? = nil, activePort: Int? = nil) {
        self.mode = mode
        self.activePort = activePort
    }

    /// Reads the options of an interface in the calling thread's network namespace.
    /// - Throws: ``NetlinkError``; without `CAP_NET_ADMIN` that it is refused.
    public static func read(index: Int) throws(NetlinkError) -> TeamDevice {
        var socket = try NetlinkSocket(family: NETLINK_GENERIC, capacity: 65_536)
        try socket.limitWaiting(to: .seconds(2))
        let family = try socket.genericFamily("team")
        // TEAM_CMD_OPTIONS_GET, by TEAM_ATTR_TEAM_IFINDEX.
        var question = Question(type: family, flags: Question.acknowledge, body: [2, 1, 0, 0])
        question.add(1, UInt32(clamping: index))
        var device = TeamDevice()
        try socket.exchange(question, sequence: 2) { _, body in device.add(body) }
        return device
    }

    /// Adds one message of options: TEAM_ATTR_LIST_OPTION (2) is a list of TEAM_ATTR_ITEM_OPTION.
    mutating func add(_ body: Span<UInt8>) {
        var attributes = AttributeReader(body, from: 4)
        while attributes.advance() {
            guard attributes.kind == 2 else { continue }
            var list = AttributeReader(attributes.payload)
            while list.advance() { addOption(list.payload) }
        }
    }

    /// Adds an option: TEAM_ATTR_OPTION_NAME (1) and _DATA (4).
    private mutating func addOption(_ nested: Span<UInt8>) {
        var (name, text, number) = ("", "", 0)
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            switch attributes.kind {
            case 1: name = attributes.text
            case 4: (text, number) = (attributes.text, attributes.index)
            default: break
            }
        }
        switch name {
        case "mode": mode = text.isEmpty || text == "*NOMODE*" ? nil : text
        case "activeport": activePort = number > 0 ? number : nil
        default: break
        }
    }
}

extension NetlinkSocket {
    /// The number of a family of generic netlink (CTRL_CMD_GETFAMILY by CTRL_ATTR_FAMILY_NAME, linux/genetlink.h).
    mutating func genericFamily(_ name: String) throws(NetlinkError) -> UInt16 {
        let controller: UInt16 = 16
        var question = Question(type: controller, flags: 0, body: [3, 1, 0, 0])
        question.add(2, Array(name.utf8) + [0])
        var family: UInt16?
        try exchange(question, sequence: 1) { _, body in
            var attributes = AttributeReader(body, from: 4)
            while attributes.advance() {
                // CTRL_ATTR_FAMILY_ID.
                if attributes.kind == 1, attributes.payload.count >= 2 { family = attributes.payload.host16(at: 0) }
            }
        }
        guard let family else { throw .malformedAnswer(request: MessageType(rawValue: controller)) }
        return family
    }
}
