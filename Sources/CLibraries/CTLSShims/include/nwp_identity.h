// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
// Keys by which programs know one another without an authority, by OpenSSL: Ed25519 (RFC 8032) in certificates that
// are self-signed, proofs that belong to one TLS connection, and datagrams sealed with its keys.
#ifndef NWP_IDENTITY_H
#define NWP_IDENTITY_H

#include "nwp_tls.h"

enum { NWP_DIGEST = 32, NWP_SEED = 32, NWP_TAG = 16, NWP_NONCE = 12 };

/// SHA-256. Returns 0, or -1 when there is no memory.
int nwp_digest(const void *bytes, size_t count, uint8_t digest[NWP_DIGEST]);
/// SHA-256 of the public key in a certificate in DER (SubjectPublicKeyInfo). Returns 0, or -1 when it is none.
int nwp_certificate_key(const uint8_t *certificate, size_t count, uint8_t digest[NWP_DIGEST]);
/// Makes the certificate of a private key of Ed25519 (RFC 8032 section 5.1.5), which signs itself and is valid at all
/// times, and the key's own text, both as PEM. Returns 0, or -1 when a buffer is too small, which ends with a 0.
int nwp_identity_make(const uint8_t seed[NWP_SEED], char *certificate, size_t certificate_capacity, char *key,
                      size_t key_capacity);
/// SHA-256 of its public key, as of that in its certificate. Returns 0 or -1.
int nwp_identity_key(const uint8_t seed[NWP_SEED], uint8_t digest[NWP_DIGEST]);

/// Bytes that both ends of a TLS connection know and nobody else (RFC 8446 section 7.5). Returns 0 or -1.
int nwp_tls_export(struct nwp_tls *tls, const char *label, uint8_t *bytes, size_t count);

/// Signs bytes by a private key in PEM. Returns the length of the signature, or -1.
long nwp_sign(const char *key, size_t key_length, const void *bytes, size_t count, uint8_t *signature, size_t capacity);
/// Whether the key of a certificate in DER has signed these bytes.
int nwp_verify(const uint8_t *certificate, size_t certificate_length, const void *bytes, size_t count,
               const uint8_t *signature, size_t signature_length);
/// The certificates of a text in PEM, in DER: the one at `position`. Returns its length, and fills in what fits; 0 when
/// there is none at this position, -1 when it cannot be read.
long nwp_certificate_at(const char *pem, size_t pem_length, int position, uint8_t *buffer, size_t capacity);

/// Seals bytes by ChaCha20-Poly1305 (RFC 8439); `sealed` needs NWP_TAG bytes more than `count`. Returns 0 or -1.
int nwp_seal(const uint8_t key[NWP_SEED], const uint8_t nonce[NWP_NONCE], const void *header, size_t header_length,
             const void *bytes, size_t count, uint8_t *sealed);
/// Opens what was sealed; `bytes` needs NWP_TAG bytes less than `count`. Returns 0, or -1 when it was not sealed so.
int nwp_open(const uint8_t key[NWP_SEED], const uint8_t nonce[NWP_NONCE], const void *header, size_t header_length,
             const uint8_t *sealed, size_t count, uint8_t *bytes);

#endif
