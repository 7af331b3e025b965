// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#include "api.h"

static size_t give_body(char *bytes, size_t size, size_t count, void *context) {
    struct nwp_curl *request = context;
    size_t given = request->give(request->context, bytes, size * count);
    return given ? given : CURL_READFUNC_PAUSE;
}

void nwp_curl_upload(struct nwp_curl *request, long size, nwp_curl_give give) {
    request->give = give;
    api.setopt(request->easy, CURLOPT_POST, 1L);
    api.setopt(request->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size + 1);
    api.setopt(request->easy, CURLOPT_READFUNCTION, give_body);
    api.setopt(request->easy, CURLOPT_READDATA, request);
    nwp_curl_header(request, "Content-Type: application/octet-stream");
    // No "Expect: 100-continue": it costs a round trip, or a second without an answer.
    nwp_curl_header(request, "Expect:");
}

void nwp_curl_keep(struct nwp_curl *request) {
    api.setopt(request->easy, CURLOPT_FRESH_CONNECT, 0L);
    api.setopt(request->easy, CURLOPT_FORBID_REUSE, 0L);
}

static long timing(struct nwp_curl *request, CURLINFO info) {
    curl_off_t microseconds = 0;
    api.getinfo(request->easy, info, &microseconds);
    return (long)microseconds;
}

void nwp_curl_timings(struct nwp_curl *request, struct nwp_curl_timings *timings) {
    timings->resolved = timing(request, CURLINFO_NAMELOOKUP_TIME_T);
    timings->connected = timing(request, CURLINFO_CONNECT_TIME_T);
    timings->secured = timing(request, CURLINFO_APPCONNECT_TIME_T);
    timings->ready = timing(request, CURLINFO_PRETRANSFER_TIME_T);
    timings->answered = timing(request, CURLINFO_STARTTRANSFER_TIME_T);
}
