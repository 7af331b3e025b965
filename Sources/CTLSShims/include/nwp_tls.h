// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// One end of a TLS connection by OpenSSL, without a socket: bytes of the wire in, bytes for the wire out.
#ifndef NWP_TLS_H
#define NWP_TLS_H

#include <stddef.h>
#include <stdint.h>

struct nwp_tls;

/// How one end behaves; what a pointer points at is needed during the call only.
struct nwp_tls_options {
    /// The peer's name, or its address as text; NULL is none. Servers have none.
    const char *server_name;
    /// What is spoken on top (ALPN), each with its length before it, the dearest first.
    const uint8_t *protocols;
    size_t protocols_length;
    /// PEM: our certificates, the leaf first; length 0 is none.
    const char *certificates;
    size_t certificates_length;
    /// PEM: the private key of the leaf.
    const char *key;
    size_t key_length;
    /// PEM: the authorities to be trusted instead of those of the system; length 0 leaves it at those.
    const char *authorities;
    size_t authorities_length;
    /// As on the wire, such as 0x0303 for TLS 1.2; 0 is the default.
    int lowest_version;
    int highest_version;
    int is_server;
    /// Whether the peer must have a certificate that is valid; servers ask for one then.
    int verifies;
    /// Whether a certificate that is not valid is left for the program to judge.
    int decides_later;
};

/// Why something failed.
struct nwp_tls_failure {
    /// X509_V_ERR_*; 0 when the certificate was fine, or not looked at.
    int verification;
    /// The alert that the peer sent; -1 is none.
    int alert;
    /// SSL_R_* of the library.
    int reason;
};

/// Makes one end. Returns NULL when the options make no sense (`failure` tells SSL_R_*), such as a key that is not that
/// of the certificate.
struct nwp_tls *nwp_tls_create(const struct nwp_tls_options *options, struct nwp_tls_failure *failure);
/// Frees it.
void nwp_tls_free(struct nwp_tls *tls);
/// Takes bytes of the wire.
void nwp_tls_feed(struct nwp_tls *tls, const void *bytes, size_t count);
/// How many bytes are for the wire.
size_t nwp_tls_output(struct nwp_tls *tls);
/// Takes bytes for the wire. Returns their number.
size_t nwp_tls_take(struct nwp_tls *tls, void *buffer, size_t capacity);
/// Goes on with the handshake. Returns 1 when it is over, 0 when the peer has to answer, -1 when it failed.
int nwp_tls_handshake(struct nwp_tls *tls, struct nwp_tls_failure *failure);
/// Reads content. Returns the number of bytes, 0 when the peer has sent all, -1 when more of the wire is needed, -2 when
/// the connection failed.
long nwp_tls_read(struct nwp_tls *tls, void *buffer, size_t capacity, struct nwp_tls_failure *failure);
/// Writes content, all of it. Returns 0, or -1 when the connection failed.
int nwp_tls_write(struct nwp_tls *tls, const void *bytes, size_t count, struct nwp_tls_failure *failure);
/// Tells the peer that nothing follows.
void nwp_tls_finish(struct nwp_tls *tls);
/// What the checks of the peer's certificate said (X509_V_*); 0 is fine.
int nwp_tls_verification(struct nwp_tls *tls);
/// The words for that.
const char *nwp_tls_verification_text(int code);
/// The version on the wire, such as 0x0304.
int nwp_tls_version(struct nwp_tls *tls);
/// The number of the cipher suite; 0 before there is one.
uint16_t nwp_tls_cipher(struct nwp_tls *tls);
/// What both ends agreed to speak on top. Returns its length, 0 when nothing.
size_t nwp_tls_protocol(struct nwp_tls *tls, const uint8_t **bytes);
/// A certificate of the peer's chain in DER, the leaf first. Returns its length, and fills in what fits; 0 when there is
/// none at this place.
size_t nwp_tls_certificate(struct nwp_tls *tls, int place, uint8_t *buffer, size_t capacity);

#endif
