// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_STREAM_H
#define NWP_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Listens on a unix stream socket at `path`, which must not exist; the file gets `mode` before anybody can connect.
/// Returns a non-blocking descriptor, or a negative errno.
int nwp_unix_listen(const char *path, mode_t mode, int backlog);
/// Connects to a unix stream socket at `path`. Returns a descriptor, or a negative errno.
int nwp_unix_connect(const char *path);
/// Listens on TCP at an address of 4 or 16 bytes in network order; an IPv6 socket accepts IPv6 only.
/// Returns a non-blocking descriptor, or a negative errno.
int nwp_tcp_listen(const uint8_t *address, size_t length, uint32_t scope, uint16_t port, int backlog);
/// Connects to TCP at an address of 4 or 16 bytes in network order. Returns a descriptor, or a negative errno.
int nwp_tcp_connect(const uint8_t *address, size_t length, uint16_t port);
/// The port a TCP socket is bound to, or a negative errno.
int nwp_tcp_port(int descriptor);
/// What somebody else's socket listens on, which is made non-blocking: a path of at most 107 bytes ("@" begins an abstract
/// name), or an address in network order with its scope and port.
/// Returns 0 for a unix socket, the length of the address for TCP, or a negative errno (EINVAL: not a listening stream).
int nwp_listener_address(int descriptor, uint8_t address[16], uint32_t *scope, uint16_t *port, char *path,
                         size_t capacity);
/// accept4(2) with SOCK_NONBLOCK and SOCK_CLOEXEC. Returns a descriptor, or a negative errno.
int nwp_accept(int descriptor);
/// The process at the other end of a unix socket (SO_PEERCRED). Returns 0 or a negative errno.
int nwp_peer_credentials(int descriptor, pid_t *process, uid_t *user, gid_t *group);
/// The supplementary groups of that process (SO_PEERGROUPS). Returns how many, or a negative errno: -ERANGE when there
/// are more.
int nwp_peer_groups(int descriptor, gid_t *groups, int capacity);
/// Limits the kernel's send buffer, and how long sent bytes may stay unacknowledged (TCP_USER_TIMEOUT, ignored on
/// unix sockets).
void nwp_stream_limits(int descriptor, int send_buffer, unsigned timeout_milliseconds);
/// Sends one datagram to the unix socket at `path` without waiting. Returns 0 or a negative errno.
int nwp_unix_send_datagram(const char *path, const void *bytes, size_t count);
/// send(2) with MSG_NOSIGNAL and MSG_DONTWAIT. Returns how many bytes went, or a negative errno.
ssize_t nwp_send(int descriptor, const void *bytes, size_t count);
/// Whether a file exists at `path`: 0 none, 1 a socket, 2 anything else, or a negative errno.
int nwp_path_kind(const char *path);
/// Which file a path names, not following a link: device, inode, and when it was made (0 where the file system does not
/// say), as inodes are given again. Returns 1 when it is a socket of this user, 0 for other files, or a negative errno.
int nwp_file_identity(const char *path, uint64_t identity[4]);
/// The command name of the process that has the socket with inode `inode` open, into `name`. Returns its process id,
/// or 0 when no process that may be inspected has.
pid_t nwp_socket_owner(uint64_t inode, char *name, size_t capacity);
/// The command name of a process, into `name`. Returns 0 or a negative errno.
int nwp_process_name(pid_t process, char *name, size_t capacity);

#endif
