/* Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): random numbers as a
 * function of a counter and a key, in TensorFlow's order, bit for bit.
 * Threads: any; one generator, one thread. */
#pragma once

#include <stdint.h>

enum { PHILOX_WORDS = 4 };

typedef struct Philox {
    uint32_t counter[PHILOX_WORDS];
    uint32_t key[2];
} Philox;

/* The generator of TensorFlow's ops with state, whose two seeds make the key. */
Philox philox_seeded(uint64_t seed, uint64_t seed2);

/* The generator of TensorFlow's stateless ops, whose seeds are scrambled first. */
Philox philox_scrambled(uint64_t seed, uint64_t seed2);

/* Returns the four words at the counter and moves it on. */
void philox_next(Philox *philox, uint32_t ret_words[PHILOX_WORDS]);

/* Moves the counter on by `count` times four words. */
void philox_skip(Philox *philox, uint64_t count);

/* A number in [0, 1), from as many bits as the mantissa holds. */
float philox_to_float(uint32_t word);
double philox_to_double(uint32_t low, uint32_t high);

/* Two numbers of the standard normal distribution, by Box and Muller. */
void philox_to_normals(const uint32_t words[2], float ret_normals[2]);
void philox_to_double_normals(const uint32_t words[4], double ret_normals[2]);

typedef struct PhiloxStream {
    Philox philox;
    uint32_t words[PHILOX_WORDS];
    int used; /* PHILOX_WORDS before the first */
} PhiloxStream;

PhiloxStream philox_stream(Philox philox);
uint32_t philox_stream_next(PhiloxStream *stream);
