// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#include "tls.h"

#include <arpa/inet.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

static void explain(struct nwp_tls *tls, struct nwp_tls_failure *failure) {
    unsigned long code = ERR_peek_last_error();
    int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    failure->verification = tls ? (int)SSL_get_verify_result(tls->ssl) : X509_V_OK;
    failure->alert = reason >= SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : -1;
    failure->reason = reason ? reason : (int)ERR_GET_REASON(code);
    ERR_clear_error();
}

static int accept_for_now(int is_valid, X509_STORE_CTX *context) {
    (void)is_valid;
    (void)context;
    return 1;
}

static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
                           unsigned int count, void *argument) {
    (void)ssl;
    const struct nwp_tls *tls = argument;
    unsigned char *found = NULL;
    int result = SSL_select_next_proto(&found, length, tls->protocols, (unsigned)tls->protocols_length, offered, count);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static BIO *text(const char *bytes, size_t count) {
    return count <= INT_MAX ? BIO_new_mem_buf(bytes, (int)count) : NULL;
}

static int use_identity(SSL_CTX *context, const struct nwp_tls_options *options) {
    BIO *bio = text(options->certificates, options->certificates_length);
    X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    int is_used = certificate && SSL_CTX_use_certificate(context, certificate) == 1;
    X509_free(certificate);
    while (is_used && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        is_used = SSL_CTX_add1_chain_cert(context, certificate) == 1;
        X509_free(certificate);
    }
    BIO_free(bio);
    // Reading stops at the end of the text, which is no error.
    if (is_used) ERR_clear_error();
    bio = is_used ? text(options->key, options->key_length) : NULL;
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
    is_used = key && SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_check_private_key(context) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    return is_used;
}

static int trust(SSL_CTX *context, const struct nwp_tls_options *options) {
    if (!options->authorities_length) return SSL_CTX_set_default_verify_paths(context) == 1;
    BIO *bio = text(options->authorities, options->authorities_length);
    X509 *certificate;
    int count = 0;
    while (bio && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        count += X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate) == 1;
        X509_free(certificate);
    }
    BIO_free(bio);
    ERR_clear_error();
    return count > 0;
}

static unsigned int make_cookie(const struct nwp_tls *tls, unsigned char *cookie) {
    unsigned int length = 0;
    HMAC(EVP_sha256(), tls->secret, sizeof tls->secret, tls->peer, tls->peer_length, cookie, &length);
    return length;
}

static int hand_out_cookie(SSL *ssl, unsigned char *cookie, unsigned int *length) {
    *length = make_cookie(SSL_get_app_data(ssl), cookie);
    return *length > 0;
}

static int check_cookie(SSL *ssl, const unsigned char *cookie, unsigned int length) {
    const struct nwp_tls *tls = SSL_get_app_data(ssl);
    if (!tls->peer_length) return 1;
    unsigned char right[EVP_MAX_MD_SIZE];
    return make_cookie(tls, right) == length && CRYPTO_memcmp(cookie, right, length) == 0;
}

static const SSL_METHOD *method(const struct nwp_tls_options *options) {
    if (options->longest_datagram) return options->is_server ? DTLS_server_method() : DTLS_client_method();
    return options->is_server ? TLS_server_method() : TLS_client_method();
}

static SSL_CTX *make_context(const struct nwp_tls_options *options) {
    SSL_CTX *context = SSL_CTX_new(method(options));
    if (!context) return NULL;
    int usual = options->longest_datagram ? DTLS1_2_VERSION : TLS1_2_VERSION;
    int lowest = options->lowest_version ? options->lowest_version : usual;
    int is_sound = SSL_CTX_set_min_proto_version(context, lowest) == 1 &&
                   SSL_CTX_set_max_proto_version(context, options->highest_version) == 1;
    if (is_sound && options->verifies) is_sound = trust(context, options);
    if (is_sound && options->certificates_length) is_sound = use_identity(context, options);
    if (is_sound) {
        int requests_certificate = options->verifies || options->accepts_any;
        int is_lenient = options->accepts_any || (options->verifies && options->decides_later);
        int mode = requests_certificate ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_NONE;
        SSL_CTX_set_verify(context, mode, is_lenient ? accept_for_now : NULL);
        // Nobody comes back with a ticket to whom keys say everything.
        if (options->accepts_any) SSL_CTX_set_num_tickets(context, 0);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        // The peer gets the certificates that the program gave, and none of those that are trusted.
        SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
        SSL_CTX_set_cookie_generate_cb(context, hand_out_cookie);
        SSL_CTX_set_cookie_verify_cb(context, check_cookie);
        return context;
    }
    SSL_CTX_free(context);
    return NULL;
}

