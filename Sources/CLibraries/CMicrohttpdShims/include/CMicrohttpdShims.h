// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// What Swift cannot call of libmicrohttpd: its variadic functions. The callbacks of one server are bundled in a
// table, and every pointer that libmicrohttpd hands out during a request is given as is, valid for that call only.
#ifndef NWP_MICROHTTPD_SHIMS_H
#define NWP_MICROHTTPD_SHIMS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct nwp_http;
struct MHD_Connection;
struct MHD_Response;
struct MHD_UpgradeResponseHandle;

/// What libmicrohttpd calls; `server` is the context given to `nwp_http_start`.
struct nwp_http_handlers {
    /// A connection was added; the result is its context for as long as it lives.
    void *(*opened)(void *server, int descriptor);
    /// The connection is about to be closed.
    void (*closed)(void *server, void *connection);
    /// A request line was read; the result is the request's context.
    void *(*target)(void *server, void *connection, const char *target);
    /// The head is complete (first call), body bytes arrived (`*size` > 0), or an answer is wanted (`*size` is 0).
    /// Returns 1, or 0 to close the connection.
    int (*request)(void *server, void *request, struct MHD_Connection *raw, const char *method,
                   const char *version, const char *body, size_t *size);
    /// The connection is no longer HTTP: `descriptor` is to be read and written without waiting, the first `count`
    /// bytes of the client are already read, and `handle` ends it.
    void (*upgraded)(void *server, void *request, int descriptor, const void *bytes, size_t count,
                     struct MHD_UpgradeResponseHandle *handle);
    /// The request is over, however it ended.
    void (*completed)(void *server, void *request);
    /// libmicrohttpd itself answers a request, with an error, because it cannot read it or it is too large.
    void (*refused)(void *server, unsigned status);
};

/// One header field as libmicrohttpd holds it.
struct nwp_http_field {
    const char *name;
    size_t name_length;
    const char *value;
    size_t value_length;
    /// Bytes between the end of the value and what follows: 2 for a plain CR LF.
    ptrdiff_t trailing;
};

/// A request's head as libmicrohttpd holds it.
struct nwp_http_head {
    const char *method;
    size_t method_length;
    const char *version;
    size_t version_length;
    /// Bytes between the parts of the request line that no part accounts for; 0 in a sound request.
    ptrdiff_t hidden_in_line;
    /// Bytes of the whole head; 0 when it is not known.
    size_t size;
    /// How many fields there are, which may be more than there was room for.
    int count;
};

/// The outcome of a self-test request.
struct nwp_http_outcome {
    /// Whether it came to the handler, with how many fields, and whether its distances are not those of a plain one.
    int is_reached;
    int fields;
    int hides;
    /// Whether libmicrohttpd kept it from the handler.
    int is_refused;
    /// The status that libmicrohttpd wrote to its log, and the one that it answered; 0 for none.
    unsigned logged;
    unsigned answered;
};

/// How connections are encrypted; texts are in PEM and copied.
struct nwp_http_tls {
    /// The certificate with those that lead to an authority, and its key.
    const char *certificate;
    const char *key;
    /// The authorities of clients; NULL when none is requested.
    const char *authorities;
    /// What GnuTLS may negotiate, such as "NORMAL:-VERS-TLS1.2".
    const char *priorities;
    /// Whether a client certificate is requested, must have one, and must have one of an authority.
    int requests_certificate;
    int requires;
    int verifies;
};

/// Starts a server without sockets and threads of its own; connections are handed in. `tls` is NULL for connections
/// in the clear. NULL when it cannot start.
struct nwp_http *nwp_http_start(const struct nwp_http_handlers *handlers, void *server, unsigned connection_limit,
                                size_t memory_limit, const struct nwp_http_tls *tls);
/// Ends a server and frees it; no connection may be suspended.
void nwp_http_stop(struct nwp_http *http);
/// The epoll descriptor to poll; -1 when there is none.
int nwp_http_epoll(struct nwp_http *http);
/// Does what is to be done now. Returns 0 when libmicrohttpd failed.
int nwp_http_run(struct nwp_http *http);
/// Milliseconds until `nwp_http_run` wants to be called without an event; -1 when it need not.
int64_t nwp_http_timeout(struct nwp_http *http);
/// Hands over an accepted, non-blocking socket, which libmicrohttpd then owns and closes even when it fails.
int nwp_http_add(struct nwp_http *http, int descriptor);
/// Reads a request's head, and its fields in order as far as there is room.
///
/// libmicrohttpd leaves the head in one buffer, parts ended by NUL where they are. A part shorter than its room,
/// which is how it hides a NUL that a client sent and unfolds obsolete line folding, shows in the distances. The
/// library promises none of that; `nwp_http_try` finds out.
void nwp_http_read_head(struct MHD_Connection *connection, const char *method, uintptr_t target, size_t target_length,
                        const char *version, struct nwp_http_field *fields, int capacity, struct nwp_http_head *head);

/// Sends a request to a server made for it and reports the outcome. Returns 0 when that could not be tried.
int nwp_http_try(const char *bytes, size_t count, struct nwp_http_outcome *outcome);
/// The version of the loaded library.
const char *nwp_http_version(void);

/// A response from bytes that stay valid until `released` is called.
struct MHD_Response *nwp_http_fixed(const void *bytes, size_t count, void (*released)(void *), void *context);
/// A response of unknown length. `reader` fills `bytes`; 0 after suspending, -1 at the end, -2 to break off.
struct MHD_Response *nwp_http_stream(size_t block, ssize_t (*reader)(void *, uint64_t, char *, size_t),
                                     void (*released)(void *), void *context);
/// A response with which the connection stops being HTTP; `Connection` is set.
struct MHD_Response *nwp_http_upgrade(struct nwp_http *http);
/// Gives an upgraded connection back to be closed, which must happen before the server is stopped.
void nwp_http_upgrade_close(struct MHD_UpgradeResponseHandle *handle);
/// Adds a header field. Returns 0 when it is refused.
int nwp_http_header(struct MHD_Response *response, const char *name, const char *value);
/// Queues an answer. Returns 0 when it cannot.
int nwp_http_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);
/// Gives up one reference to a response.
void nwp_http_release(struct MHD_Response *response);
/// Suspends a connection until it is resumed.
void nwp_http_suspend(struct MHD_Connection *connection);
/// Ends `nwp_http_suspend`.
void nwp_http_resume(struct MHD_Connection *connection);

#endif
