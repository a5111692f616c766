/* The facts that NVIDIA's libraries tell of a card, through the plugin's own code: one line each, as those of
 * `facts`.
 *
 *     library_facts libraries    which libraries the plugin's code finds, or why it does not; needs no card
 *     library_facts product      how fast cuBLASLt multiplies bfloat16 matrices of 8192 × 8192
 *     library_facts card FILE    writes what cuDNN says of the card, from which it makes plans without one
 *
 * "skipped: …" when the library cannot be used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bundle/library.h"
#include "worker/cuda/blas/plan.h"
#include "worker/cuda/libraries.h"

enum {
    SIDE = 8192,
    WORKSPACE_SIZE = 32 << 20,
    TIMED_COUNT = 30,
    JSON_SIZE = 1 << 16,
};

static int
compare_times(const void *left, const void *right)
{
    float l = *(const float *)left;
    float r = *(const float *)right;
    return (l > r) - (l < r);
}

static void
print_speed(const CudaBlas *blas, cublasLtHandle_t handle, const BlasPlan *plan, const BlasOperands *operands)
{
    float times[TIMED_COUNT + 1];
    cudaEvent_t begin;
    cudaEvent_t end;
    library_must((int)cudaEventCreate(&begin), "an event");
    library_must((int)cudaEventCreate(&end), "an event");
    for (int index = 0; index <= TIMED_COUNT; index++) { /* the first warms up */
        library_must((int)cudaEventRecord(begin, NULL), "a product");
        library_must((int)blas_plan_run(blas, handle, plan, operands, WORKSPACE_SIZE, NULL), "a product");
        library_must((int)cudaEventRecord(end, NULL), "a product");
        library_must((int)cudaEventSynchronize(end), "a product");
        library_must((int)cudaEventElapsedTime(&times[index], begin, end), "a product");
    }
    qsort(times + 1, TIMED_COUNT, sizeof times[0], compare_times);
    double milliseconds = (double)times[1 + TIMED_COUNT / 2];
    (void)printf("fact\tcuBLASLt, bfloat16, %d x %d x %d\t%.1f TFLOP/s, median of %d, random numbers\n", SIDE,
        SIDE, SIDE, 2.0 * SIDE * SIDE * SIDE / milliseconds / 1e9, TIMED_COUNT);
}

static void
measure_product(void)
{
    const CudaBlas *blas = cuda_blas();
    cublasLtHandle_t handle = NULL;
    CudaEpilogue rest;
    BlasDescription description;
    BlasPlan plan;
    if (blas == NULL) {
        library_print_skipped("cuBLASLt");
        return;
    }
    CudaProduct product = {
        .a = {.data = library_draw(CUDA_BFLOAT16, (size_t)SIDE * SIDE), .row_step = SIDE, .column_step = 1},
        .b = {.data = library_draw(CUDA_BFLOAT16, (size_t)SIDE * SIDE), .row_step = SIDE, .column_step = 1},
        .output = library_draw(CUDA_BFLOAT16, (size_t)SIDE * SIDE),
        .rows = SIDE,
        .columns = SIDE,
        .depth = SIDE,
        .alpha = 1};
    BlasOperands operands = {
        .left = product.b.data, .right = product.a.data, .output = product.output, .alpha = 1};
    library_must((int)cudaMalloc(&operands.workspace, WORKSPACE_SIZE), "memory of the card");
    library_must(
        (int)blas_describe(CUDA_BFLOAT16, false, &product, &description, &rest), "describing a product");
    library_must((int)blas->cublasLtCreate(&handle), "opening cuBLASLt");
    library_must((int)blas_plan_describe(blas, &description, NULL, &plan), "a product's descriptors");
    library_must((int)blas_plan_choose(blas, handle, WORKSPACE_SIZE, &plan), "a product's algorithm");
    print_speed(blas, handle, &plan, &operands);
}

static void
print_libraries(void)
{
    size_t count = 0;
    const PluginLibrary *libraries = cuda_libraries(&count);
    for (size_t index = 0; index < count; index++) {
        const PluginLibrary *library = &libraries[index];
        (void)printf("fact\tthe plugin's %s\t%s%s%s\n", library->name,
            library->version == NULL ? "" : library->version,
            library->version == NULL || library->reason == NULL ? "" : ", ",
            library->reason == NULL ? "" : library->reason);
    }
}

static void
write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    library_must(file == NULL || fwrite(text, 1, size, file) != size || fclose(file) != 0, path);
}

static void
describe_card(const char *path)
{
    static char json[JSON_SIZE];
    const CudaDnn *dnn = cuda_dnn();
    cudnnHandle_t handle = NULL;
    cudnnBackendDescriptor_t card = NULL;
    int64_t size = 0;
    if (dnn == NULL) {
        library_print_skipped("cuDNN");
        return;
    }
    library_must((int)dnn->cudnnCreate(&handle), "opening cuDNN");
    library_must(
        (int)dnn->cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &card), "a descriptor");
    library_must(
        (int)dnn->cudnnBackendSetAttribute(card, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle),
        "asking cuDNN for the card");
    library_must((int)dnn->cudnnBackendFinalize(card), "asking cuDNN for the card");
    library_must((int)dnn->cudnnBackendGetAttribute(card, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                     CUDNN_TYPE_CHAR, JSON_SIZE, &size, json),
        "asking cuDNN for the card");
    library_must(size < 1 || size > JSON_SIZE, "what cuDNN says of the card");
    write_file(path, json, strnlen(json, (size_t)size));
    (void)printf("fact\tcuDNN's words for the card\t%zu bytes in %s\n", strnlen(json, (size_t)size), path);
}

int
main(int argc, char **argv)
{
    library_open_all();
    if (argc == 2 && strcmp(argv[1], "libraries") == 0) {
        print_libraries();
    } else if (argc == 2 && strcmp(argv[1], "product") == 0) {
        measure_product();
    } else if (argc == 3 && strcmp(argv[1], "card") == 0) {
        describe_card(argv[2]);
    } else {
        (void)fprintf(stderr, "library_facts: libraries, product, or card FILE\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
