/* How a convolution walks over its input with the channels first. The input of one channel is copied to a
 * lattice: padding is zeros, and where the stride is more than 1 the positions that one tap of the filter
 * reads lie together (a phase for each remainder). In a lattice each tap of the filter is an offset, the same
 * for all outputs, and the outputs of a line follow each other:
 *
 *     output at column c = Σ over k: filter[k] × lattice[taps[k] + c]
 *
 * Columns number the outputs, with gaps where a line of the lattice is longer than one of the output. An
 * input without padding and strides is a lattice as it is.
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/convolve/shape.h"

enum {
    LATTICE_SLACK = 128
}; /* floats behind the last channel that may be read: most micro-tiles are narrower */

enum { LATTICE_PHASES_MAX = 4 };

/* Positions of a phase that have an input: from `first` up to `end`; that of position 0 is `start`. */
typedef struct LatticeSpan {
    int64_t start;
    int64_t first;
    int64_t end;
} LatticeSpan;

/* One of three axes; those that the convolution lacks come first and have one position. */
typedef struct LatticeAxis {
    int64_t input;
    int64_t output;
    int64_t size; /* taps */
    int64_t stride;
    int64_t dilation;
    int64_t before;
    int64_t phases; /* remainders that taps have */
    int64_t length; /* positions of a phase */
    int64_t filter_step;
    LatticeSpan spans[LATTICE_PHASES_MAX];
} LatticeAxis;

typedef struct Lattice {
    LatticeAxis axes[CONVOLVE_RANK_MAX];
    int64_t columns;
    int64_t phase_step;   /* floats of a phase */
    int64_t channel_step; /* floats of a channel */
    int64_t input_step;   /* floats of a channel of the input */
    bool is_input;        /* the input itself is the lattice */
    bool is_dense;        /* columns have no gaps */
} Lattice;

/* Returns whether no axis has more phases than LATTICE_PHASES_MAX. */
bool lattice_can(const ConvolveShape *shape);

Lattice lattice_of(const ConvolveShape *shape);

/* Writes the offsets of all taps of `channels` channels, channel by channel, first axis first. */
void lattice_taps(const Lattice *lattice, int64_t channels, int64_t *taps);

/* Taps of one channel: `count` of `all`, from `first` on. */
typedef struct LatticeTaps {
    int64_t first;
    int64_t count;
    int64_t all;
} LatticeTaps;

/* Returns the taps that do not read padding above or below the input for all outputs of a line; lines of all
 * planes are numbered. Where there are planes, all taps are returned. */
LatticeTaps lattice_line_taps(const Lattice *lattice, int64_t line);

/* Returns the column of the first output of a line; lines of all planes are numbered. */
int64_t lattice_line(const Lattice *lattice, int64_t line);

/* Copies one channel, and writes zeros over what is left of its floats. */
void lattice_copy(const Lattice *lattice, const float *input, float *to);

/* Copies one channel over another one, whose zeros stay. */
void lattice_copy_over(const Lattice *lattice, const float *input, float *to);

/* Outputs that follow each other, in a line of the lattice and in the output alike. */
typedef struct LatticeRun {
    int64_t column;
    int64_t output;
    int64_t count; /* 0: there are no more */
} LatticeRun;

/* Returns the first outputs among the columns from `first` up to `end`. */
LatticeRun lattice_run(const Lattice *lattice, int64_t first, int64_t end);
