// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel

/// The radio switches of the machine, from the records of rfkill (linux/rfkill.h).
struct RadioSwitches: Equatable {
    /// RFKILL_TYPE_WLAN.
    static let wlan: UInt8 = 1
    /// RFKILL_TYPE_WWAN.
    static let wwan: UInt8 = 5

    private struct Switch: Equatable {
        var type: UInt8
        var isBlocked: Bool
        /// Whether the device does that, rather than a program.
        var isHard: Bool
        /// The number of the Wi-Fi device that it switches (`NL80211_ATTR_WIPHY`), where sysfs has it.
        var device: Int?
    }

    private var switches: [UInt32: Switch] = [:]

    /// Follows one `struct rfkill_event`; longer ones of newer kernels begin alike, shorter ones are ignored.
    ///
    /// `device` returns the number of the device that a new switch is of.
    mutating func apply(_ event: ArraySlice<UInt8>, device: (UInt32) -> Int? = { _ in nil }) {
        guard event.count >= 8 else { return }
        let bytes = Array(event)
        let index = bytes[..<4].reversed().reduce(0) { (index: UInt32, byte: UInt8) in index << 8 | UInt32(byte) }
        let isBlocked = bytes[6] != 0 || bytes[7] != 0
        switch bytes[5] {
        // RFKILL_OP_ADD and RFKILL_OP_CHANGE.
        case 0, 2:
            let device = switches[index]?.device ?? device(index)
            set(index, type: bytes[4], isBlocked: isBlocked, isHard: bytes[7] != 0, device: device)
        // RFKILL_OP_DEL.
        case 1: switches[index] = nil
        default: return
        }
    }

    mutating func set(_ index: UInt32, type: UInt8, isBlocked: Bool, isHard: Bool = false, device: Int? = nil) {
        guard switches.count < 256 || switches[index] != nil else { return }
        switches[index] = Switch(type: type, isBlocked: isBlocked, isHard: isHard, device: device)
    }

    /// A kind of radio is off when every radio of that kind is.
    var facts: RadioFacts {
        let wifi = switches.values.filter { $0.type == Self.wlan }
        let wwan = switches.values.filter { $0.type == Self.wwan }
        let blocked = wifi.filter(\.isBlocked).compactMap { entry in entry.device.map { ($0, entry.isHard) } }
        return RadioFacts(
            isWifiBlocked: !wifi.isEmpty && wifi.allSatisfy(\.isBlocked),
            isWwanBlocked: !wwan.isEmpty && wwan.allSatisfy(\.isBlocked),
            hasWifi: !wifi.isEmpty,
            hasWwan: !wwan.isEmpty,
            isWifiBlockedByHardware: !wifi.isEmpty && wifi.allSatisfy(\.isHard),
            blockedDevices: Dictionary(blocked) { $0 || $1 }
        )
    }
}
