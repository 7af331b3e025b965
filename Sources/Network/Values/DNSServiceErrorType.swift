// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A result code of Apple's Security framework; 0 is success.
public typealias OSStatus = Int32

/// An error code of DNS Service Discovery, as Apple's `dns_sd.h` numbers them.
public typealias DNSServiceErrorType = Int32

/// Nothing is wrong.
public let kDNSServiceErr_NoError: DNSServiceErrorType = 0
/// Something is wrong that has no code of its own.
public let kDNSServiceErr_Unknown: DNSServiceErrorType = -65537
/// There is no such name.
public let kDNSServiceErr_NoSuchName: DNSServiceErrorType = -65538
/// There is not enough memory.
public let kDNSServiceErr_NoMemory: DNSServiceErrorType = -65539
/// An argument is not valid.
public let kDNSServiceErr_BadParam: DNSServiceErrorType = -65540
/// The operation is not valid at this time.
public let kDNSServiceErr_BadState: DNSServiceErrorType = -65542
/// It cannot be done here.
public let kDNSServiceErr_Unsupported: DNSServiceErrorType = -65544
/// It is registered already.
public let kDNSServiceErr_AlreadyRegistered: DNSServiceErrorType = -65547
/// Somebody else has the name.
public let kDNSServiceErr_NameConflict: DNSServiceErrorType = -65548
/// An argument is out of its range.
public let kDNSServiceErr_Invalid: DNSServiceErrorType = -65549
/// There is no such interface.
public let kDNSServiceErr_BadInterfaceIndex: DNSServiceErrorType = -65552
/// The name exists without such a record.
public let kDNSServiceErr_NoSuchRecord: DNSServiceErrorType = -65554
/// It is not allowed.
public let kDNSServiceErr_NoAuth: DNSServiceErrorType = -65555
/// Nothing answers for DNS Service Discovery.
public let kDNSServiceErr_ServiceNotRunning: DNSServiceErrorType = -65563
/// There was no answer in time.
public let kDNSServiceErr_Timeout: DNSServiceErrorType = -65568
/// The connection to the service was lost.
public let kDNSServiceErr_DefunctConnection: DNSServiceErrorType = -65569
/// The operator does not allow it.
public let kDNSServiceErr_PolicyDenied: DNSServiceErrorType = -65570

/// The words of Apple's `dns_sd.h` for its codes.
enum DNSServiceErrorText {
    private static let words: [DNSServiceErrorType: String] = [
        kDNSServiceErr_NoError: "NoError", kDNSServiceErr_Unknown: "Unknown", kDNSServiceErr_NoSuchName: "NoSuchName",
        kDNSServiceErr_NoMemory: "NoMemory", kDNSServiceErr_BadParam: "BadParam", kDNSServiceErr_BadState: "BadState",
        kDNSServiceErr_Unsupported: "Unsupported", kDNSServiceErr_AlreadyRegistered: "AlreadyRegistered",
        kDNSServiceErr_NameConflict: "NameConflict", kDNSServiceErr_Invalid: "Invalid",
        kDNSServiceErr_BadInterfaceIndex: "BadInterfaceIndex", kDNSServiceErr_NoSuchRecord: "NoSuchRecord",
        kDNSServiceErr_NoAuth: "NoAuth", kDNSServiceErr_ServiceNotRunning: "ServiceNotRunning",
        kDNSServiceErr_Timeout: "Timeout", kDNSServiceErr_DefunctConnection: "DefunctConnection",
        kDNSServiceErr_PolicyDenied: "PolicyDenied",
    ]

    static func text(of code: DNSServiceErrorType) -> String { words[code] ?? "Unknown" }
}
