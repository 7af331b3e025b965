// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#include "api.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct nwp_curl_api nwp_curl_api;

static char load_error[256];

static int resolve(void **slot, const char *name) {
    *slot = dlsym(api.library, name);
    return *slot ? 0 : -1;
}

static int load(void) {
    if (api.library) return 0;
    api.library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    int failed = !api.library;
    if (!failed) {
        failed |= resolve((void **)&api.global_init, "curl_global_init");
        failed |= resolve((void **)&api.init, "curl_easy_init");
        failed |= resolve((void **)&api.setopt, "curl_easy_setopt");
        failed |= resolve((void **)&api.getinfo, "curl_easy_getinfo");
        failed |= resolve((void **)&api.perform, "curl_easy_perform");
        failed |= resolve((void **)&api.cleanup, "curl_easy_cleanup");
        failed |= resolve((void **)&api.append, "curl_slist_append");
        failed |= resolve((void **)&api.free_all, "curl_slist_free_all");
        failed |= resolve((void **)&api.text, "curl_easy_strerror");
        failed |= resolve((void **)&api.multi_init, "curl_multi_init");
        failed |= resolve((void **)&api.multi_setopt, "curl_multi_setopt");
        failed |= resolve((void **)&api.multi_add, "curl_multi_add_handle");
        failed |= resolve((void **)&api.multi_remove, "curl_multi_remove_handle");
        failed |= resolve((void **)&api.multi_action, "curl_multi_socket_action");
        failed |= resolve((void **)&api.multi_read, "curl_multi_info_read");
        failed |= resolve((void **)&api.multi_cleanup, "curl_multi_cleanup");
        if (!failed) failed = api.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK;
    }
    if (!failed) return 0;
    const char *reason = dlerror();
    strncpy(load_error, reason ? reason : "curl_global_init failed", sizeof load_error - 1);
    if (api.library) dlclose(api.library);
    api.library = 0;
    return -1;
}

int nwp_curl_load(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int code = load();
    pthread_mutex_unlock(&lock);
    return code;
}

const char *nwp_curl_load_error(void) { return load_error; }

static size_t receive_head(char *bytes, size_t size, size_t count, void *context) {
    struct nwp_curl *request = context;
    return request->head(request->context, bytes, size * count) ? size * count : 0;
}

static size_t receive_body(char *bytes, size_t size, size_t count, void *context) {
    struct nwp_curl *request = context;
    return request->body(request->context, bytes, size * count) ? size * count : 0;
}

// libcurl's own sockets are inherited by programs that the process starts, and stay connected as long as those run.
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)context;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// libcurl knows the file of the distribution that built it, and may be carried to another one: Debian, Fedora, openSUSE.
static const char *system_authorities(void) {
    static const char *const paths[] = {
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/ca-bundle.pem",
    };
    for (size_t index = 0; index < sizeof paths / sizeof *paths; index++)
        if (!access(paths[index], R_OK)) return paths[index];
    return 0;
}

