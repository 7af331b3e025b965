// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
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
    /// Sending or receiving.
    case use = 4
    /// Having an own address.
    case source = 5
    case connect = 6
    /// Starting to look up a name.
    case lookup = 7
    /// What came of a connection that was begun.
    case answer = 8
}

/// Turns errors of the kernel into verdicts.
enum FailureClassifier {
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
        default:
            let reason = reason(of: error, at: step)
            let detail = reason == .resources ? shortage(error, at: step) : error.description
            return .failure(reason, detail: detail)
        }
    }

    static func outcome(of failure: SocketFailure, route: ProbeRoute = ProbeRoute()) -> ProbeResult.Outcome {
        outcome(of: failure.error, at: failure.step, route: route)
    }

    /// What this machine lacks, as a clause such as `no local port is left (EADDRNOTAVAIL)`; `nil` for other errors.
    static func shortage(_ failure: SocketFailure) -> String? {
        reason(of: failure) == .resources ? shortage(failure.error, at: failure.step) : nil
    }

    private static func shortage(_ error: Errno, at step: SocketStep) -> String {
        let lack =
            switch (error.rawValue, step) {
            case (EAGAIN, .lookup): "no thread"
            case (EADDRNOTAVAIL, _), (EADDRINUSE, _), (EAGAIN, _): "no local port"
            case (EMFILE, _): "no file descriptor of this process"
            case (ENFILE, _): "no file descriptor of this machine"
            default: "no memory"
            }
        return "\(lack) is left (\(error.name))"
    }

    /// What lets a process send echo requests.
    static let icmpAdvice = """
        echo requests need CAP_NET_RAW or a group in net.ipv4.ping_group_range: \
        sysctl -w net.ipv4.ping_group_range='0 2147483647'
        """

    /// The reason behind an error of connect(2), send(2) or recv(2).
    ///
    /// A route of type blackhole gives `EINVAL`, unreachable `EHOSTUNREACH`, prohibit `EACCES`: three codes for the
    /// same story. `EPERM` is a packet filter's drop in the output hook. `EADDRNOTAVAIL` means that there is no such own
    /// address, or that all local ports are in use (ip(7), `ip_local_port_range`).
    static func reason(of error: Errno, at step: SocketStep) -> ProbeReason {
        switch error.rawValue {
        case EADDRNOTAVAIL: step == .source ? .unreachable : .resources
        case ETIMEDOUT: .timeout
        case ECONNREFUSED: .refused
        case ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, ENETDOWN, EHOSTDOWN, ENODEV, ENXIO, EAFNOSUPPORT,
            ENONET, ENOPROTOOPT, EPROTO:
            .unreachable
        case EPERM: .blocked
        // A queue of the interface, or a rule behind it, drops what is sent.
        case ENOBUFS: .unreachable
        case EAGAIN where step == .use: .unreachable
        default: error.isShortage ? .resources : .answer
        }
    }

    static func reason(of failure: SocketFailure) -> ProbeReason { reason(of: failure.error, at: failure.step) }
}

/// What this machine lacks of what every attempt to send needs.
enum Shortage {
    /// - Returns: A clause such as `no local port is left (EAGAIN)`; `nil` where a datagram could be sent.
    static func current(_ loop: EventLoop) -> String? {
        do throws(SocketFailure) {
            // Connecting a datagram socket binds it to a local port, and sends nothing.
            _ = try ProbeSocket(.datagram(to: SocketAddress(ScopedAddress(.v4(0x7F00_0001)), port: 9)), loop: loop)
            return nil
        } catch {
            return FailureClassifier.shortage(error)
        }
    }
}
