// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// One end of a TLS or DTLS connection by OpenSSL, without a socket: bytes of the wire in, bytes for the wire out.
// With DTLS they are datagrams: one in each call.
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
    /// Whether the peer must have a certificate that is valid; servers request one then.
    int verifies;
    /// Whether a certificate that is not valid is left for the program to evaluate.
    int decides_later;
    /// Whether the peer must have a certificate, whichever it is, and prove that it has the key: for programs that know
    /// keys. No authority is used.
    int accepts_any;
    /// How long a datagram of the handshake of DTLS may be, in bytes, from 280 to 4096; 0 is TLS.
    int longest_datagram;
};

/// Why something failed.
struct nwp_tls_failure {
    /// X509_V_ERR_*; 0 when the certificate was fine, or not verified.
    int verification;
    /// The alert that the peer sent; -1 is none.
    int alert;
    /// SSL_R_* of the library.
    int reason;
};

/// Makes one end. Returns NULL when the options make no sense (`failure` is SSL_R_*), such as a key that is not that
/// of the certificate.
struct nwp_tls *nwp_tls_create(const struct nwp_tls_options *options, struct nwp_tls_failure *failure);
/// Frees it.
void nwp_tls_free(struct nwp_tls *tls);
/// Passes in bytes of the wire; a datagram only when the one before was read as far as it goes.
void nwp_tls_feed(struct nwp_tls *tls, const void *bytes, size_t count);
/// How many bytes are for the wire; of DTLS those of the next datagram.
size_t nwp_tls_output(struct nwp_tls *tls);
/// Copies bytes for the wire. Returns their number.
size_t nwp_tls_drain(struct nwp_tls *tls, void *buffer, size_t capacity);
/// Requests a cookie from a client of DTLS whose first datagram this is, or finds the right one in it, by a server that
/// has talked to nobody and goes on with nobody (RFC 6347 section 4.2.1). Returns whether it does.
int nwp_tls_admit(struct nwp_tls *tls, const void *bytes, size_t count, const void *peer, size_t peer_length);
/// In how many microseconds the handshake is to go on, because the peer may not have got what was said last; -1 never.
long nwp_tls_timeout(struct nwp_tls *tls);
/// How much content fits into a datagram of this length, once the handshake of DTLS is over.
size_t nwp_tls_room(struct nwp_tls *tls, size_t datagram);
/// Goes on with the handshake, and says again what is due. Returns 1 when it is over, 0 when the peer has to answer, -1
/// when it failed.
int nwp_tls_handshake(struct nwp_tls *tls, struct nwp_tls_failure *failure);
/// Reads content, of DTLS that of one record at most. Returns the number of bytes, 0 when the peer has sent all, -1 when
/// more of the wire is needed, -2 when the connection failed.
long nwp_tls_read(struct nwp_tls *tls, void *buffer, size_t capacity, struct nwp_tls_failure *failure);
/// Writes content, all of it, and with DTLS in one record, of at most 16384 bytes. Returns 0, or -1 when the connection
/// failed.
int nwp_tls_write(struct nwp_tls *tls, const void *bytes, size_t count, struct nwp_tls_failure *failure);
/// Sends a close-notify alert.
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
/// none at this index.
size_t nwp_tls_certificate(struct nwp_tls *tls, int index, uint8_t *buffer, size_t capacity);

#endif
