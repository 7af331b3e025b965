// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import StatusServer

private let child = "DescriptorExhaustionChild"

@Suite struct DescriptorExhaustionTests {
    @Test(.enabled(if: !OwnProcess.isFor(child)))
    func `stays clear when there are no descriptors left`() throws {
        let output = try OwnProcess.run(child, by: ["prlimit", "--nofile=160"])
        #expect(output.contains("recovers\" with 2 test cases passed"), "\(output)")
        #expect(output.contains("it has room for\" passed"), "\(output)")
    }
}

@Suite(
    .inNamespace,
    .serialized,
    .enabled(if: OwnProcess.isFor(child), "runs in the child of DescriptorExhaustionTests")
)
struct DescriptorExhaustionChild {
    private func fill() -> [FileDescriptorHolder] {
        var holders: [FileDescriptorHolder] = []
        while case let copy = dup(0), copy >= 0 { holders.append(FileDescriptorHolder(copy)) }
        return holders
    }

    @Test(arguments: [false, true])
    func `refuses with 503 and recovers`(overTCP: Bool) async throws {
        let fixture = try ServerFixture()
        let served = try fixture.client()
        served.get("/-/ready")
        let first = try await served.response()
        #expect(first.status == 200)
        // Connections wait in the backlog until the loop runs, and by then nothing is left to accept them with.
        let late = try (0..<5).map { _ in try overTCP ? fixture.tcpClient() : fixture.client() }
        var holders = fill()
        for client in late { client.get("/-/ready") }
        for client in late {
            let refused = try await client.response()
            #expect(refused.status == 503)
            #expect(refused.body.contains("Too many connections"))
        }
        served.get("/-/ready")
        let second = try await served.response()
        #expect(second.status == 200)
        holders = []
        #expect(holders.isEmpty)
        let after = try await fixture.get("/-/ready", overTCP: overTCP)
        #expect(after.status == 200)
    }

    @Test func `serves as many as it has room for`() async throws {
        let fixture = try ServerFixture()
        let clients = try (0..<40).map { _ in try fixture.client() }
        await fixture.loop.eventually { fixture.server.connectionCount == 40 }
        for client in clients { client.get("/-/ready") }
        for client in clients {
            let response = try await client.response()
            #expect(response.status == 200)
        }
    }
}

/// A descriptor that is only in the way.
private final class FileDescriptorHolder {
    private let descriptor: FileDescriptor
    init(_ raw: Int32) { descriptor = FileDescriptor(owning: raw) }
}