static int name_peer(SSL *ssl, const char *name, int verifies) {
    unsigned char address[16];
    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1) {
        return !verifies || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    }
    if (SSL_set_tlsext_host_name(ssl, name) != 1) return 0;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return !verifies || SSL_set1_host(ssl, name) == 1;
}

static int set_protocols(struct nwp_tls *tls, SSL_CTX *context, const struct nwp_tls_options *options) {
    if (!options->protocols_length) return 1;
    if (!options->is_server) {
        return SSL_CTX_set_alpn_protos(context, options->protocols, (unsigned)options->protocols_length) == 0;
    }
    tls->protocols = malloc(options->protocols_length);
    if (!tls->protocols) return 0;
    memcpy(tls->protocols, options->protocols, options->protocols_length);
    tls->protocols_length = options->protocols_length;
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, tls);
    return 1;
}

/// Puts the length of each datagram before it, so that memory keeps them apart.
static int write_datagram(BIO *bio, const char *bytes, int count) {
    uint32_t length = (uint32_t)count;
    BIO_clear_retry_flags(bio);
    if (BIO_write(BIO_next(bio), &length, sizeof length) != sizeof length) return -1;
    return BIO_write(BIO_next(bio), bytes, count);
}

static long control_datagrams(BIO *bio, int command, long number, void *pointer) {
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *datagrams;
static CRYPTO_ONCE datagrams_once = CRYPTO_ONCE_STATIC_INIT;

static void make_datagrams(void) {
    datagrams = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_FILTER, "datagrams");
    if (!datagrams) return;
    BIO_meth_set_write(datagrams, write_datagram);
    BIO_meth_set_ctrl(datagrams, control_datagrams);
}

static int set_wire(struct nwp_tls *tls) {
    tls->input = BIO_new(BIO_s_mem());
    tls->output = BIO_new(BIO_s_mem());
    BIO *wire = tls->output;
    if (tls->longest_datagram) {
        BIO *filter = CRYPTO_THREAD_run_once(&datagrams_once, make_datagrams) && datagrams ? BIO_new(datagrams) : NULL;
        wire = filter && tls->output ? BIO_push(filter, tls->output) : NULL;
        if (!wire) BIO_free(filter);
    }
    if (!tls->input || !wire) {
        BIO_free(tls->input);
        BIO_free(tls->output);
        return 0;
    }
    SSL_set_bio(tls->ssl, tls->input, wire);
    // An empty input is one that waits, not one that has ended.
    BIO_set_mem_eof_return(tls->input, -1);
    return 1;
}

/// Sets the maximum length of datagrams of the handshake. What ciphers with a MAC add, a nonce of 8 bytes and 16 of
/// the MAC, is not counted by the library (dtls1_do_write).
static int set_longest(struct nwp_tls *tls) { return SSL_set_mtu(tls->ssl, tls->longest_datagram - 24) > 0; }

