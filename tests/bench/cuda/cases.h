/* The products and convolutions that Sluice and the libraries alone are timed with. */
#pragma once

enum { PRODUCT_SIDE_MIN = 512, PRODUCT_SIDE_MAX = 8192, ACTIVATED_SIDE = 2048, CONVOLUTION_BATCH = 32 };
enum { ATTENTION_BATCH = 8, ATTENTION_HEADS = 12, ATTENTION_POSITIONS = 512, ATTENTION_SIZE = 64 };

/* A convolution of ResNet-50: channels, their number behind it, sides of image and filter, and the stride. It
 * is padded by half its side. */
typedef struct BenchConvolution {
    int from;
    int to;
    int image;
    int side;
    int stride;
} BenchConvolution;

static const BenchConvolution bench_convolutions[] = {
    {3, 64, 224, 7, 2},
    {64, 64, 56, 1, 1},
    {64, 64, 56, 3, 1},
    {64, 256, 56, 1, 1},
    {256, 128, 56, 1, 1},
    {128, 128, 28, 3, 1},
    {256, 512, 56, 1, 2},
    {256, 256, 14, 3, 1},
    {512, 512, 7, 3, 1},
    {512, 2048, 7, 1, 1},
};

/* More than twice the largest cache of a card: what is read in turn was not kept there. */
static const double BENCH_CACHE_BYTES = 128e6;
enum { BENCH_COPIES_MAX = 8 };
