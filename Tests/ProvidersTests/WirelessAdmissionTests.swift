// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import PathModel
import Testing

@testable import Providers

@Suite struct WirelessAdmissionTests {
    private typealias Kind = WirelessEvent.Kind

    private func failures(_ events: [Kind]) -> Int {
        var admission = WirelessAdmission()
        for event in events {
            admission.apply(event, at: .seconds(100))
            // The kernel reports each association once before it ends.
            if event == Self.connected { admission.read(false) }
        }
        return admission.failures
    }

    private static let connected = Kind.connected(status: 0)

    @Test(
        arguments: [
            ([], 0), ([connected], 0), ([connected, .lost(reason: 3, isChange: false, isRemote: true)], 1),
            // The frame and the event of one loss are one failure.
            (
                [
                    connected, .lost(reason: 3, isChange: false, isRemote: true),
                    .lost(reason: 3, isChange: false, isRemote: true),
                ], 1
            ),
            (
                [
                    connected, .lost(reason: 2, isChange: false, isRemote: true), connected,
                    .lost(reason: 2, isChange: false, isRemote: true),
                ], 2
            ),
            ([connected, .lost(reason: 15, isChange: false, isRemote: true)], 2),
            ([connected, .lost(reason: 23, isChange: false, isRemote: true)], 1),
            ([connected, .lost(reason: nil, isChange: false, isRemote: true)], 1),
            // A reason without an association, or after it was authorized, says nothing.
            ([.lost(reason: 15, isChange: false, isRemote: true)], 0),
            ([connected, .authorized, .lost(reason: 15, isChange: false, isRemote: true)], 0),
            (
                [
                    connected, .lost(reason: 3, isChange: false, isRemote: true), connected, .authorized,
                    .lost(reason: 3, isChange: false, isRemote: true),
                ], 0
            ),
            ([.authenticated(algorithm: 0, sequence: 2, status: 1)], 0),
            ([.authenticated(algorithm: 3, sequence: 1, status: 77)], 0),
            ([.authenticated(algorithm: 3, sequence: 2, status: 0)], 0),
            ([.authenticated(algorithm: 3, sequence: 2, status: 1)], 2),
            // An access point that is full refuses nobody's passphrase.
            ([.authenticated(algorithm: 3, sequence: 2, status: 17)], 0),
            // This machine ended it.
            ([connected, .lost(reason: 15, isChange: false, isRemote: false)], 0),
            ([.authenticated(algorithm: 1, sequence: 4, status: 15)], 2),
            ([.connected(status: 1)], 0), ([.connected(status: 15)], 2), ([.other], 0),
        ] as [([WirelessEvent.Kind], Int)]
    )
    func `counts associations that end unauthorized, and knows a refusal`(events: [WirelessEvent.Kind], expected: Int) {
        #expect(failures(events) == expected)
    }

    @Test func `a driver that reports no authorization, or two ends far apart, show no refusal`() {
        var silent = WirelessAdmission()
        for event in [Self.connected, .lost(reason: 15, isChange: false, isRemote: true)] {
            silent.apply(event, at: .zero)
        }
        #expect(silent.failures == 0)
        var slow = WirelessAdmission()
        for second in [0, 61, 122] {
            slow.apply(Self.connected, at: .seconds(second))
            slow.read(false)
            slow.apply(.lost(reason: 2, isChange: false, isRemote: true), at: .seconds(second))
        }
        #expect(slow.failures == 1 && !slow.isRefused)
    }

    @Test func `reads what the kernel sends`() {
        func kind(_ bytes: [UInt8]) -> Kind? { WirelessMessage.event(WirelessRecording.message(bytes))?.kind }
        #expect(kind(WirelessRecording.authenticated) == .authenticated(algorithm: 0, sequence: 2, status: 0))
        #expect(kind(WirelessRecording.connected) == .connected(status: 0))
        #expect(kind(WirelessRecording.deauthenticated) == .lost(reason: 15, isChange: false, isRemote: true))
        #expect(kind(WirelessRecording.disconnected) == .lost(reason: 15, isChange: false, isRemote: true))
        #expect(kind(WirelessRecording.goodbye) == .lost(reason: 3, isChange: false, isRemote: true))
        #expect(kind(WirelessRecording.commit) == .authenticated(algorithm: 3, sequence: 1, status: 0))
        #expect(kind(WirelessRecording.confirm) == .authenticated(algorithm: 3, sequence: 2, status: 1))
        #expect(kind(WirelessRecording.station) == .other)
        let event = WirelessMessage.event(WirelessRecording.message(WirelessRecording.confirm))
        #expect(event?.bssid == [2, 0, 0, 0, 1, 0])
    }

    @Test func `reads an interface, its access point and its network`() throws {
        let (index, interface) = try #require(
            WirelessMessage.interface(WirelessRecording.message(WirelessRecording.interface))
        )
        var expected = WirelessFacts(mode: 2, frequency: 2437)
        expected.device = 0
        #expect(index == 2 && interface == expected)
        let station = try #require(WirelessMessage.station(WirelessRecording.message(WirelessRecording.station)))
        #expect(station.index == 2)
        #expect(
            station.station
                == WirelessStation(
                    address: [2, 0, 0, 0, 1, 0],
                    signal: -30,
                    receiveRate: 39_000_000,
                    transmitRate: 13_000_000,
                    isAuthorized: true,
                    counters: RadioCounters(
                        accessPoint: [2, 0, 0, 0, 1, 0],
                        signal: -30,
                        sent: 13,
                        retries: 0,
                        failures: 0,
                        beaconLosses: 0
                    )
                )
        )
        let network = try #require(WirelessMessage.network(WirelessRecording.message(WirelessRecording.associated)))
        let name = Array("office-7".utf8)
        #expect(
            network.network
                == WirelessNetwork(bssid: [2, 0, 0, 0, 1, 0], ssid: name, frequency: 2437, isAssociated: true)
        )
        let other = try #require(WirelessMessage.network(WirelessRecording.message(WirelessRecording.neighbour)))
        #expect(
            other.network
                == WirelessNetwork(bssid: [2, 0, 0, 0, 2, 0], ssid: name, frequency: 2462, isAssociated: false)
        )
    }

    @Test func `survives every length of what it reads`() {
        for recording in [WirelessRecording.station, WirelessRecording.associated, WirelessRecording.confirm] {
            for length in 0..<recording.count {
                var bytes = Array(recording[..<length])
                if length >= 4 { (bytes[0], bytes[1]) = (UInt8(length & 255), UInt8(length >> 8)) }
                let message = WirelessRecording.message(bytes)
                _ = WirelessMessage.station(message)
                _ = WirelessMessage.network(message)
                _ = WirelessMessage.event(message)
            }
        }
    }
}