static int prepare_datagrams(struct nwp_tls *tls, const struct nwp_tls_options *options) {
    tls->is_admitted = !options->is_server;
    tls->peer = "";
    SSL_set_app_data(tls->ssl, tls);
    // No session is resumed, so that tickets would only make the handshake longer.
    SSL_set_options(tls->ssl, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    return set_longest(tls) && RAND_bytes(tls->secret, sizeof tls->secret) == 1;
}

struct nwp_tls *nwp_tls_create(const struct nwp_tls_options *options, struct nwp_tls_failure *failure) {
    ERR_clear_error();
    struct nwp_tls *tls = calloc(1, sizeof *tls);
    SSL_CTX *context = tls ? make_context(options) : NULL;
    if (context && set_protocols(tls, context, options)) tls->ssl = SSL_new(context);
    // The connection keeps its context.
    SSL_CTX_free(context);
    if (tls && tls->ssl) {
        tls->longest_datagram = options->longest_datagram;
        int is_sound = set_wire(tls) && (!tls->longest_datagram || prepare_datagrams(tls, options));
        if (options->is_server) SSL_set_accept_state(tls->ssl);
        else SSL_set_connect_state(tls->ssl);
        if (is_sound && options->server_name) is_sound = name_peer(tls->ssl, options->server_name, options->verifies);
        if (is_sound) return tls;
    }
    explain(NULL, failure);
    if (tls) nwp_tls_free(tls);
    return NULL;
}

void nwp_tls_free(struct nwp_tls *tls) {
    SSL_free(tls->ssl);
    free(tls->protocols);
    free(tls);
}

void nwp_tls_feed(struct nwp_tls *tls, const void *bytes, size_t count) {
    size_t written;
    // What is left of a datagram belongs to no other.
    if (tls->longest_datagram && BIO_ctrl_pending(tls->input)) BIO_reset(tls->input);
    if (count) BIO_write_ex(tls->input, bytes, count, &written);
}

size_t nwp_tls_output(struct nwp_tls *tls) {
    if (!tls->longest_datagram) return BIO_ctrl_pending(tls->output);
    if (!tls->next && BIO_read(tls->output, &tls->next, sizeof tls->next) != sizeof tls->next) tls->next = 0;
    return tls->next;
}

size_t nwp_tls_drain(struct nwp_tls *tls, void *buffer, size_t capacity) {
    size_t count = 0;
    tls->next = 0;
    return BIO_read_ex(tls->output, buffer, capacity, &count) == 1 ? count : 0;
}

/// Finds a cookie in the client's hello, and requests one if there is none.
static int admit(struct nwp_tls *tls) {
    ERR_clear_error();
    BIO_ADDR *nobody = BIO_ADDR_new();
    int result = nobody ? DTLSv1_listen(tls->ssl, nobody) : -1;
    BIO_ADDR_free(nobody);
    ERR_clear_error();
    return result == 1;
}

int nwp_tls_admit(struct nwp_tls *tls, const void *bytes, size_t count, const void *peer, size_t peer_length) {
    tls->peer = peer;
    tls->peer_length = peer_length;
    nwp_tls_feed(tls, bytes, count);
    int result = admit(tls);
    tls->peer = "";
    tls->peer_length = 0;
    return result;
}

long nwp_tls_timeout(struct nwp_tls *tls) {
    struct timeval left;
    return DTLSv1_get_timeout(tls->ssl, &left) == 1 ? left.tv_sec * 1000000L + left.tv_usec : -1;
}

size_t nwp_tls_room(struct nwp_tls *tls, size_t datagram) {
    SSL_set_mtu(tls->ssl, (long)datagram);
    size_t room = DTLS_get_data_mtu(tls->ssl);
    set_longest(tls);
    return room;
}

int nwp_tls_handshake(struct nwp_tls *tls, struct nwp_tls_failure *failure) {
    if (tls->longest_datagram && !tls->is_admitted) {
        tls->is_admitted = admit(tls);
        if (!tls->is_admitted) return 0;
    }
    ERR_clear_error();
    int result = SSL_do_handshake(tls->ssl);
    if (result == 1) return 1;
    if (SSL_get_error(tls->ssl, result) == SSL_ERROR_WANT_READ) return 0;
    explain(tls, failure);
    return -1;
}

long nwp_tls_read(struct nwp_tls *tls, void *buffer, size_t capacity, struct nwp_tls_failure *failure) {
    ERR_clear_error();
    size_t count = 0;
    int result = SSL_read_ex(tls->ssl, buffer, capacity, &count);
    if (result == 1) return (long)count;
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_WANT_READ: return -1;
    default: explain(tls, failure); return -2;
    }
}

int nwp_tls_write(struct nwp_tls *tls, const void *bytes, size_t count, struct nwp_tls_failure *failure) {
    ERR_clear_error();
    size_t written = 0;
    // A memory BIO accepts everything, so that one call writes all.
    if (!count || SSL_write_ex(tls->ssl, bytes, count, &written) == 1) return 0;
    explain(tls, failure);
    return -1;
}

void nwp_tls_finish(struct nwp_tls *tls) {
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
    ERR_clear_error();
}

int nwp_tls_verification(struct nwp_tls *tls) { return (int)SSL_get_verify_result(tls->ssl); }

const char *nwp_tls_verification_text(int code) { return X509_verify_cert_error_string(code); }

int nwp_tls_version(struct nwp_tls *tls) { return SSL_version(tls->ssl); }

uint16_t nwp_tls_cipher(struct nwp_tls *tls) {
    const SSL_CIPHER *cipher = SSL_get_current_cipher(tls->ssl);
    return cipher ? SSL_CIPHER_get_protocol_id(cipher) : 0;
}

size_t nwp_tls_protocol(struct nwp_tls *tls, const uint8_t **bytes) {
    unsigned int count = 0;
    SSL_get0_alpn_selected(tls->ssl, bytes, &count);
    return count;
}

size_t nwp_tls_certificate(struct nwp_tls *tls, int index, uint8_t *buffer, size_t capacity) {
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(tls->ssl);
    X509 *certificate;
    // A server's chain lacks the leaf (SSL_get_peer_cert_chain(3)).
    if (SSL_is_server(tls->ssl)) {
        certificate = index == 0 ? SSL_get0_peer_certificate(tls->ssl) : chain ? sk_X509_value(chain, index - 1) : NULL;
    } else {
        certificate = chain ? sk_X509_value(chain, index) : NULL;
    }
    if (!certificate) return 0;
    int count = i2d_X509(certificate, NULL);
    if (count <= 0) return 0;
    if ((size_t)count <= capacity) {
        uint8_t *cursor = buffer;
        i2d_X509(certificate, &cursor);
    }
    return (size_t)count;
}
