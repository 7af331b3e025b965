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
        /// The request is not supported.
        case unsupported = 3
        /// It timed out.
        case timedOut = 4
        /// It was given up, by either end.
        case cancelled = 5
        /// Not at this time: too much waits for the peer already, or a session is full.
        case unavailable = 6
    }

    /// What failed.
    public let code: Code
    private let sentence: String?

    /// An error with a code, and a sentence for people where `NSLocalizedDescriptionKey` has one.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        self.code = code
        sentence = userInfo[NSLocalizedDescriptionKey] as? String
    }

    init(_ code: Code, _ sentence: String) {
        self.code = code
        self.sentence = sentence
    }

    /// The domain.
    public static var errorDomain: String { MCErrorDomain }
    /// The number of the code.
    public var errorCode: Int { code.rawValue }
    /// A sentence for people, where there is one.
    public var errorUserInfo: [String: Any] { sentence.map { [NSLocalizedDescriptionKey: $0] } ?? [:] }

    /// Whether the code is the same, whatever is said besides.
    public static func == (left: MCError, right: MCError) -> Bool { left.code == right.code }

    /// From the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }

    /// Something else.
    public static var unknown: Code { .unknown }
    /// A peer is not in the session.
    public static var notConnected: Code { .notConnected }
    /// An argument makes no sense.
    public static var invalidParameter: Code { .invalidParameter }
    /// The request is not supported.
    public static var unsupported: Code { .unsupported }
    /// It timed out.
    public static var timedOut: Code { .timedOut }
    /// It was given up, by either end.
    public static var cancelled: Code { .cancelled }
    /// Not at this time.
    public static var unavailable: Code { .unavailable }
}

extension MCError: LocalizedError {
    /// A sentence for people.
    public var errorDescription: String? { sentence ?? "\(code)" }
}

/// Lets a code be caught, as in `catch MCError.notConnected`.
public func ~= (code: MCError.Code, error: any Error) -> Bool { (error as? MCError)?.code == code }
