// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

/// Interprets the instructions of classic BPF (linux/filter.h) that filters of notifications use.
enum BerkeleyFilter {
    private struct Machine {
        let packet: [UInt8]
        var accumulator: UInt32 = 0
        var index: UInt32 = 0
        var memory = [UInt32](repeating: 0, count: 16)

        /// A big-endian number of the packet; `nil` outside of it.
        func load(_ size: Int, at offset: Int) -> UInt32? {
            guard offset >= 0, offset + size <= packet.count else { return nil }
            return packet[offset..<offset + size].reduce(0) { $0 << 8 | UInt32($1) }
        }

        /// `SKF_AD_NLATTR`: the place of the attribute that the index names, from the accumulator on.
        func attribute() -> UInt32 {
            var place = Int(accumulator)
            while place + 4 <= packet.count {
                let length = Int(packet[place]) | Int(packet[place + 1]) << 8
                let kind = UInt32(packet[place + 2]) | UInt32(packet[place + 3]) << 8
                guard length >= 4 else { return 0 }
                if kind == index { return UInt32(place) }
                place += (length + 3) & ~3
            }
            return 0
        }
    }

    /// Runs a program.
    /// - Returns: How many bytes pass; 0 drops.
    static func run(_ program: [UInt64], on packet: [UInt8]) -> UInt32 {
        var machine = Machine(packet: packet)
        var counter = 0
        while counter < program.count {
            let instruction = program[counter]
            let (code, operand) = (UInt16(instruction >> 48), UInt32(truncatingIfNeeded: instruction))
            let (jump, other) = (Int(instruction >> 40 & 0xFF), Int(instruction >> 32 & 0xFF))
            counter += 1
            switch code {
            case 0x20 where operand == UInt32(bitPattern: -0x1000 + 12): machine.accumulator = machine.attribute()
            case 0x20, 0x28, 0x30:
                guard let value = machine.load(code == 0x20 ? 4 : code == 0x28 ? 2 : 1, at: Int(operand)) else {
                    return 0
                }
                machine.accumulator = value
            case 0x40:
                guard let value = machine.load(4, at: Int(machine.index) + Int(operand)) else { return 0 }
                machine.accumulator = value
            case 0x00: machine.accumulator = operand
            case 0x01: machine.index = operand
            case 0x60: machine.accumulator = machine.memory[Int(operand)]
            case 0x61: machine.index = machine.memory[Int(operand)]
            case 0x02: machine.memory[Int(operand)] = machine.accumulator
            case 0x07: machine.index = machine.accumulator
            case 0x1C: machine.accumulator &-= machine.index
            case 0x54: machine.accumulator &= operand
            case 0x6C: machine.accumulator = machine.accumulator &<< machine.index
            case 0x05: counter += Int(operand)
            case 0x15: counter += machine.accumulator == operand ? jump : other
            case 0x1D: counter += machine.accumulator == machine.index ? jump : other
            case 0x25: counter += machine.accumulator > operand ? jump : other
            case 0x45: counter += machine.accumulator & operand != 0 ? jump : other
            case 0x06: return operand
            default:
                Issue.record("unknown instruction \(code)")
                return 0
            }
        }
        Issue.record("the program has no end")
        return 0
    }
}
