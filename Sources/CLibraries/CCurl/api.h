// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// The functions of libcurl, found when it is loaded; shared by the files of this target only.
#ifndef NWP_CURL_API_H
#define NWP_CURL_API_H

#include "CCurl.h"

#include <curl/curl.h>

// The macros of curl.h check types against the linked functions, which are not linked here.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct nwp_curl_api {
    void *library;
    CURLcode (*global_init)(long);
    CURL *(*init)(void);
    CURLcode (*setopt)(CURL *, CURLoption, ...);
    CURLcode (*getinfo)(CURL *, CURLINFO, ...);
    CURLcode (*perform)(CURL *);
    void (*cleanup)(CURL *);
    struct curl_slist *(*append)(struct curl_slist *, const char *);
    void (*free_all)(struct curl_slist *);
    const char *(*text)(CURLcode);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_setopt)(CURLM *, CURLMoption, ...);
    CURLMcode (*multi_add)(CURLM *, CURL *);
    CURLMcode (*multi_remove)(CURLM *, CURL *);
    CURLMcode (*multi_action)(CURLM *, curl_socket_t, int, int *);
    CURLMsg *(*multi_read)(CURLM *, int *);
    CURLMcode (*multi_cleanup)(CURLM *);
};

extern struct nwp_curl_api nwp_curl_api;
#define api nwp_curl_api

struct nwp_curl {
    CURL *easy;
    struct curl_slist *fields;
    struct curl_slist *pinned;
    nwp_curl_sink head;
    nwp_curl_sink body;
    nwp_curl_prepare prepare;
    nwp_curl_give give;
    void (*tick)(void *context);
    void *context;
    CURLcode code;
    char error[CURL_ERROR_SIZE];
    char proxy[512];
};

/// What a finished request came to.
enum nwp_curl_result nwp_curl_classify(struct nwp_curl *request, CURLcode code);

#endif
