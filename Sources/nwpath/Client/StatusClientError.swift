// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Why the daemon gave no answer.
enum StatusClientError: Error, Equatable {
    /// Nobody answers at `place`, the socket or URL that was tried.
    case notReachable(place: String, reason: String)
    /// The user may not open the socket.
    case permissionDenied(place: String)
    case timedOut(place: String)
    /// The daemon refused with 401 or 403.
    case refused(status: Int, detail: String)
    /// The daemon answered with another error; `type` and `detail` come from its problem document.
    case problem(status: Int, type: String, detail: String)
    /// The connection broke, or what came was no HTTP.
    case failed(place: String, reason: String)
    /// libcurl is not installed, or is too old.
    case libraryMissing(reason: String)
}

extension StatusClientError: CustomStringConvertible {
    var description: String {
        switch self {
        case .notReachable(let place, let reason):
            "the service is not reachable at \(place) (\(reason)); is it running? Try: systemctl status nwpath"
        case .permissionDenied(let place):
            "no permission to open \(place); become root or join the group of the socket"
        case .timedOut(let place): "timed out waiting for \(place)"
        case .refused(let status, let detail): "the service refused (\(status)): \(detail)"
        case .problem(_, _, let detail): detail
        case .failed(let place, let reason): "the answer from \(place) is not usable: \(reason)"
        case .libraryMissing(let reason): "libcurl cannot be loaded: \(reason)"
        }
    }
}
