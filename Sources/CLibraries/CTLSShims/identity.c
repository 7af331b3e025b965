// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#include "nwp_identity.h"
#include "tls.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

int nwp_digest(const void *bytes, size_t count, uint8_t digest[NWP_DIGEST]) {
    return EVP_Digest(bytes, count, digest, NULL, EVP_sha256(), NULL) == 1 ? 0 : -1;
}

static int digest_key(EVP_PKEY *key, uint8_t digest[NWP_DIGEST]) {
    uint8_t *info = NULL;
    int count = key ? i2d_PUBKEY(key, &info) : 0;
    int result = count > 0 ? nwp_digest(info, (size_t)count, digest) : -1;
    OPENSSL_free(info);
    return result;
}

static X509 *read_certificate(const uint8_t *certificate, size_t count) {
    const uint8_t *cursor = certificate;
    X509 *read = count <= LONG_MAX ? d2i_X509(NULL, &cursor, (long)count) : NULL;
    // Nothing may follow that was not parsed.
    if (read && cursor != certificate + count) {
        X509_free(read);
        read = NULL;
    }
    return read;
}

int nwp_certificate_key(const uint8_t *certificate, size_t count, uint8_t digest[NWP_DIGEST]) {
    X509 *read = read_certificate(certificate, count);
    int result = read ? digest_key(X509_get0_pubkey(read), digest) : -1;
    X509_free(read);
    ERR_clear_error();
    return result;
}

static EVP_PKEY *key_of(const uint8_t seed[NWP_SEED]) {
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, NWP_SEED);
}

int nwp_identity_key(const uint8_t seed[NWP_SEED], uint8_t digest[NWP_DIGEST]) {
    EVP_PKEY *key = key_of(seed);
    int result = digest_key(key, digest);
    EVP_PKEY_free(key);
    return result;
}

static X509 *make_certificate(EVP_PKEY *key) {
    X509 *certificate = X509_new();
    if (!certificate) return NULL;
    X509_NAME *name = X509_get_subject_name(certificate);
    // RFC 5280 section 4.1.2.5: a certificate without an end has this one; clocks of devices may be wrong.
    int is_sound = X509_set_version(certificate, X509_VERSION_3) == 1 &&
                   ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
                   ASN1_TIME_set_string(X509_getm_notBefore(certificate), "19700101000000Z") == 1 &&
                   ASN1_TIME_set_string(X509_getm_notAfter(certificate), "99991231235959Z") == 1 &&
                   X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"peer", -1, -1, 0) == 1 &&
                   X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
                   X509_sign(certificate, key, NULL) > 0;
    if (is_sound) return certificate;
    X509_free(certificate);
    return NULL;
}

static int copy_text(BIO *bio, char *text, size_t capacity) {
    size_t count = 0;
    if (!bio || BIO_ctrl_pending(bio) >= capacity) return -1;
    if (BIO_read_ex(bio, text, capacity - 1, &count) != 1) return -1;
    text[count] = 0;
    return 0;
}

int nwp_identity_make(const uint8_t seed[NWP_SEED], char *certificate, size_t certificate_capacity, char *key,
                      size_t key_capacity) {
    EVP_PKEY *made = key_of(seed);
    X509 *own = made ? make_certificate(made) : NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    int result = own && bio && PEM_write_bio_X509(bio, own) == 1 ? copy_text(bio, certificate, certificate_capacity) : -1;
    if (result == 0) {
        result = PEM_write_bio_PrivateKey(bio, made, NULL, NULL, 0, NULL, NULL) == 1 ? copy_text(bio, key, key_capacity) : -1;
    }
    BIO_free(bio);
    X509_free(own);
    EVP_PKEY_free(made);
    ERR_clear_error();
    return result;
}

int nwp_tls_export(struct nwp_tls *tls, const char *label, uint8_t *bytes, size_t count) {
    return SSL_export_keying_material(tls->ssl, bytes, count, label, strlen(label), NULL, 0, 0) == 1 ? 0 : -1;
}

static BIO *text(const char *bytes, size_t count) {
    return count <= INT_MAX ? BIO_new_mem_buf(bytes, (int)count) : NULL;
}

/// There is no terminal to prompt for the passphrase of a key, which is what happens without this.
static int have_no_passphrase(char *passphrase, int capacity, int is_written, void *argument) {
    (void)passphrase;
    (void)capacity;
    (void)is_written;
    (void)argument;
    return -1;
}

