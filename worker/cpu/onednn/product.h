/* Products of float32 matrices on oneDNN: output = alpha × a × b (+ what the output holds, or a bias),
 * finished; batches of them, cut into tiles by shape and shared among the device's threads. The bits of a
 * product do not depend on the number of threads. They may depend on the number of rows: oneDNN sums the last
 * columns of a single row in another order than those of many rows on some CPUs.
 *
 * For each shape seen, primitives are kept; a constant second matrix is laid out once as oneDNN wants it.
 *
 * Ownership: product_new() … product_free(); constant weights must outlive the Product.
 * Threads:   product_run() any, several at once. */
#pragma once

#include "worker/cpu/onednn/finish.h"
#include "worker/cpu/onednn/primitive.h"

typedef struct Product Product;

typedef struct ProductShape {
    int64_t m; /* rows of a and of the output */
    int64_t n; /* columns of b and of the output */
    int64_t k;
    bool transposes_a; /* a lies as k × m */
    bool transposes_b; /* b lies as n × k */
    bool accumulates;  /* adds to what the output holds */
    bool has_bias;     /* alpha is 1 then */
    float alpha;
    Finish finish;
} ProductShape;

/* Row-major operands. Batches: outputs lie one behind the other; an input moves by its stride (in matrices, 0
 * where it broadcasts) in each batch dimension. */
typedef struct ProductOperands {
    const float *a;
    const float *b;
    const float *bias;   /* n numbers; NULL: none */
    const float *addend; /* as the output lies; NULL: none */
    float *output;
    int batch_rank;
    int64_t batch_dims[SHAPE_RANK_MAX];
    int64_t a_strides[SHAPE_RANK_MAX];
    int64_t b_strides[SHAPE_RANK_MAX];
} ProductOperands;

MUST_USE Status product_new(Call *call, Product **ret_product);

/* The second matrix is always this one. Before the first run. */
void product_set_weights(Product *product, const float *weights);
void product_free(Product *product); /* NULL is allowed */

MUST_USE Status product_run(
    Call *call, Product *product, Device *device, const ProductShape *shape, const ProductOperands *operands);

/* Bytes that product_run() of `batch` products will take from the device, with all its threads at work. 0:
 * oneDNN cannot do it. */
MUST_USE uint64_t product_scratch(
    Call *call, Product *product, const Device *device, const ProductShape *shape, int64_t batch);
