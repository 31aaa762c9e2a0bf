#pragma once
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/ec.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/hmac.h>
#include <openssl/core_names.h>

// Macros and variadic functions of OpenSSL that Swift cannot import.
static inline long netproxy_SSL_set_server_name(SSL *ssl, const char *name) {
    return SSL_set_tlsext_host_name(ssl, name);
}
static inline long netproxy_SSL_CTX_set_minimum(SSL_CTX *ctx, int version) {
    return SSL_CTX_set_min_proto_version(ctx, version);
}
static inline long netproxy_SSL_CTX_set_mode(SSL_CTX *ctx, long mode) {
    return SSL_CTX_set_mode(ctx, mode);
}
static inline void netproxy_SSL_CTX_read_ahead(SSL_CTX *ctx) { SSL_CTX_set_read_ahead(ctx, 1); }
static inline long netproxy_SSL_CTX_add_to_chain(SSL_CTX *ctx, X509 *certificate) {
    return SSL_CTX_add1_chain_cert(ctx, certificate);
}
static inline void netproxy_BIO_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void netproxy_BIO_retry_write(BIO *bio) { BIO_set_retry_write(bio); }
static inline void netproxy_BIO_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

// What the last call waits for before it can be made again: SSL_READING, SSL_WRITING, or
// SSL_NOTHING. Unlike SSL_get_error it does not look at the thread's queue of errors.
static inline int netproxy_SSL_wanted(SSL *ssl) {
    int wanted = SSL_want(ssl);
    BIO *bio = wanted == SSL_READING ? SSL_get_rbio(ssl)
             : wanted == SSL_WRITING ? SSL_get_wbio(ssl) : NULL;
    return bio != NULL && BIO_should_retry(bio) ? wanted : SSL_NOTHING;
}
