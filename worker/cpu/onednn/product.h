/* Products of float32 matrices on oneDNN: output = alpha × a × b (+ what the output holds, or a bias),
 * finished. Batches of them are cut into tiles by the shape alone, which the device's threads share. The
 * bits of a product do not depend on the number of threads. They may depend on the number of rows: on some
 * CPUs oneDNN sums the last columns of a single row in another order than those of many rows.
 *
 * Primitives are kept for each shape; a constant second matrix is packed once into oneDNN's layout.
 *
 * Ownership: product_new() … product_free(); constant weights must outlive the Product.
 * Threads:   product_run() on any thread, several at once. */
#pragma once

#include "worker/cpu/onednn/finish.h"
#include "worker/cpu/onednn/primitive.h"

typedef struct Product Product;

typedef struct ProductShape {
    int64_t m; /* rows of a and of the output */
    int64_t n; /* columns of b and of the output */
    int64_t k;
    bool transposes_a; /* a is k × m */
    bool transposes_b; /* b is n × k */
    bool accumulates;  /* adds to the values that the output holds */
    bool has_bias;     /* only with alpha 1 */
    float alpha;
    Finish finish;
} ProductShape;

/* Row-major operands. The outputs of a batch follow each other; an input advances by its stride in each
 * batch dimension, counted in matrices, 0 where it is broadcast. */
typedef struct ProductOperands {
    const float *a;
    const float *b;
    const float *bias;   /* n numbers; NULL: none */
    const float *addend; /* laid out like the output; NULL: none */
    float *output;
    int batch_rank;
    int64_t batch_dims[SHAPE_RANK_MAX];
    int64_t a_strides[SHAPE_RANK_MAX];
    int64_t b_strides[SHAPE_RANK_MAX];
} ProductOperands;

MUST_USE Status product_new(Call *call, Product **ret_product);

/* Says that the second matrix is always this one. Called before the first run. */
void product_set_weights(Product *product, const float *weights);
void product_free(Product *product); /* NULL is allowed */

MUST_USE Status product_run(
    Call *call, Product *product, Device *device, const ProductShape *shape, const ProductOperands *operands);

/* Returns the bytes that product_run() of `batch` products takes from the device when all its threads
 * work; 0: oneDNN cannot compute it. */
MUST_USE uint64_t product_scratch(
    Call *call, Product *product, const Device *device, const ProductShape *shape, int64_t batch);