long nwp_sign(const char *key, size_t key_length, const void *bytes, size_t count, uint8_t *signature, size_t capacity) {
    BIO *bio = text(key, key_length);
    EVP_PKEY *read = bio ? PEM_read_bio_PrivateKey(bio, NULL, have_no_passphrase, NULL) : NULL;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t length = capacity;
    // Ed25519 hashes by itself and needs no digest.
    const EVP_MD *digest = read && EVP_PKEY_is_a(read, "ED25519") ? NULL : EVP_sha256();
    int is_signed = read && context && EVP_DigestSignInit(context, NULL, digest, NULL, read) == 1 &&
                    EVP_DigestSign(context, signature, &length, bytes, count) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(read);
    BIO_free(bio);
    ERR_clear_error();
    return is_signed ? (long)length : -1;
}

int nwp_verify(const uint8_t *certificate, size_t certificate_length, const void *bytes, size_t count,
               const uint8_t *signature, size_t signature_length) {
    X509 *read = read_certificate(certificate, certificate_length);
    EVP_PKEY *key = read ? X509_get0_pubkey(read) : NULL;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const EVP_MD *digest = key && EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256();
    int is_signed = key && context && EVP_DigestVerifyInit(context, NULL, digest, NULL, key) == 1 &&
                    EVP_DigestVerify(context, signature, signature_length, bytes, count) == 1;
    EVP_MD_CTX_free(context);
    X509_free(read);
    ERR_clear_error();
    return is_signed;
}

long nwp_certificate_at(const char *pem, size_t pem_length, int position, uint8_t *buffer, size_t capacity) {
    ERR_clear_error();
    BIO *bio = text(pem, pem_length);
    X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, have_no_passphrase, NULL) : NULL;
    for (int index = 0; certificate && index < position; index++) {
        X509_free(certificate);
        certificate = PEM_read_bio_X509(bio, NULL, have_no_passphrase, NULL);
    }
    int count = certificate ? i2d_X509(certificate, NULL) : -1;
    if (count > 0 && (size_t)count <= capacity) {
        uint8_t *cursor = buffer;
        i2d_X509(certificate, &cursor);
    }
    // The text is over when no line begins another one.
    if (bio && !certificate && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) count = 0;
    X509_free(certificate);
    BIO_free(bio);
    ERR_clear_error();
    return count;
}

int nwp_seal(const uint8_t key[NWP_SEED], const uint8_t nonce[NWP_NONCE], const void *header, size_t header_length,
             const void *bytes, size_t count, uint8_t *sealed) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int part = 0, last = 0;
    int is_sealed = context && count <= INT_MAX && header_length <= INT_MAX &&
                    EVP_EncryptInit_ex(context, EVP_chacha20_poly1305(), NULL, key, nonce) == 1 &&
                    EVP_EncryptUpdate(context, NULL, &part, header, (int)header_length) == 1 &&
                    EVP_EncryptUpdate(context, sealed, &part, bytes, (int)count) == 1 &&
                    EVP_EncryptFinal_ex(context, sealed + part, &last) == 1 &&
                    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, NWP_TAG, sealed + count) == 1;
    EVP_CIPHER_CTX_free(context);
    return is_sealed ? 0 : -1;
}

int nwp_open(const uint8_t key[NWP_SEED], const uint8_t nonce[NWP_NONCE], const void *header, size_t header_length,
             const uint8_t *sealed, size_t count, uint8_t *bytes) {
    if (count < NWP_TAG || count > INT_MAX || header_length > INT_MAX) return -1;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int part = 0, last = 0;
    size_t length = count - NWP_TAG;
    int is_opened = context && EVP_DecryptInit_ex(context, EVP_chacha20_poly1305(), NULL, key, nonce) == 1 &&
                    EVP_DecryptUpdate(context, NULL, &part, header, (int)header_length) == 1 &&
                    EVP_DecryptUpdate(context, bytes, &part, sealed, (int)length) == 1 &&
                    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, NWP_TAG, (void *)(sealed + length)) == 1 &&
                    EVP_DecryptFinal_ex(context, bytes + part, &last) == 1;
    EVP_CIPHER_CTX_free(context);
    ERR_clear_error();
    return is_opened ? 0 : -1;
}
