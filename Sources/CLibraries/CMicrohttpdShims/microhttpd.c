// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#include "CMicrohttpdShims.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// The table and its context, in one block whose address libmicrohttpd hands back.
struct nwp_http {
    struct nwp_http_handlers handlers;
    void *server;
    struct MHD_Daemon *daemon;
    /// libmicrohttpd keeps pointers to the texts.
    struct nwp_http_tls tls;
    int is_secure;
};

/// Fails the handshake of a client whose certificate no authority of ours has signed for clients.
static int verify(gnutls_session_t session) {
    gnutls_typed_vdata_st purpose = {GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT, 0};
    unsigned status = 0;
    unsigned count = 0;
    // GnuTLS itself fails the handshake of a client without one, where one is needed.
    if (!gnutls_certificate_get_peers(session, &count) || count == 0) return 0;
    if (gnutls_certificate_verify_peers(session, &purpose, 1, &status) != 0 || status) return GNUTLS_E_CERTIFICATE_ERROR;
    return 0;
}

/// libmicrohttpd requests a certificate and believes any; what is wanted is said to the session before it shakes hands.
static void secure(struct nwp_http *http, struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (!info || !info->tls_session) return;
    gnutls_session_t session = info->tls_session;
    gnutls_certificate_server_set_request(session, http->tls.requires  ? GNUTLS_CERT_REQUIRE
                                                   : http->tls.requests_certificate ? GNUTLS_CERT_REQUEST
                                                                    : GNUTLS_CERT_IGNORE);
    if (http->tls.verifies) gnutls_session_set_verify_function(session, verify);
}

static void opened_or_closed(void *context, struct MHD_Connection *connection, void **socket_context,
                             enum MHD_ConnectionNotificationCode code) {
    struct nwp_http *http = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        if (http->is_secure) secure(http, connection);
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *socket_context = http->handlers.opened(http->server, info ? info->connect_fd : -1);
    } else if (*socket_context) {
        http->handlers.closed(http->server, *socket_context);
        *socket_context = 0;
    }
}

static void *target(void *context, const char *uri, struct MHD_Connection *connection) {
    struct nwp_http *http = context;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (!info || !info->socket_context) return 0;
    return http->handlers.target(http->server, info->socket_context, uri);
}

static enum MHD_Result request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                               const char *version, const char *body, size_t *size, void **request) {
    struct nwp_http *http = context;
    (void)url;
    if (!*request) return MHD_NO;
    return http->handlers.request(http->server, *request, connection, method, version, body, size) ? MHD_YES : MHD_NO;
}

static void completed(void *context, struct MHD_Connection *connection, void **request,
                      enum MHD_RequestTerminationCode code) {
    struct nwp_http *http = context;
    (void)connection;
    (void)code;
    if (*request) http->handlers.completed(http->server, *request);
    *request = 0;
}

/// The target is decoded by ourselves, from the bytes as they came.
static size_t keep(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

/// libmicrohttpd reports the errors that it answers by itself in its log only; all else that it logs is discarded.
static void write_log(void *context, const char *format, va_list arguments) {
    static const char error[] = "Error processing request (HTTP response code is %u";
    struct nwp_http *http = context;
    if (strncmp(format, error, sizeof error - 1) == 0)
        http->handlers.refused(http->server, va_arg(arguments, unsigned));
}

static void release(struct nwp_http *http) {
    free((char *)http->tls.certificate);
    // A key does not stay behind in memory.
    if (http->tls.key) gnutls_memset((char *)http->tls.key, 0, strlen(http->tls.key));
    free((char *)http->tls.key);
    free((char *)http->tls.authorities);
    free((char *)http->tls.priorities);
    free(http);
}

/// Copies what TLS needs. Returns 0 without memory.
static int copy(struct nwp_http *http, const struct nwp_http_tls *tls) {
    http->tls = *tls;
    http->tls.certificate = strdup(tls->certificate);
    http->tls.key = strdup(tls->key);
    http->tls.authorities = tls->authorities ? strdup(tls->authorities) : 0;
    http->tls.priorities = strdup(tls->priorities);
    http->is_secure = 1;
    return http->tls.certificate && http->tls.key && http->tls.priorities && (http->tls.authorities || !tls->authorities);
}

struct nwp_http *nwp_http_start(const struct nwp_http_handlers *handlers, void *server, unsigned connection_limit,
                                size_t memory_limit, const struct nwp_http_tls *tls) {
    struct nwp_http *http = calloc(1, sizeof *http);
    if (!http) return 0;
    http->handlers = *handlers;
    http->server = server;
    if (tls && !copy(http, tls)) {
        release(http);
        return 0;
    }
    struct MHD_OptionItem options[5] = {{MHD_OPTION_END, 0, 0}};
    int count = 0;
    if (tls) {
        options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)http->tls.certificate};
        options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)http->tls.key};
        options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)http->tls.priorities};
        if (http->tls.authorities)
            options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)http->tls.authorities};
        options[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, 0};
    }
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE | MHD_USE_NO_LISTEN_SOCKET |
                     MHD_USE_ERROR_LOG;
    http->daemon = MHD_start_daemon(
        flags | (tls ? MHD_USE_TLS : 0), 0, 0, 0, request, http, MHD_OPTION_EXTERNAL_LOGGER, write_log, http,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit, MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory_limit,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, opened_or_closed, http,
        MHD_OPTION_NOTIFY_COMPLETED, completed, http, MHD_OPTION_URI_LOG_CALLBACK, target, http,
        MHD_OPTION_UNESCAPE_CALLBACK, keep, (void *)0, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (!http->daemon) {
        release(http);
        return 0;
    }
    return http;
}

