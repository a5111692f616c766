/* The digest's chain on libcrypto's block function. OpenSSL 3 has deprecated it for the EVP interface, which
 * cannot give its state away; it is the same code, SHA extensions included. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <assert.h>
#include <endian.h>
#include <string.h>

#include <openssl/sha.h>

#include "shared/base/compiler.h"
#include "shared/crypto/digest.h"

_Static_assert(SHA256_BLOCK_SIZE == SHA256_CBLOCK, "the block of SHA-256");

static void
set_sizes(SHA256_CTX *context, uint64_t size)
{
    enum { BITS_A_BYTE = 8, BITS_A_WORD = 32 };
    uint64_t bits = size * BITS_A_BYTE;
    context->Nl = (SHA_LONG)bits;
    context->Nh = (SHA_LONG)(bits >> BITS_A_WORD);
}

static SHA256_CTX
open_chain(const Sha256Chain *chain)
{
    SHA256_CTX context;
    (void)SHA256_Init(&context);
    memcpy(context.h, chain->words, sizeof chain->words);
    set_sizes(&context, chain->size);
    return context;
}

Sha256Chain
sha256_chain_begin(void)
{
    SHA256_CTX context;
    Sha256Chain chain = {.size = 0};
    (void)SHA256_Init(&context);
    memcpy(chain.words, context.h, sizeof chain.words);
    return chain;
}

void
sha256_chain_add(Sha256Chain *chain, Slice blocks)
{
    assert(blocks.size % SHA256_BLOCK_SIZE == 0);

    SHA256_CTX context = open_chain(chain);
    (void)SHA256_Update(&context, blocks.size == 0 ? "" : blocks.data, blocks.size);
    memcpy(chain->words, context.h, sizeof chain->words);
    chain->size += blocks.size;
}

void
sha256_chain_end(const Sha256Chain *chain, Slice rest, Sha256 *ret_digest)
{
    SHA256_CTX context = open_chain(chain);
    (void)SHA256_Update(&context, rest.size == 0 ? "" : rest.data, rest.size);
    (void)SHA256_Final(ret_digest->bytes, &context);
}

void
sha256_chain_to_bytes(const Sha256Chain *chain, unsigned char ret_bytes[SHA256_SIZE])
{
    for (size_t index = 0; index < COUNT_OF(chain->words); index++) {
        uint32_t word = htobe32(chain->words[index]);
        memcpy(ret_bytes + index * sizeof word, &word, sizeof word);
    }
}

Sha256Chain
sha256_chain_from_bytes(const unsigned char bytes[SHA256_SIZE], uint64_t size)
{
    Sha256Chain chain = {.size = size};
    assert(size % SHA256_BLOCK_SIZE == 0);
    for (size_t index = 0; index < COUNT_OF(chain.words); index++) {
        uint32_t word;
        memcpy(&word, bytes + index * sizeof word, sizeof word);
        chain.words[index] = be32toh(word);
    }
    return chain;
}
