// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation

extension NetService {
    /// Why something of a service did not work.
    public enum ErrorCode: Int, Error, Hashable, Sendable {
        /// Something that has no code of its own.
        case unknownError = -72000
        /// Somebody else has the name.
        case collisionError = -72001
        /// The service is not there.
        case notFoundError = -72002
        /// It is being published, resolved or searched for already.
        case activityInProgress = -72003
        /// A name, type or domain is not valid.
        case badArgumentError = -72004
        /// It was stopped.
        case cancelledError = -72005
        /// The object cannot do this.
        case invalidError = -72006
        /// There was no answer in time.
        case timeoutError = -72007
        /// The program lacks a configuration; never on Linux.
        case missingRequiredConfigurationError = -72008
    }

    /// The key of the code in the dictionaries that delegates get.
    public class var errorCode: String { "NSNetServicesErrorCode" }
    /// The key of the domain in the dictionaries that delegates get.
    public class var errorDomain: String { "NSNetServicesErrorDomain" }

    /// How a service is published.
    public struct Options: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt
        /// Makes a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }
        /// A service whose name is in use fails, instead of being renamed.
        public static let noAutoRename = Options(rawValue: 1 << 0)
    }
}

extension NetService.ErrorCode {
    /// What delegates get.
    var dictionary: [String: NSNumber] {
        // 10 is the domain of NetServices (CFStreamError).
        [NetService.errorCode: NSNumber(value: rawValue), NetService.errorDomain: NSNumber(value: 10)]
    }
}
