// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import LinuxIO
@testable import Network
import Testing

@Suite struct NWErrorTests {
    @Test func `keeps the error number of the kernel`() {
        #expect(NWError(Errno(111)) == .posix(.ECONNREFUSED))
        #expect(NWError(Errno(110)) == .posix(.ETIMEDOUT))
        #expect(NWError(Errno(4095)) == .posix(.EIO))
    }

    @Test func `is readable`() {
        #expect(NWError.posix(.ECONNREFUSED).debugDescription == "POSIXErrorCode(rawValue: 111): Connection refused")
        #expect(NWError.dns(kDNSServiceErr_NoSuchRecord).debugDescription == "-65554: NoSuchRecord")
        #expect(NWError.dns(-1).debugDescription == "-1: Unknown")
        #expect(NWError.tls(-9808).debugDescription == "-9808: TLS")
        let text = NWError.posix(.ENETDOWN).localizedDescription
        #expect(text == "The operation couldn’t be completed. (Network.NWError error 100 - Network is down)")
    }

    @Test(
        arguments: [
            (kDNSServiceErr_Unknown, -65537), (kDNSServiceErr_NoSuchName, -65538), (kDNSServiceErr_NoMemory, -65539),
            (kDNSServiceErr_BadParam, -65540), (kDNSServiceErr_BadState, -65542), (kDNSServiceErr_Unsupported, -65544),
            (kDNSServiceErr_AlreadyRegistered, -65547), (kDNSServiceErr_NameConflict, -65548),
            (kDNSServiceErr_Invalid, -65549), (kDNSServiceErr_BadInterfaceIndex, -65552),
            (kDNSServiceErr_NoAuth, -65555),
            (kDNSServiceErr_ServiceNotRunning, -65563), (kDNSServiceErr_Timeout, -65568),
            (kDNSServiceErr_DefunctConnection, -65569), (kDNSServiceErr_PolicyDenied, -65570),
            (kDNSServiceErr_NoError, 0),
        ] as [(DNSServiceErrorType, Int)]
    )
    func `numbers the errors of DNS Service Discovery as dns_sd does`(code: DNSServiceErrorType, number: Int) {
        #expect(NWError.dns(code).errorCode == number)
        #expect(!NWError.dns(code).debugDescription.hasSuffix("Unknown") || code == kDNSServiceErr_Unknown)
    }

    @Test func `can be matched in a catch clause`() {
        func fail() throws { throw NWError.posix(.ECANCELED) }
        do {
            try fail()
        } catch NWError.posix(.ECANCELED) {
            return
        } catch {
            Issue.record("another error: \(error)")
        }
    }

    @Test func `tells kinds apart`() {
        #expect(NWError.dns(1) != NWError.tls(1))
        #expect(Set([NWError.posix(.EIO), .posix(.EIO), .tls(1)]).count == 2)
        #expect(NWError.tls(-9808).errorCode == -9808 && NWError.posix(.EIO).errorCode == 5)
    }
}
