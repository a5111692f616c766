/* SHA-256 and HMAC-SHA-256: names of contents, hashes of secrets, signatures of tokens.
 *
 * Ownership: values, but for an incremental state, which sha256_end() or sha256_abandon() frees.
 * Threads:   any; a state by one thread at a time.
 * Errors:    a digest of bytes in memory cannot fail; the program stops when the library has no SHA-256,
 *            for nothing that follows could be trusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/call.h"
#include "shared/base/compiler.h"
#include "shared/base/slice.h"

enum { SHA256_SIZE = 32, SHA256_HEX_SIZE = 2 * SHA256_SIZE + 1 };

typedef struct Sha256 {
    unsigned char bytes[SHA256_SIZE];
} Sha256;

void sha256(Slice bytes, Sha256 *ret_digest);
void hmac_sha256(Slice key, Slice bytes, Sha256 *ret_digest);

bool sha256_equal(const Sha256 *left, const Sha256 *right); /* in constant time */

/* Compares secrets: the time taken tells nothing but the lengths. */
bool constant_time_equal(Slice left, Slice right);

/* Writes and reads 64 lower-case hex digits. Anything else is refused; `ret_digest` is untouched then. */
void sha256_to_hex(const Sha256 *digest, char ret_hex[SHA256_HEX_SIZE]);
bool sha256_from_hex(Slice hex, Sha256 *ret_digest);

/* Writes and reads "sha256:" and 64 lower-case hex digits, the form in which documents refer to a blob. */
enum { SHA256_REF_SIZE = sizeof "sha256:" - 1 + SHA256_HEX_SIZE };
void sha256_to_ref(const Sha256 *digest, char ret_ref[SHA256_REF_SIZE]);
bool sha256_from_ref(Slice ref, Sha256 *ret_digest);

/* Read what a client sent. INVALID_ARGUMENT quotes a text of another form. */
MUST_USE Status sha256_parse_hex(Call *call, Slice hex, Sha256 *ret_digest);
MUST_USE Status sha256_parse_ref(Call *call, Slice ref, Sha256 *ret_digest);

/* A digest that can be put down after a whole block and taken up elsewhere: the state of SHA-256 as FIPS
 * 180-4 has it. */
enum { SHA256_BLOCK_SIZE = 64 };

typedef struct Sha256Chain {
    uint32_t words[SHA256_SIZE / sizeof(uint32_t)];
    uint64_t size; /* bytes so far, in whole blocks */
} Sha256Chain;

Sha256Chain sha256_chain_begin(void);
void sha256_chain_add(Sha256Chain *chain, Slice blocks); /* a multiple of SHA256_BLOCK_SIZE */

/* Ends a copy of the chain with the bytes behind its blocks, of any size. */
void sha256_chain_end(const Sha256Chain *chain, Slice rest, Sha256 *ret_digest);

/* Writes and reads the state without its size. */
void sha256_chain_to_bytes(const Sha256Chain *chain, unsigned char ret_bytes[SHA256_SIZE]);
Sha256Chain sha256_chain_from_bytes(const unsigned char bytes[SHA256_SIZE], uint64_t size);

/* A digest of bytes that come in parts. */
typedef struct Sha256State Sha256State;

MUST_USE Sha256State *sha256_begin(void); /* NULL when there is no memory */
void sha256_update(Sha256State *state, Slice bytes);
void sha256_end(Sha256State *state, Sha256 *ret_digest);
void sha256_abandon(Sha256State *state); /* NULL is allowed */
