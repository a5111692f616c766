/* ONNX's RotaryEmbedding: the first numbers of each vector of a head are rotated in pairs by angles that
 * belong to the vector's position. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

enum { ROTARY_INPUT, ROTARY_COSINES, ROTARY_SINES, ROTARY_POSITIONS };

/* Sizes are -1 while they are not known. */
typedef struct Rotary {
    bool is_packed;      /* [batch, position, head × size], not [batch, head, position, size] */
    bool is_interleaved; /* pairs are neighbours, not the same places of two halves */
    bool has_positions;  /* angles are rows of the caches that position_ids chooses */
    int64_t batch;
    int64_t heads;
    int64_t length; /* positions */
    int64_t size;   /* of a head */
    int64_t pairs;  /* that are rotated of a head */
    int64_t rows;   /* of angles in a cache */
} Rotary;

/* Reads attributes and shapes; the input's rank must be known. INVALID_ARGUMENT when they do not fit. */
MUST_USE Status rotary_read(Call *call, const InferContext *context, Rotary *ret_rotary);

/* Checks the positions of all vectors. INVALID_ARGUMENT for one that the caches do not have. */
MUST_USE Status rotary_check_positions(Call *call, const Rotary *rotary, const int64_t *positions);

/* Returns the offset of a head's vector in the input, for token batch × length + position. */
static inline int64_t
rotary_vector(const Rotary *rotary, int64_t token, int64_t head)
{
    int64_t row = rotary->is_packed ? token * rotary->heads + head
                                    : (token / rotary->length * rotary->heads + head) * rotary->length +
                                          token % rotary->length;
    return row * rotary->size;
}

/* Returns the offset of a token's angles in the caches. `positions` may be NULL when there are none. */
static inline int64_t
rotary_angles(const Rotary *rotary, const int64_t *positions, int64_t token)
{
    return (rotary->has_positions ? positions[token] : token) * rotary->pairs;
}
