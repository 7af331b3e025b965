// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// libcurl's easy interface, loaded when it is first used: a program that links libcurl pays megabytes of memory for
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
};

/// Takes bytes of the body or one line of the head. Returns 1, or 0 to stop.
typedef int (*nwp_curl_take)(void *context, const char *bytes, size_t count);

/// Loads libcurl.so.4. Returns 0, or -1 with the reason in `nwp_curl_load_error`.
int nwp_curl_load(void);
/// Why loading failed; "" when it did not.
const char *nwp_curl_load_error(void);
/// Prepares a request; NULL without memory. Redirects are not followed.
struct nwp_curl *nwp_curl_open(const char *url);
/// Goes through a unix socket instead of the network; no proxy is used.
void nwp_curl_unix_socket(struct nwp_curl *request, const char *path);
/// Sends `body` by POST.
void nwp_curl_post(struct nwp_curl *request, const char *body, size_t count);
/// Adds a request header field, such as "Accept: text/plain".
void nwp_curl_header(struct nwp_curl *request, const char *field);
/// Limits connecting and the whole request, in milliseconds. With `whole` 0 the answer may go on for ever, but not be
/// silent for 45 s, three times the interval in which streams are written to.
void nwp_curl_timeout(struct nwp_curl *request, long connecting, long whole);
/// Makes the request and blocks until it is over.
enum nwp_curl_result nwp_curl_perform(struct nwp_curl *request, nwp_curl_take head, nwp_curl_take body, void *context);
/// The status code of the answer; 0 when there was none.
long nwp_curl_status(struct nwp_curl *request);
/// libcurl's words on the last failure; "" without one.
const char *nwp_curl_error(struct nwp_curl *request);
/// Frees the request.
void nwp_curl_close(struct nwp_curl *request);

#endif
