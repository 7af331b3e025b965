// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_FLOW_H
#define NWP_FLOW_H

#include <stddef.h>
#include <stdint.h>

/// One end of a socket: an address in network order and a port in host order.
struct nwp_end {
    uint8_t bytes[16];
    /// 4 or 16; 0 is none. IPv4 addresses that are mapped into IPv6 count as IPv4.
    int32_t length;
    /// The interface of a link-local IPv6 address; 0 is none.
    uint32_t scope;
    uint16_t port;
    uint16_t reserved;
};

/// What is known of a datagram besides its bytes.
struct nwp_flow_datagram {
    struct nwp_end source;
    /// To which of our addresses; its length is 0 when the kernel did not say.
    struct nwp_end destination;
    /// SO_TIMESTAMPNS in nanoseconds since 1970; 0 when it was not requested.
    int64_t nanoseconds;
    /// The interface it came in by; 0 when the kernel did not say.
    uint32_t interface;
    /// The TOS byte or traffic class; -1 when the kernel did not say.
    int32_t traffic_class;
    /// 1 when the buffer was too small (MSG_TRUNC).
    int32_t truncated;
    int32_t reserved;
};

/// A non-blocking socket: `length` is 4 for IPv4, 16 for IPv6, 0 for unix. Returns a descriptor, or a negative errno.
int nwp_flow_open(int length, int is_stream);
/// Binds to an end; an IPv4 one is mapped when the socket is IPv6. Returns 0 or a negative errno.
int nwp_flow_bind(int descriptor, const struct nwp_end *end);
/// Binds a unix socket to a path. Returns 0 or a negative errno.
int nwp_flow_bind_path(int descriptor, const char *path);
/// Connects a socket of the end's family without waiting. Returns 0 or a negative errno, -EINPROGRESS when the answer comes later.
int nwp_flow_connect(int descriptor, const struct nwp_end *end);
/// The same to a path.
int nwp_flow_connect_path(int descriptor, const char *path);
/// accept4(2), with the peer. Returns a non-blocking descriptor, or a negative errno.
int nwp_flow_accept(int descriptor, struct nwp_end *peer);
/// The near end (`is_peer` 0) or the far one. Returns 0 or a negative errno.
int nwp_flow_end(int descriptor, int is_peer, struct nwp_end *end);
/// What no other network namespace has since the machine started (SO_NETNS_COOKIE, Linux 5.14), or a negative errno.
int64_t nwp_flow_namespace(int descriptor);
/// setsockopt(2) with an int. Returns 0 or a negative errno.
int nwp_flow_option(int descriptor, int level, int option, int value);
/// getsockopt(2) with an int. Returns the value, or a negative errno.
int nwp_flow_value(int descriptor, int level, int option);
/// Confines a socket to an interface (SO_BINDTODEVICE). Returns 0 or a negative errno.
int nwp_flow_device(int descriptor, const char *name);
/// Makes close(2) drop what was not sent, and reset the connection (SO_LINGER with 0 seconds).
void nwp_flow_abort(int descriptor);
/// recv(2) without waiting. Returns how many bytes came, 0 at the end of a stream, or a negative errno.
long nwp_flow_read(int descriptor, void *buffer, size_t capacity);
/// Receives one datagram without waiting. Returns its length in the buffer, or a negative errno.
long nwp_flow_receive(int descriptor, void *buffer, size_t capacity, struct nwp_flow_datagram *datagram);
/// Sends one datagram without waiting, from one of our addresses where `from` has one. Returns the bytes sent, or a
/// negative errno.
long nwp_flow_send(int descriptor, const void *bytes, size_t count, const struct nwp_end *to, const struct nwp_end *from);
/// How many bytes wait to be read (`is_output` 0), or to be acknowledged. Returns a negative errno on failure.
int nwp_flow_queued(int descriptor, int is_output);

/// What TCP knows of a connection (TCP_INFO), times in microseconds.
struct nwp_tcp_state {
    uint64_t bytes_sent;
    uint64_t bytes_retransmitted;
    uint64_t bytes_received;
    uint32_t round_trip;
    uint32_t round_trip_variance;
    uint32_t shortest_round_trip;
    uint32_t segments_received;
    uint32_t segments_sent;
    uint32_t out_of_order;
    uint32_t received_segment_size;
    uint32_t reserved;
};

/// Queries it. Returns 0 or a negative errno.
int nwp_flow_tcp_state(int descriptor, struct nwp_tcp_state *state);

#endif
