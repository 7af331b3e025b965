// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#ifndef NWP_TLS_PRIVATE_H
#define NWP_TLS_PRIVATE_H

#include "nwp_tls.h"

#include <openssl/ssl.h>

struct nwp_tls {
    SSL *ssl;
    /// From the wire and to it; they belong to `ssl`.
    BIO *input, *output;
    uint8_t *protocols;
    size_t protocols_length;
    /// Of DTLS: how long a datagram of the handshake may be; 0 is TLS.
    int longest_datagram;
    /// The length of the datagram that is read next; 0 when there is none, or it is not known yet.
    uint32_t next;
    /// Whether a client of DTLS may go on, because its first word has a cookie.
    int is_admitted;
    /// What cookies are made with.
    uint8_t secret[32];
    /// Whom a cookie is for; of length 0 when it was verified elsewhere.
    const void *peer;
    size_t peer_length;
};

#endif
