// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Why the daemon gave no answer.
enum StatusClientError: Error, Equatable {
    /// Nobody answers at `endpoint`, the socket or URL that was tried.
    case notReachable(endpoint: String, reason: String)
    /// The user may not open the socket.
    case permissionDenied(endpoint: String)
    case timedOut(endpoint: String)
    /// The daemon refused with 401 or 403.
    case refused(status: Int, detail: String)
    /// The daemon answered with another error; `type` and `detail` come from its problem document.
    case problem(status: Int, type: String, detail: String)
    /// The connection broke, or what came was no HTTP.
    case failed(endpoint: String, reason: String)
    /// libcurl is not installed, or is too old.
    case libraryMissing(reason: String)
}

extension StatusClientError: CustomStringConvertible {
    var description: String {
        switch self {
        case .notReachable(let endpoint, let reason):
            "the service is not reachable at \(endpoint) (\(reason)); is it running? Try: systemctl status nwpath"
        case .permissionDenied(let endpoint):
            "no permission to open \(endpoint); become root or join the group of the socket"
        case .timedOut(let endpoint): "timed out waiting for \(endpoint)"
        case .refused(let status, let detail): "the service refused (\(status)): \(detail)"
        case .problem(_, _, let detail): detail
        case .failed(let endpoint, let reason): "the answer from \(endpoint) is not usable: \(reason)"
        case .libraryMissing(let reason): "libcurl cannot be loaded: \(reason)"
        }
    }
}
