/* Products of float32 matrices: output = alpha × a × b (+ what the output holds) (+ a bias), finished. Each
 * sum is one chain of fused multiply-adds over the inner dimension, in ascending order, from 0 on:
 *
 *     for k: sum = fmaf(a[row][k], b[k][column], sum)
 *
 * So its bits depend on nothing but its row and its column: not on the other rows, the number of threads or
 * the instruction set. Then alpha, what the output holds and the bias follow, each rounded by itself.
 *
 * A constant second matrix is packed once, when it is first used.
 *
 * Ownership: product_new() … product_free(); constant weights must outlive the Product.
 * Threads:   product_run() on any thread, several at once.
 * Errors:    RESOURCE_EXHAUSTED when the device has no memory for packed weights or for what tiles work in.
 */
#pragma once

#include "worker/cpu/finish/finish.h"
#include "worker/runtime/device.h"

typedef struct Product Product;

typedef struct ProductShape {
    int64_t m;         /* rows of a and of the output */
    int64_t n;         /* columns of b and of the output */
    int64_t k;         /* 0: sums are 0 */
    bool transposes_a; /* a is k × m */
    bool transposes_b; /* b is n × k */
    bool accumulates;  /* adds to the values that the output holds */
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

/* Multiplies on the calling thread alone, without constant weights. False: the device has no memory for what
 * tiles work in, of which there are product_alone_scratch() bytes. */
MUST_USE bool product_alone(Device *device, const ProductShape *shape, const ProductOperands *operands);
uint64_t product_alone_scratch(const ProductShape *shape);

/* Returns the bytes that product_run() of `batch` products takes from the device when all its threads
 * work. */
uint64_t product_scratch(
    const Product *product, const Device *device, const ProductShape *shape, int64_t batch);