struct nwp_curl *nwp_curl_open(const char *url) {
    struct nwp_curl *request = calloc(1, sizeof *request);
    if (!request) return 0;
    request->easy = api.init();
    if (!request->easy) {
        free(request);
        return 0;
    }
    api.setopt(request->easy, CURLOPT_URL, url);
    api.setopt(request->easy, CURLOPT_ERRORBUFFER, request->error);
    api.setopt(request->easy, CURLOPT_NOSIGNAL, 1L);
    api.setopt(request->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    api.setopt(request->easy, CURLOPT_FOLLOWLOCATION, 0L);
    api.setopt(request->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    api.setopt(request->easy, CURLOPT_HEADERFUNCTION, receive_head);
    api.setopt(request->easy, CURLOPT_HEADERDATA, request);
    api.setopt(request->easy, CURLOPT_WRITEFUNCTION, receive_body);
    api.setopt(request->easy, CURLOPT_WRITEDATA, request);
    const char *authorities = strncasecmp(url, "https:", 6) ? 0 : system_authorities();
    if (authorities) api.setopt(request->easy, CURLOPT_CAINFO, authorities);
    return request;
}

void nwp_curl_unix_socket(struct nwp_curl *request, const char *path) {
    api.setopt(request->easy, CURLOPT_UNIX_SOCKET_PATH, path);
}

void nwp_curl_without_proxy(struct nwp_curl *request) { api.setopt(request->easy, CURLOPT_PROXY, ""); }

// CURLINFO_USED_PROXY says only whether there was one, and only since libcurl 8.7.
static int note_proxy(CURL *easy, curl_infotype type, char *text, size_t count, void *context) {
    static const char beginning[] = "Uses proxy env variable ";
    const size_t skipped = sizeof beginning - 1;
    struct nwp_curl *request = context;
    (void)easy;
    if (type != CURLINFO_TEXT || count <= skipped || memcmp(text, beginning, skipped)) return 0;
    text += skipped;
    count -= skipped;
    // Its exceptions are noted in the same words.
    if (count >= 8 && !strncasecmp(text, "no_proxy", 8)) return 0;
    if (count >= sizeof request->proxy) count = sizeof request->proxy - 1;
    memcpy(request->proxy, text, count);
    request->proxy[count] = 0;
    return 0;
}

void nwp_curl_note_proxy(struct nwp_curl *request) {
    api.setopt(request->easy, CURLOPT_DEBUGFUNCTION, note_proxy);
    api.setopt(request->easy, CURLOPT_DEBUGDATA, request);
    api.setopt(request->easy, CURLOPT_VERBOSE, 1L);
}

const char *nwp_curl_proxy(struct nwp_curl *request) { return request->proxy; }

void nwp_curl_authorities(struct nwp_curl *request, const char *path) {
    api.setopt(request->easy, CURLOPT_CAINFO, path);
}

void nwp_curl_post(struct nwp_curl *request, const char *body, size_t count) {
    api.setopt(request->easy, CURLOPT_POSTFIELDSIZE, (long)count);
    api.setopt(request->easy, CURLOPT_COPYPOSTFIELDS, body ? body : "");
}

void nwp_curl_header(struct nwp_curl *request, const char *field) {
    request->fields = api.append(request->fields, field);
    api.setopt(request->easy, CURLOPT_HTTPHEADER, request->fields);
}

void nwp_curl_timeout(struct nwp_curl *request, long connecting, long whole) {
    if (connecting) api.setopt(request->easy, CURLOPT_CONNECTTIMEOUT_MS, connecting);
    if (whole) {
        api.setopt(request->easy, CURLOPT_TIMEOUT_MS, whole);
    } else {
        api.setopt(request->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        api.setopt(request->easy, CURLOPT_LOW_SPEED_TIME, 45L);
    }
}

static int check_progress(void *context, curl_off_t down, curl_off_t here, curl_off_t up, curl_off_t there) {
    (void)down, (void)here, (void)up, (void)there;
    struct nwp_curl *request = context;
    request->tick(request->context);
    return 0;
}

void nwp_curl_tick(struct nwp_curl *request, void (*tick)(void *context)) {
    request->tick = tick;
    api.setopt(request->easy, CURLOPT_NOPROGRESS, 0L);
    api.setopt(request->easy, CURLOPT_XFERINFODATA, request);
    api.setopt(request->easy, CURLOPT_XFERINFOFUNCTION, check_progress);
}

enum nwp_curl_result nwp_curl_perform(struct nwp_curl *request, nwp_curl_sink head, nwp_curl_sink body, void *context) {
    request->head = head;
    request->body = body;
    request->context = context;
    return nwp_curl_classify(request, api.perform(request->easy));
}

enum nwp_curl_result nwp_curl_classify(struct nwp_curl *request, CURLcode code) {
    if (code != CURLE_OK && !request->error[0])
        strncpy(request->error, api.text(code), sizeof request->error - 1);
    long number = 0;
    request->code = code;
    switch (code) {
    case CURLE_OK: return NWP_CURL_OK;
    case CURLE_WRITE_ERROR: return NWP_CURL_STOPPED;
    case CURLE_OPERATION_TIMEDOUT: return NWP_CURL_TIMED_OUT;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST: return NWP_CURL_UNREACHABLE;
    case CURLE_COULDNT_CONNECT:
        api.getinfo(request->easy, CURLINFO_OS_ERRNO, &number);
        // libcurl speaks of a port even when there is only a socket.
        if (number) snprintf(request->error, sizeof request->error, "%s", strerror((int)number));
        return number == EACCES || number == EPERM ? NWP_CURL_DENIED : NWP_CURL_UNREACHABLE;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_INVALIDCERTSTATUS: return NWP_CURL_UNTRUSTED;
    default: return NWP_CURL_FAILED;
    }
}

long nwp_curl_status(struct nwp_curl *request) {
    long status = 0;
    api.getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

const char *nwp_curl_error(struct nwp_curl *request) { return request->error; }

void nwp_curl_close(struct nwp_curl *request) {
    api.free_all(request->fields);
    api.free_all(request->pinned);
    api.cleanup(request->easy);
    free(request);
}
