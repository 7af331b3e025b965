// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#include "api.h"

#include <stdlib.h>

struct nwp_multi {
    CURLM *multi;
    nwp_multi_register register_descriptor;
    nwp_multi_timer timer;
    void *context;
};

static size_t receive_head(char *bytes, size_t size, size_t count, void *context) {
    struct nwp_curl *request = context;
    return request->head(request->context, bytes, size * count) ? size * count : 0;
}

static size_t receive_body(char *bytes, size_t size, size_t count, void *context) {
    struct nwp_curl *request = context;
    return request->body(request->context, bytes, size * count) ? size * count : 0;
}

static int prepare(void *context, curl_socket_t descriptor, curlsocktype purpose) {
    struct nwp_curl *request = context;
    (void)purpose;
    return request->prepare(request->context, descriptor) ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR;
}

void nwp_curl_probe(struct nwp_curl *request, const char *pinned, const char *authorities, nwp_curl_sink head,
                    nwp_curl_sink body, nwp_curl_prepare prepare_socket, void *context) {
    request->head = head;
    request->body = body;
    request->prepare = prepare_socket;
    request->context = context;
    api.setopt(request->easy, CURLOPT_PRIVATE, request);
    api.setopt(request->easy, CURLOPT_HEADERFUNCTION, receive_head);
    api.setopt(request->easy, CURLOPT_WRITEFUNCTION, receive_body);
    api.setopt(request->easy, CURLOPT_SOCKOPTFUNCTION, prepare);
    api.setopt(request->easy, CURLOPT_SOCKOPTDATA, request);
    api.setopt(request->easy, CURLOPT_PROXY, "");
    api.setopt(request->easy, CURLOPT_FRESH_CONNECT, 1L);
    api.setopt(request->easy, CURLOPT_FORBID_REUSE, 1L);
    api.setopt(request->easy, CURLOPT_USERAGENT, "nwpath");
    // Expected are 204 and small pages; a connection that is upgraded to another protocol is neither.
    api.setopt(request->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (*authorities) api.setopt(request->easy, CURLOPT_CAINFO, authorities);
    if (!*pinned) return;
    request->pinned = api.append(0, pinned);
    api.setopt(request->easy, CURLOPT_RESOLVE, request->pinned);
}

void nwp_curl_use_proxy(struct nwp_curl *request) {
    api.setopt(request->easy, CURLOPT_PROXY, NULL);
    // What the proxy answers to CONNECT is no answer of the server.
    api.setopt(request->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    nwp_curl_note_proxy(request);
}

int nwp_curl_connected(struct nwp_curl *request) {
    // The time of connecting ends with the tunnel, of which a proxy may say no.
    long port = 0, answer = 0;
    api.getinfo(request->easy, CURLINFO_LOCAL_PORT, &port);
    api.getinfo(request->easy, CURLINFO_HTTP_CONNECTCODE, &answer);
    return port > 0 || answer > 0;
}

int nwp_curl_errno(struct nwp_curl *request) {
    long number = 0;
    api.getinfo(request->easy, CURLINFO_OS_ERRNO, &number);
    return (int)number;
}

int nwp_curl_certificate(struct nwp_curl *request) {
    // X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED of OpenSSL; other libraries give no number.
    enum { not_yet_valid = 9, expired = 10 };
    if (request->code != CURLE_PEER_FAILED_VERIFICATION) return 0;
    long reason = 0;
    api.getinfo(request->easy, CURLINFO_SSL_VERIFYRESULT, &reason);
    return reason == not_yet_valid || reason == expired ? 2 : 1;
}

int nwp_curl_secured(struct nwp_curl *request) {
    curl_off_t handshake_time = 0;
    api.getinfo(request->easy, CURLINFO_APPCONNECT_TIME_T, &handshake_time);
    return handshake_time > 0;
}

void nwp_curl_traffic(struct nwp_curl *request, long *sent, long *received) {
    long head = 0;
    curl_off_t body = 0;
    *sent = 0;
    api.getinfo(request->easy, CURLINFO_REQUEST_SIZE, sent);
    api.getinfo(request->easy, CURLINFO_HEADER_SIZE, &head);
    api.getinfo(request->easy, CURLINFO_SIZE_DOWNLOAD_T, &body);
    *received = head + (long)body;
}

static int register_socket(CURL *easy, curl_socket_t descriptor, int what, void *context, void *mark) {
    struct nwp_multi *multi = context;
    (void)easy;
    (void)mark;
    multi->register_descriptor(multi->context, descriptor, what == CURL_POLL_REMOVE ? 0 : what);
    return 0;
}

static int set_timer(CURLM *handle, long milliseconds, void *context) {
    struct nwp_multi *multi = context;
    (void)handle;
    multi->timer(multi->context, milliseconds);
    return 0;
}

struct nwp_multi *nwp_multi_open(nwp_multi_register register_descriptor, nwp_multi_timer timer, void *context) {
    struct nwp_multi *multi = calloc(1, sizeof *multi);
    if (!multi) return 0;
    multi->multi = api.multi_init();
    if (!multi->multi) {
        free(multi);
        return 0;
    }
    multi->register_descriptor = register_descriptor;
    multi->timer = timer;
    multi->context = context;
    api.multi_setopt(multi->multi, CURLMOPT_SOCKETFUNCTION, register_socket);
    api.multi_setopt(multi->multi, CURLMOPT_SOCKETDATA, multi);
    api.multi_setopt(multi->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    api.multi_setopt(multi->multi, CURLMOPT_TIMERDATA, multi);
    return multi;
}

int nwp_multi_add(struct nwp_multi *multi, struct nwp_curl *request) {
    return api.multi_add(multi->multi, request->easy) == CURLM_OK ? 0 : -1;
}

void nwp_multi_remove(struct nwp_multi *multi, struct nwp_curl *request) {
    api.multi_remove(multi->multi, request->easy);
}

void nwp_multi_act(struct nwp_multi *multi, int descriptor, int events) {
    int running = 0;
    api.multi_action(multi->multi, descriptor < 0 ? CURL_SOCKET_TIMEOUT : descriptor, events, &running);
}

struct nwp_curl *nwp_multi_next(struct nwp_multi *multi, enum nwp_curl_result *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = api.multi_read(multi->multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        struct nwp_curl *request = 0;
        api.getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
        *result = nwp_curl_classify(request, message->data.result);
        return request;
    }
    return 0;
}

void nwp_multi_close(struct nwp_multi *multi) {
    api.multi_cleanup(multi->multi);
    free(multi);
}
