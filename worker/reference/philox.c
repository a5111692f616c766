#include "worker/reference/philox.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 10 };

Philox
philox_seeded(uint64_t seed, uint64_t seed2)
{
    Philox philox = {.counter = {0, 0, (uint32_t)seed2, (uint32_t)(seed2 >> 32)},
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)}};
    return philox;
}

Philox
philox_scrambled(uint64_t seed, uint64_t seed2)
{
    Philox scrambler = {
        .counter = {(uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)seed2, (uint32_t)(seed2 >> 32)},
        .key = {0x3ec8f720, 0x02461e29}};
    uint32_t mixed[PHILOX_WORDS];
    philox_next(&scrambler, mixed);
    Philox philox = {.counter = {0, 0, mixed[2], mixed[3]}, .key = {mixed[0], mixed[1]}};
    return philox;
}

void
philox_skip(Philox *philox, uint64_t count)
{
    uint64_t low = philox->counter[0] | (uint64_t)philox->counter[1] << 32;
    uint64_t sum = low + count;
    philox->counter[0] = (uint32_t)sum;
    philox->counter[1] = (uint32_t)(sum >> 32);
    if (sum < low && ++philox->counter[2] == 0) {
        philox->counter[3]++;
    }
}

void
philox_next(Philox *philox, uint32_t ret_words[PHILOX_WORDS])
{
    uint32_t words[PHILOX_WORDS];
    uint32_t key[2] = {philox->key[0], philox->key[1]};
    memcpy(words, philox->counter, sizeof words);
    for (int n = 0; n < ROUNDS; n++) {
        uint64_t first = (uint64_t)0xd2511f53 * words[0];
        uint64_t second = (uint64_t)0xcd9e8d57 * words[2];
        words[0] = (uint32_t)(second >> 32) ^ words[1] ^ key[0];
        words[1] = (uint32_t)second;
        words[2] = (uint32_t)(first >> 32) ^ words[3] ^ key[1];
        words[3] = (uint32_t)first;
        key[0] += 0x9e3779b9;
        key[1] += 0xbb67ae85;
    }
    philox_skip(philox, 1);
    memcpy(ret_words, words, sizeof words);
}

/* The bits become the mantissa of a number in [1, 2). */
float
philox_to_float(uint32_t word)
{
    uint32_t bits = (uint32_t)127 << 23 | (word & 0x7fffff);
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value - 1;
}

double
philox_to_double(uint32_t low, uint32_t high)
{
    uint64_t bits = (uint64_t)1023 << 52 | (uint64_t)(low & 0xfffff) << 32 | high;
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value - 1;
}

static const double two_pi = 6.283185307179586476925286766559;

/* Smaller numbers would make the logarithm too large. */
#define UNIFORM_MIN 1.0e-7F

void
philox_to_normals(const uint32_t words[2], float ret_normals[2])
{
    float uniform = philox_to_float(words[0]);
    float angle = (float)(two_pi * (double)philox_to_float(words[1]));
    float radius = sqrtf(-2.0F * logf(uniform < UNIFORM_MIN ? UNIFORM_MIN : uniform));
    ret_normals[0] = sinf(angle) * radius;
    ret_normals[1] = cosf(angle) * radius;
}

void
philox_to_double_normals(const uint32_t words[4], double ret_normals[2])
{
    double uniform = philox_to_double(words[0], words[1]);
    double angle = two_pi * philox_to_double(words[2], words[3]);
    double radius = sqrt(-2.0 * log(uniform < 1.0e-7 ? 1.0e-7 : uniform));
    ret_normals[0] = sin(angle) * radius;
    ret_normals[1] = cos(angle) * radius;
}

PhiloxStream
philox_stream(Philox philox)
{
    PhiloxStream stream = {.philox = philox, .used = PHILOX_WORDS};
    return stream;
}

uint32_t
philox_stream_next(PhiloxStream *stream)
{
    if (stream->used == PHILOX_WORDS) {
        philox_next(&stream->philox, stream->words);
        stream->used = 0;
    }
    return stream->words[stream->used++];
}
