/* Strings assigned to buckets by hashes, which have the same bits as TensorFlow's. */
#include <stdint.h>
#include <string.h>

#include "worker/reference/outputs.h"
#include "worker/reference/texts.h"

static uint64_t
fetch64(const char *bytes)
{
    uint64_t word = 0;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint64_t
fetch32(const char *bytes)
{
    uint32_t word = 0;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint64_t
rotate_right(uint64_t word, int bits)
{
    return word >> bits | word << (64 - bits);
}

static const uint64_t farm_k0 = 0xc3a5c85c97cb3127;
static const uint64_t farm_k1 = 0xb492b66fbe98f273;
static const uint64_t farm_k2 = 0x9ae16a3b2f90404f;

typedef struct Pair {
    uint64_t first;
    uint64_t second;
} Pair;

static uint64_t
shift_mix(uint64_t word)
{
    return word ^ word >> 47;
}

static uint64_t
farm_pair(uint64_t first, uint64_t second, uint64_t multiplier)
{
    uint64_t mixed = shift_mix((first ^ second) * multiplier);
    return shift_mix((second ^ mixed) * multiplier) * multiplier;
}

static uint64_t
farm_to_16(const char *bytes, size_t size)
{
    uint64_t multiplier = farm_k2 + size * 2;
    if (size >= 8) {
        uint64_t a = fetch64(bytes) + farm_k2;
        uint64_t b = fetch64(bytes + size - 8);
        uint64_t c = rotate_right(b, 37) * multiplier + a;
        return farm_pair(c, (rotate_right(a, 25) + b) * multiplier, multiplier);
    }
    if (size >= 4) {
        return farm_pair(size + (fetch32(bytes) << 3), fetch32(bytes + size - 4), multiplier);
    }
    if (size > 0) {
        uint64_t y = (unsigned char)bytes[0] + ((uint64_t)(unsigned char)bytes[size >> 1] << 8);
        uint64_t z = size + ((uint64_t)(unsigned char)bytes[size - 1] << 2);
        return shift_mix(y * farm_k2 ^ z * farm_k0) * farm_k2;
    }
    return farm_k2;
}

/* The common part of the two middle lengths, which reads from both ends. */
static Pair
farm_ends(const char *bytes, size_t size, uint64_t multiplier, uint64_t a)
{
    uint64_t b = fetch64(bytes + 8);
    uint64_t c = fetch64(bytes + size - 8) * multiplier;
    uint64_t d = fetch64(bytes + size - 16) * farm_k2;
    return (Pair){rotate_right(a + b, 43) + rotate_right(c, 30) + d, a + rotate_right(b + farm_k2, 18) + c};
}

static uint64_t
farm_to_32(const char *bytes, size_t size)
{
    uint64_t multiplier = farm_k2 + size * 2;
    Pair ends = farm_ends(bytes, size, multiplier, fetch64(bytes) * farm_k1);
    return farm_pair(ends.first, ends.second, multiplier);
}

static uint64_t
farm_to_64(const char *bytes, size_t size)
{
    uint64_t multiplier = farm_k2 + size * 2;
    uint64_t a = fetch64(bytes) * farm_k2;
    Pair ends = farm_ends(bytes, size, multiplier, a);
    uint64_t z = farm_pair(ends.first, ends.second, multiplier);
    uint64_t e = fetch64(bytes + 16) * multiplier;
    uint64_t f = fetch64(bytes + 24);
    uint64_t g = (ends.first + fetch64(bytes + size - 32)) * multiplier;
    uint64_t h = (z + fetch64(bytes + size - 24)) * multiplier;
    return farm_pair(
        rotate_right(e + f, 43) + rotate_right(g, 30) + h, e + rotate_right(f + a, 18) + g, multiplier);
}

static Pair
farm_weak(const char *bytes, uint64_t a, uint64_t b)
{
    uint64_t z = fetch64(bytes + 24);
    a += fetch64(bytes);
    b = rotate_right(b + a + z, 21);
    uint64_t c = a;
    a += fetch64(bytes + 8) + fetch64(bytes + 16);
    b += rotate_right(a, 44);
    return (Pair){a + z, b + c};
}

typedef struct FarmState {
    uint64_t x;
    uint64_t y;
    uint64_t z;
    Pair v;
    Pair w;
} FarmState;

/* `weight` is 9 for the last block, else 1. */
static void
farm_block(FarmState *state, const char *bytes, uint64_t multiplier, uint64_t weight)
{
    state->x = rotate_right(state->x + state->y + state->v.first + fetch64(bytes + 8), 37) * multiplier;
    state->y = rotate_right(state->y + state->v.second + fetch64(bytes + 48), 42) * multiplier;
    state->x ^= state->w.second * weight;
    state->y += state->v.first * weight + fetch64(bytes + 40);
    state->z = rotate_right(state->z + state->w.first, 33) * multiplier;
    state->v = farm_weak(bytes, state->v.second * multiplier, state->x + state->w.first);
    state->w = farm_weak(bytes + 32, state->z + state->w.second, state->y + fetch64(bytes + 16));
    uint64_t x = state->x;
    state->x = state->z;
    state->z = x;
}

static uint64_t
farm_long(const char *bytes, size_t size)
{
    uint64_t seed = 81;
    uint64_t y = seed * farm_k1 + 113;
    FarmState state = {
        .x = seed * farm_k2 + fetch64(bytes), .y = y, .z = shift_mix(y * farm_k2 + 113) * farm_k2};
    size_t end = (size - 1) / 64 * 64;
    size_t rest = (size - 1) & 63;
    for (size_t position = 0; position < end; position += 64) {
        farm_block(&state, bytes + position, farm_k1, 1);
    }
    uint64_t multiplier = farm_k1 + ((state.z & 0xff) << 1);
    state.w.first += rest;
    state.v.first += state.w.first;
    state.w.first += state.v.first;
    farm_block(&state, bytes + end + rest - 63, multiplier, 9);
    return farm_pair(
        farm_pair(state.v.first, state.w.first, multiplier) + shift_mix(state.y) * farm_k0 + state.z,
        farm_pair(state.v.second, state.w.second, multiplier) + state.x, multiplier);
}

/* Computes FarmHash's Fingerprint64. */
static uint64_t
hash_farm(Slice bytes)
{
    if (bytes.size <= 16) {
        return farm_to_16(bytes.data, bytes.size);
    }
    if (bytes.size <= 32) {
        return farm_to_32(bytes.data, bytes.size);
    }
    return bytes.size <= 64 ? farm_to_64(bytes.data, bytes.size) : farm_long(bytes.data, bytes.size);
}

/* Computes MurmurHash64A. */
static uint64_t
hash_murmur(Slice bytes, uint64_t seed)
{
    uint64_t multiplier = 0xc6a4a7935bd1e995;
    uint64_t hash = seed ^ bytes.size * multiplier;
    size_t position = 0;
    for (; position + 8 <= bytes.size; position += 8) {
        hash = (hash ^ shift_mix(fetch64(bytes.data + position) * multiplier) * multiplier) * multiplier;
    }
    if (position < bytes.size) {
        uint64_t tail = 0;
        memcpy(&tail, bytes.data + position, bytes.size - position);
        hash = (hash ^ tail) * multiplier;
    }
    return shift_mix(shift_mix(hash) * multiplier);
}

static void
sip_rounds(uint64_t v[4], int count)
{
    for (int round = 0; round < count; round++) {
        v[0] += v[1];
        v[1] = rotate_right(v[1], 51) ^ v[0];
        v[0] = rotate_right(v[0], 32);
        v[2] += v[3];
        v[3] = rotate_right(v[3], 48) ^ v[2];
        v[0] += v[3];
        v[3] = rotate_right(v[3], 43) ^ v[0];
        v[2] += v[1];
        v[1] = rotate_right(v[1], 47) ^ v[2];
        v[2] = rotate_right(v[2], 32);
    }
}

static void
sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
}

/* Computes SipHash-2-4. */
static uint64_t
hash_sip(Slice bytes, const uint64_t key[2])
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
        key[1] ^ 0x7465646279746573};
    size_t position = 0;
    uint64_t tail = (uint64_t)bytes.size << 56;
    for (; position + 8 <= bytes.size; position += 8) {
        sip_word(v, fetch64(bytes.data + position));
    }
    for (size_t index = 0; position + index < bytes.size; index++) {
        tail |= (uint64_t)(unsigned char)bytes.data[position + index] << 8 * index;
    }
    sip_word(v, tail);
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

