// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_PROBE_H
#define NWP_PROBE_H

#include <stddef.h>
#include <stdint.h>

/// Which routes a socket's packets use.
struct nwp_probe_route {
    /// The interface packets must leave by (SO_BINDTODEVICE); "" leaves the choice to the routes.
    char interface[16];
    /// The firewall mark (SO_MARK); 0 sets none.
    uint32_t mark;
    /// The user the packets count as (fchown(2) of the socket); UINT32_MAX changes nothing.
    uint32_t user;
};

/// What a router, or the kernel itself, says of a packet that was sent.
struct nwp_probe_fault {
    /// The positive errno it stands for.
    int32_t code;
    /// Whether an ICMP message said so, whose `type` and `subtype` (code) these are; `info` is the MTU of "too big".
    int32_t is_icmp;
    uint8_t type;
    uint8_t subtype;
    uint32_t info;
    /// Who said so, in network order; `length` is 4, 16, or 0 when nobody is named.
    uint8_t speaker[16];
    uint32_t length;
    /// The beginning of what was sent behind the IP header (of a datagram: behind the UDP header), as far as it is quoted.
    uint8_t quote[64];
    uint32_t quoted;
    /// For how many nanoseconds the kernel has had it (SO_TIMESTAMPNS); 0 when it did not say.
    int64_t age;
};

/// A non-blocking socket of `family` (AF_INET, AF_INET6), `type` and `protocol`, routed as `route` says. `step` returns
/// what failed: 0 the socket itself, 1 the interface, 2 the mark, 3 the user. Returns a descriptor, or a negative errno.
int nwp_probe_socket(int family, int type, int protocol, const struct nwp_probe_route *route, int *step);
/// Routes an open socket; `step` as above. Returns 0 or a negative errno.
int nwp_probe_apply(int descriptor, const struct nwp_probe_route *route, int *step);
/// Lets packets come from an own address of 4 or 16 bytes in network order. Returns 0 or a negative errno.
int nwp_probe_bind(int descriptor, const uint8_t *address, size_t length);
/// Connects to an address of 4 or 16 bytes in network order without waiting. Returns 0 or a negative errno, -EINPROGRESS
/// when the answer comes later.
int nwp_probe_connect(int descriptor, const uint8_t *address, size_t length, uint32_t scope, uint16_t port);
/// Whether a socket has a peer. Returns 1 or 0.
int nwp_probe_connected(int descriptor);
/// The local port of a socket of TCP or UDP; 0 without one.
uint16_t nwp_probe_port(int descriptor);
/// The error pending on a socket (SO_ERROR), as a negative errno; 0 without one.
int nwp_probe_error(int descriptor);
/// Makes an ICMP socket report the hop limit of what arrives and errors of routers (IP_RECVERR), and, when it is a raw
/// one, for echo replies only. Returns 0 or a negative errno.
int nwp_probe_prepare_icmp(int descriptor, int family, int is_raw);
/// Makes a socket of TCP or UDP report errors of routers (IP_RECVERR). Returns 0 or a negative errno.
int nwp_probe_receive_errors(int descriptor, int family);
/// Keeps packets whole, whatever the kernel knows of the path (IP_PMTUDISC_PROBE): larger ones than the own link
/// carries are refused, larger ones than the path carries are reported by a router. Returns 0 or a negative errno.
int nwp_probe_keep_whole(int descriptor, int family);
/// Lets packets pass so many routers less one (IP_TTL). Returns 0 or a negative errno.
int nwp_probe_limit_hops(int descriptor, int family, int hops);
/// Dequeues one error that a router or the kernel reported. Returns 1, or 0 when there is none.
int nwp_probe_next_fault(int descriptor, struct nwp_probe_fault *fault);
/// What the kernel says of a datagram beside its bytes.
struct nwp_probe_metadata {
    /// The hop limit; -1 when the kernel did not say.
    int hop_limit;
    /// For how many nanoseconds the kernel has had it (SO_TIMESTAMPNS); 0 when it did not say.
    int64_t age;
};
/// Receives one datagram or a piece of a stream without waiting. Returns its length, or a negative errno.
long nwp_probe_receive(int descriptor, void *buffer, size_t capacity, struct nwp_probe_metadata *metadata);

#endif