void nwp_http_stop(struct nwp_http *http) {
    MHD_stop_daemon(http->daemon);
    release(http);
}

int nwp_http_epoll(struct nwp_http *http) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

int nwp_http_run(struct nwp_http *http) { return MHD_run(http->daemon) == MHD_YES; }

int64_t nwp_http_timeout(struct nwp_http *http) {
    MHD_UNSIGNED_LONG_LONG milliseconds;
    if (MHD_get_timeout(http->daemon, &milliseconds) != MHD_YES) return -1;
    return milliseconds > INT32_MAX ? INT32_MAX : (int64_t)milliseconds;
}

int nwp_http_add(struct nwp_http *http, int descriptor) {
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    // The peer of a unix socket has no name; libmicrohttpd only wants some address.
    if (getpeername(descriptor, (struct sockaddr *)&address, &length) != 0 || length < sizeof(sa_family_t))
        address.ss_family = AF_UNIX, length = sizeof(sa_family_t);
    return MHD_add_connection(http->daemon, descriptor, (struct sockaddr *)&address, length) == MHD_YES;
}

struct list {
    struct nwp_http_field *fields;
    int capacity;
    int count;
};

static enum MHD_Result collect(void *context, enum MHD_ValueKind kind, const char *name, size_t name_length,
                               const char *value, size_t value_length) {
    struct list *list = context;
    (void)kind;
    if (list->count < list->capacity) {
        struct nwp_http_field field = {name, name_length, value, value_length, 0};
        list->fields[list->count] = field;
    }
    list->count++;
    return MHD_YES;
}

static ptrdiff_t distance(uintptr_t from, uintptr_t to) { return (ptrdiff_t)(to - from); }

void nwp_http_read_head(struct MHD_Connection *connection, const char *method, uintptr_t target, size_t target_length,
                        const char *version, struct nwp_http_field *fields, int capacity, struct nwp_http_head *head) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct list list = {fields, capacity, 0};
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, collect, &list);
    head->method = method;
    head->method_length = strlen(method);
    head->version = version;
    head->version_length = strlen(version);
    head->hidden_in_line = distance((uintptr_t)method + head->method_length + 1, target) +
                           distance(target + target_length + 1, (uintptr_t)version);
    head->size = info ? info->header_size : 0;
    head->count = list.count;
    for (int index = 0; index < list.count && index < capacity; index++) {
        uintptr_t end = (uintptr_t)fields[index].value + fields[index].value_length;
        // Behind the last field the empty line ends the head.
        int is_last = index + 1 == list.count || index + 1 == capacity;
        uintptr_t next = is_last ? (uintptr_t)method + head->size - 2 : (uintptr_t)fields[index + 1].name;
        fields[index].trailing = distance(end, next);
    }
}

struct MHD_Response *nwp_http_fixed(const void *bytes, size_t count, void (*released)(void *), void *context) {
    return MHD_create_response_from_buffer_with_free_callback_cls(count, (void *)bytes, released, context);
}

struct MHD_Response *nwp_http_stream(size_t block, ssize_t (*reader)(void *, uint64_t, char *, size_t),
                                     void (*released)(void *), void *context) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, block, reader, context, released);
}

static void upgraded(void *context, struct MHD_Connection *connection, void *request, const char *bytes, size_t count,
                     int descriptor, struct MHD_UpgradeResponseHandle *handle) {
    struct nwp_http *http = context;
    (void)connection;
    if (request) http->handlers.upgraded(http->server, request, descriptor, bytes, count, handle);
    else MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

struct MHD_Response *nwp_http_upgrade(struct nwp_http *http) {
    return MHD_create_response_for_upgrade(upgraded, http);
}

void nwp_http_upgrade_close(struct MHD_UpgradeResponseHandle *handle) {
    MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

int nwp_http_header(struct MHD_Response *response, const char *name, const char *value) {
    return MHD_add_response_header(response, name, value) == MHD_YES;
}

int nwp_http_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response) {
    return MHD_queue_response(connection, status, response) == MHD_YES;
}

void nwp_http_release(struct MHD_Response *response) { MHD_destroy_response(response); }

void nwp_http_suspend(struct MHD_Connection *connection) { MHD_suspend_connection(connection); }

void nwp_http_resume(struct MHD_Connection *connection) { MHD_resume_connection(connection); }
