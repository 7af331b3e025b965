// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

enum SocketStep: Int32 {
    case socket = 0
    /// Binding it to an interface.
    case interface = 1
    /// Its firewall mark.
    case mark = 2
    /// The user it counts as.
    case user = 3
    /// Connecting, sending or receiving.
    case use = 4
}

/// Turns errors of the kernel into verdicts.
enum FailureJudge {
    /// What an error means for a probe.
    /// - Parameters:
    ///   - error: The kernel's error.
    ///   - step: Where it happened.
    ///   - route: The way the packets were to go, for the words.
    /// - Returns: A failure, or what would allow the attempt.
    static func outcome(of error: Errno, at step: SocketStep, route: ProbeRoute = ProbeRoute()) -> ProbeResult.Outcome {
        let isForbidden = error == .notPermitted || error == .accessDenied
        switch step {
        case .socket where isForbidden: return .notAssessed(advice: icmpAdvice)
        case .mark where isForbidden:
            return .notAssessed(
                advice: "a firewall mark needs CAP_NET_ADMIN: \(Capability.advice("cap_net_admin"))"
            )
        case .user where isForbidden:
            return .notAssessed(
                advice: "sending as another user (uid) needs CAP_CHOWN: \(Capability.advice("cap_chown"))"
            )
        case .interface where isForbidden:
            return .notAssessed(
                advice: "binding to an interface needs Linux 5.7 or CAP_NET_RAW: \(Capability.advice("cap_net_raw"))"
            )
        case .interface:
            return .failure(.unreachable, detail: "there is no interface \(route.interface ?? "")")
        default: return .failure(reason(of: error), detail: error.description)
        }
    }

    /// What lets a process send echo requests.
    static let icmpAdvice = """
        echo requests need CAP_NET_RAW or a group in net.ipv4.ping_group_range: \
        sysctl -w net.ipv4.ping_group_range='0 2147483647'
        """

    /// The reason behind an error of connect(2), send(2) or recv(2).
    ///
    /// A route of type blackhole gives `EINVAL`, unreachable `EHOSTUNREACH`, prohibit `EACCES`: three codes for the
    /// same story. `EPERM` is a packet filter's drop in the output hook.
    static func reason(of error: Errno) -> ProbeReason {
        switch error.rawValue {
        case ETIMEDOUT: .timeout
        case ECONNREFUSED: .refused
        case ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL, ENODEV, ENXIO, EAFNOSUPPORT,
            ENONET, ENOPROTOOPT, EPROTO:
            .unreachable
        case EPERM: .blocked
        case EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN: .resources
        default: .answer
        }
    }
}
