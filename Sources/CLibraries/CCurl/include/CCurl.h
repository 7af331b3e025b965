// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// libcurl, loaded when it is first used: a program that links libcurl pays megabytes of memory for
// it even when it never makes a request.
#ifndef NWP_CURL_H
#define NWP_CURL_H

#include <stddef.h>

struct nwp_curl;

/// What one request came to.
enum nwp_curl_result {
    NWP_CURL_OK = 0,
    NWP_CURL_UNREACHABLE = 1,
    NWP_CURL_TIMED_OUT = 2,
    NWP_CURL_STOPPED = 3,
    NWP_CURL_DENIED = 4,
    NWP_CURL_FAILED = 5,
    NWP_CURL_UNTRUSTED = 6,
};

/// Receives bytes of the body or one line of the head. Returns 1, or 0 to stop.
typedef int (*nwp_curl_sink)(void *context, const char *bytes, size_t count);

/// Loads libcurl.so.4. Returns 0, or -1 with the reason in `nwp_curl_load_error`.
int nwp_curl_load(void);
/// Why loading failed; "" when it did not.
const char *nwp_curl_load_error(void);
/// Prepares a request; NULL without memory. Redirects are not followed.
struct nwp_curl *nwp_curl_open(const char *url);
/// Goes through a unix socket instead of the network.
void nwp_curl_unix_socket(struct nwp_curl *request, const char *path);
/// Uses no proxy, whatever the environment says.
void nwp_curl_without_proxy(struct nwp_curl *request);
/// Notes which proxy libcurl finds in the environment, for `nwp_curl_proxy`.
void nwp_curl_note_proxy(struct nwp_curl *request);
/// The proxy of a finished request as libcurl writes it, such as "http_proxy == 'http://127.0.0.1:3128'"; "" without one.
const char *nwp_curl_proxy(struct nwp_curl *request);
/// Believes the authorities in the PEM file at `path` instead of the system's.
void nwp_curl_authorities(struct nwp_curl *request, const char *path);
/// Sends `body` by POST.
void nwp_curl_post(struct nwp_curl *request, const char *body, size_t count);
/// Adds a request header field, such as "Accept: text/plain".
void nwp_curl_header(struct nwp_curl *request, const char *field);
/// Limits connecting and the whole request, in milliseconds. With `whole` 0 the answer may go on for ever, but not be
/// silent for 45 s, three times the interval in which streams are written to.
void nwp_curl_timeout(struct nwp_curl *request, long connecting, long whole);
/// Calls `tick` about once a second, and whenever something came.
void nwp_curl_tick(struct nwp_curl *request, void (*tick)(void *context));
/// Makes the request and blocks until it is over.
enum nwp_curl_result nwp_curl_perform(struct nwp_curl *request, nwp_curl_sink head, nwp_curl_sink body, void *context);
/// The status code of the answer; 0 when there was none.
long nwp_curl_status(struct nwp_curl *request);
/// libcurl's words on the last failure; "" without one.
const char *nwp_curl_error(struct nwp_curl *request);
/// Frees the request.
void nwp_curl_close(struct nwp_curl *request);

/// Prepares a new socket before it connects. Returns 1, or 0 to give up.
typedef int (*nwp_curl_prepare)(void *context, int descriptor);

/// Makes a request a probe, over a connection of its own and without a proxy. `pinned` is
/// "HOST:PORT:ADDRESS", which avoids a lookup; "" does one. `authorities` is a file of certificates, ""
/// for those of the system. `context` goes to all three functions.
void nwp_curl_probe(struct nwp_curl *request, const char *pinned, const char *authorities, nwp_curl_sink head,
                    nwp_curl_sink body, nwp_curl_prepare prepare, void *context);
/// Uses the proxy that the environment names for the URL, if any, and notes it for `nwp_curl_proxy`; after
/// `nwp_curl_probe`.
void nwp_curl_use_proxy(struct nwp_curl *request);
/// Whether a connection was made, to the proxy where there is one: 1 or 0.
int nwp_curl_connected(struct nwp_curl *request);
/// The errno of the last failed connection attempt; 0 without one.
int nwp_curl_errno(struct nwp_curl *request);
/// What became of the server's certificate in a request that failed: 0 nothing is known against it, 1 it does not
/// verify, 2 the same because of its dates.
int nwp_curl_certificate(struct nwp_curl *request);
/// Whether the handshake of TLS came to its end: 1 or 0.
int nwp_curl_secured(struct nwp_curl *request);
/// How many bytes of HTTP the request sent and the answer had.
void nwp_curl_traffic(struct nwp_curl *request, long *sent, long *received);

/// Puts up to `room` bytes of the body that is sent at `bytes`. Returns how many, 0 when there are no more.
typedef size_t (*nwp_curl_give)(void *context, char *bytes, size_t room);
/// When a request came how far, in microseconds since it began; 0 for what has not happened.
struct nwp_curl_timings {
    /// Its address was known.
    long resolved;
    /// Its connection was made.
    long connected;
    /// Its connection was encrypted.
    long secured;
    /// It could be sent.
    long ready;
    /// The first byte of its answer came.
    long answered;
};

/// Makes a request that `nwp_curl_probe` prepared send `size` bytes by POST. It claims one byte more and never sends it:
/// such a request stays until it is removed or its server has enough, for libcurl ends it before the bytes arrived.
void nwp_curl_upload(struct nwp_curl *request, long size, nwp_curl_give give);
/// Lets such a request reuse a connection that an earlier one of its set has left open, and leave its own open.
void nwp_curl_keep(struct nwp_curl *request);
/// How far a request is, finished or not.
void nwp_curl_timings(struct nwp_curl *request, struct nwp_curl_timings *timings);

/// Requests that go on side by side on the caller's event loop (libcurl-multi(3)).
struct nwp_multi;
/// Registers a socket with the loop: `wanted` is 1 for reading, 2 for writing, 3 for both, 0 to stop.
typedef void (*nwp_multi_register)(void *context, int descriptor, int wanted);
/// Schedules a call of `nwp_multi_act` after so many milliseconds; -1 cancels it.
typedef void (*nwp_multi_timer)(void *context, long milliseconds);

/// Makes a set of requests; NULL without memory. Load the library before.
struct nwp_multi *nwp_multi_open(nwp_multi_register register_descriptor, nwp_multi_timer timer, void *context);
/// Starts a request. Returns 0, or -1 without memory.
int nwp_multi_add(struct nwp_multi *multi, struct nwp_curl *request);
/// Removes a request, finished or not.
void nwp_multi_remove(struct nwp_multi *multi, struct nwp_curl *request);
/// Goes on with what is due; `descriptor` -1 is the timer, else `events` is 1 readable, 2 writable, 4 failed, together.
void nwp_multi_act(struct nwp_multi *multi, int descriptor, int events);
/// The next finished request with what it came to; NULL when there is none.
struct nwp_curl *nwp_multi_next(struct nwp_multi *multi, enum nwp_curl_result *result);
/// Frees the set, which has no requests any more.
void nwp_multi_close(struct nwp_multi *multi);

#endif