typedef uint64_t (*HashString)(const Node *node, Slice string);

static Status
hash_strings(KernelContext *context, HashString hash)
{
    int64_t buckets = node_attr_int(context->node, "num_buckets");
    Tensor *output = NULL;
    if (buckets < 1) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "num_buckets is %lld, not at least 1",
            (long long)buckets);
    }
    TRY(output_new(context, &output));
    for (int64_t n = 0; n < tensor_element_count(output); n++) {
        uint64_t number = hash(context->node, string_at(&context->inputs[0], n));
        ((int64_t *)output->data)[n] = (int64_t)(number % (uint64_t)buckets);
    }
    return STATUS_OK;
}

static uint64_t
farm(const Node *node, Slice string)
{
    (void)node;
    return hash_farm(string);
}

static uint64_t
murmur(const Node *node, Slice string)
{
    (void)node;
    return hash_murmur(string, 0xdecafcaffe);
}

static uint64_t
sip(const Node *node, Slice string)
{
    int64_t key[2] = {0};
    (void)node_attr_ints(node, "key", key, 2);
    return hash_sip(string, (const uint64_t[2]){(uint64_t)key[0], (uint64_t)key[1]});
}

static Status
fast_compute(KernelContext *context)
{
    return hash_strings(context, farm);
}

static Status
plain_compute(KernelContext *context)
{
    return hash_strings(context, murmur);
}

static bool
strong_supports(const Node *node)
{
    return node_attr_ints(node, "key", NULL, 0) == 2;
}

static Status
strong_compute(KernelContext *context)
{
    return hash_strings(context, sip);
}

static const Kernel hash_kernels[] = {
    {.op = "StringToHashBucket", .compute = plain_compute},
    {.op = "StringToHashBucketFast", .compute = fast_compute},
    {.op = "StringToHashBucketStrong", .supports = strong_supports, .compute = strong_compute},
};

KERNEL_FAMILY(reference, strings_hash, hash_kernels);
