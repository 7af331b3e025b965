// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation

/// The domain of errors of this module, as `NSError` has it.
public let MCErrorDomain = "MCErrorDomain"

/// Why something of a session failed.
public struct MCError: Error, CustomNSError, Hashable, Sendable {
    /// The numbers of Apple's `MCErrorCode`.
    public enum Code: Int, Hashable, Sendable {
        /// Something else.
        case unknown = 0
        /// A peer is not in the session.
        case notConnected = 1
        /// An argument makes no sense.
        case invalidParameter = 2
        /// What was asked for is not supported.
        case unsupported = 3
        /// It took too long.
        case timedOut = 4
        /// It was given up, by either end.
        case cancelled = 5
        /// Not at this time: too much waits for the peer already, or a session is full.
        case unavailable = 6
    }

    /// What failed.
    public let code: Code
    /// What is known besides, such as a sentence for people.
    public let errorUserInfo: [String: String]

    /// An error with a code.
    public init(_ code: Code, userInfo: [String: String] = [:]) {
        self.code = code
        errorUserInfo = userInfo
    }

    init(_ code: Code, _ sentence: String) {
        self.init(code, userInfo: [NSLocalizedDescriptionKey: sentence])
    }

    /// The domain.
    public static var errorDomain: String { MCErrorDomain }
    /// The number of the code.
    public var errorCode: Int { code.rawValue }

    /// Something else.
    public static var unknown: Code { .unknown }
    /// A peer is not in the session.
    public static var notConnected: Code { .notConnected }
    /// An argument makes no sense.
    public static var invalidParameter: Code { .invalidParameter }
    /// What was asked for is not supported.
    public static var unsupported: Code { .unsupported }
    /// It took too long.
    public static var timedOut: Code { .timedOut }
    /// It was given up, by either end.
    public static var cancelled: Code { .cancelled }
    /// Not at this time.
    public static var unavailable: Code { .unavailable }
}

extension MCError: LocalizedError {
    /// A sentence for people.
    public var errorDescription: String? { errorUserInfo[NSLocalizedDescriptionKey] ?? "\(code)" }
}

/// Lets a code be caught, as in `catch MCError.notConnected`.
public func ~= (code: MCError.Code, error: any Error) -> Bool { (error as? MCError)?.code == code }
