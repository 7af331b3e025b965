// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "nwp_stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int failed(int descriptor) {
    int code = errno;
    close(descriptor);
    return -code;
}

static int unix_address(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
    strcpy(address->sun_path, path);
    return 0;
}

int nwp_unix_listen(const char *path, mode_t mode, int backlog) {
    struct sockaddr_un address;
    int code = unix_address(path, &address);
    if (code < 0) return code;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    // unix(7): the file gets the socket's mode less the umask, so that it is never open wider than wanted.
    if (fchmod(descriptor, mode) < 0 || bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) {
        return failed(descriptor);
    }
    if (chmod(path, mode) < 0 || listen(descriptor, backlog) < 0) {
        code = failed(descriptor);
        unlink(path);
        return code;
    }
    return descriptor;
}

int nwp_unix_connect(const char *path) {
    struct sockaddr_un address;
    int code = unix_address(path, &address);
    if (code < 0) return code;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0) return failed(descriptor);
    return descriptor;
}

static socklen_t ip_address(struct sockaddr_storage *storage, const uint8_t *address, size_t length, uint32_t scope,
                            uint16_t port) {
    memset(storage, 0, sizeof *storage);
    if (length == 4) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, address, 4);
        return sizeof *v4;
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    v6->sin6_scope_id = scope;
    memcpy(&v6->sin6_addr, address, 16);
    return sizeof *v6;
}

int nwp_tcp_listen(const uint8_t *address, size_t length, uint32_t scope, uint16_t port, int backlog) {
    struct sockaddr_storage storage;
    socklen_t size = ip_address(&storage, address, length, scope, port);
    int descriptor = socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) return -errno;
    int one = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (storage.ss_family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(descriptor, (struct sockaddr *)&storage, size) < 0) return failed(descriptor);
    if (listen(descriptor, backlog) < 0) return failed(descriptor);
    return descriptor;
}

int nwp_tcp_connect(const uint8_t *address, size_t length, uint16_t port) {
    struct sockaddr_storage storage;
    socklen_t size = ip_address(&storage, address, length, 0, port);
    int descriptor = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) return -errno;
    if (connect(descriptor, (struct sockaddr *)&storage, size) < 0) return failed(descriptor);
    return descriptor;
}

int nwp_tcp_port(int descriptor) {
    struct sockaddr_storage storage;
    socklen_t size = sizeof storage;
    if (getsockname(descriptor, (struct sockaddr *)&storage, &size) < 0) return -errno;
    return storage.ss_family == AF_INET ? ntohs(((struct sockaddr_in *)&storage)->sin_port)
                                        : ntohs(((struct sockaddr_in6 *)&storage)->sin6_port);
}

int nwp_listener_address(int descriptor, uint8_t address[16], uint32_t *scope, uint16_t *port, char *path, size_t capacity) {
    int listening = 0, type = 0;
    socklen_t size = sizeof listening;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) < 0) return -errno;
    size = sizeof type;
    if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) < 0) return -errno;
    if (!listening || type != SOCK_STREAM) return -EINVAL;
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) return -errno;
    struct sockaddr_storage storage = {0};
    size = sizeof storage;
    if (getsockname(descriptor, (struct sockaddr *)&storage, &size) < 0) return -errno;
    if (storage.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
        memcpy(address, &v4->sin_addr, 4);
        *scope = 0;
        *port = ntohs(v4->sin_port);
        return 4;
    }
    if (storage.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;
        memcpy(address, &v6->sin6_addr, 16);
        *scope = v6->sin6_scope_id;
        *port = ntohs(v6->sin6_port);
        return 16;
    }
    if (storage.ss_family != AF_UNIX) return -EAFNOSUPPORT;
    const struct sockaddr_un *local = (struct sockaddr_un *)&storage;
    size_t length = size > offsetof(struct sockaddr_un, sun_path) ? size - offsetof(struct sockaddr_un, sun_path) : 0;
    // An abstract name starts with a zero and has no end; a path ends with one.
    int is_abstract = length > 0 && !local->sun_path[0];
    snprintf(path, capacity, "%s%.*s", is_abstract ? "@" : "", (int)(length - (size_t)is_abstract),
             local->sun_path + is_abstract);
    return 0;
}

int nwp_accept(int descriptor) {
    int accepted;
    do {
        accepted = accept4(descriptor, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
    return accepted < 0 ? -errno : accepted;
}

int nwp_peer_credentials(int descriptor, pid_t *process, uid_t *user, gid_t *group) {
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) return -errno;
    *process = credentials.pid;
    *user = credentials.uid;
    *group = credentials.gid;
    return 0;
}

int nwp_peer_groups(int descriptor, gid_t *groups, int capacity) {
    socklen_t size = (socklen_t)capacity * sizeof *groups;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0) return -errno;
    return (int)(size / sizeof *groups);
}

void nwp_stream_limits(int descriptor, int send_buffer, unsigned timeout_milliseconds) {
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_milliseconds, sizeof timeout_milliseconds);
}

int nwp_unix_send_datagram(const char *path, const void *bytes, size_t count) {
    struct sockaddr_un address;
    int code = unix_address(path, &address);
    if (code < 0) return code;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    if (sendto(descriptor, bytes, count, MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address) < 0)
        return failed(descriptor);
    close(descriptor);
    return 0;
}

ssize_t nwp_send(int descriptor, const void *bytes, size_t count) {
    ssize_t sent;
    do {
        sent = send(descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

int nwp_path_kind(const char *path) {
    struct stat status;
    if (lstat(path, &status) < 0) return errno == ENOENT ? 0 : -errno;
    return S_ISSOCK(status.st_mode) ? 1 : 2;
}

int nwp_file_identity(const char *path, uint64_t identity[4]) {
    struct statx status;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &status) < 0) return -errno;
    int has_birth = (status.stx_mask & STATX_BTIME) != 0;
    identity[0] = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
    identity[1] = status.stx_ino;
    identity[2] = has_birth ? (uint64_t)status.stx_btime.tv_sec : 0;
    identity[3] = has_birth ? status.stx_btime.tv_nsec : 0;
    return S_ISSOCK(status.stx_mode) && status.stx_uid == geteuid();
}

int nwp_process_name(pid_t process, char *name, size_t capacity) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)process);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    ssize_t count = read(descriptor, name, capacity - 1);
    if (count < 0) return failed(descriptor);
    close(descriptor);
    while (count > 0 && name[count - 1] == '\n') count--;
    name[count] = 0;
    return 0;
}

static int has_open(int process, const char *wanted) {
    char path[64], link[64];
    snprintf(path, sizeof path, "/proc/%d/fd", process);
    DIR *descriptors = opendir(path);
    if (!descriptors) return 0;
    int found = 0;
    for (struct dirent *entry; !found && (entry = readdir(descriptors));) {
        ssize_t count = readlinkat(dirfd(descriptors), entry->d_name, link, sizeof link - 1);
        if (count <= 0) continue;
        link[count] = 0;
        found = strcmp(link, wanted) == 0;
    }
    closedir(descriptors);
    return found;
}

pid_t nwp_socket_owner(uint64_t inode, char *name, size_t capacity) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "socket:[%" PRIu64 "]", inode);
    DIR *processes = opendir("/proc");
    if (!processes) return 0;
    pid_t owner = 0;
    for (struct dirent *entry; !owner && (entry = readdir(processes));) {
        int process = atoi(entry->d_name);
        if (process > 0 && has_open(process, wanted)) owner = process;
    }
    closedir(processes);
    if (owner && nwp_process_name(owner, name, capacity) < 0) name[0] = 0;
    return owner;
}
