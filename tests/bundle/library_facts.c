/* The facts that NVIDIA's libraries tell of a card, through the plugin's own code: one line each, as those of
 * `facts`.
 *
 *     library_facts product      how fast cuBLASLt multiplies bfloat16 matrices of 8192 × 8192
 *     library_facts card FILE    writes what cuDNN says of the card, from which it makes plans without one
 *
 * "skipped: …" when the library cannot be used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/cuda/blas/plan.h"
#include "worker/cuda/libraries.h"

enum {
    SIDE = 8192,
    WORKSPACE_SIZE = 32 << 20,
    TIMED_COUNT = 30,
    JSON_SIZE = 1 << 16,
    FOLDERS_SIZE = 1 << 14
};

/* Ends the program when a call fails. */
static void
must(int error, const char *what)
{
    if (error != 0) {
        (void)printf("error: %s: %d\n", what, error);
        exit(EXIT_FAILURE);
    }
}

/* Opens the libraries in the folders of SLUICE_CUDA_LIBRARIES, between which it has ','. */
static void
open_libraries(void)
{
    static char folders[FOLDERS_SIZE];
    const char *told = getenv("SLUICE_CUDA_LIBRARIES");
    (void)snprintf(folders, sizeof folders, "%s", told == NULL ? "" : told);
    for (char *at = folders; (at = strchr(at, ',')) != NULL;) {
        *at = ':';
    }
    cuda_libraries_open(folders);
}

static void
print_skipped(const char *name)
{
    size_t count = 0;
    const PluginLibrary *libraries = cuda_libraries(&count);
    for (size_t index = 0; index < count; index++) {
        if (strcmp(libraries[index].name, name) == 0) {
            (void)printf("skipped: no %s: %s\n", name, libraries[index].reason);
        }
    }
}

/* Makes a matrix of numbers from -1 to 1: on zeros, products are faster. */
static void *
make_matrix(uint64_t seed)
{
    size_t count = (size_t)SIDE * SIDE;
    uint16_t *host = malloc(count * sizeof *host);
    void *card = NULL;
    must(host == NULL, "memory of the host");
    for (size_t index = 0; index < count; index++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        float number = (float)(int32_t)(seed >> 32) / (float)(1U << 31);
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        host[index] = (uint16_t)(bits >> 16); /* a bfloat16 is the upper half of a float32 */
    }
    must((int)cudaMalloc(&card, count * sizeof *host), "memory of the card");
    must((int)cudaMemcpy(card, host, count * sizeof *host, cudaMemcpyHostToDevice), "a copy");
    free(host);
    return card;
}

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
    must((int)cudaEventCreate(&begin), "an event");
    must((int)cudaEventCreate(&end), "an event");
    for (int index = 0; index <= TIMED_COUNT; index++) { /* the first warms up */
        must((int)cudaEventRecord(begin, NULL), "a product");
        must((int)blas_plan_run(blas, handle, plan, operands, WORKSPACE_SIZE, NULL), "a product");
        must((int)cudaEventRecord(end, NULL), "a product");
        must((int)cudaEventSynchronize(end), "a product");
        must((int)cudaEventElapsedTime(&times[index], begin, end), "a product");
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
        print_skipped("cuBLASLt");
        return;
    }
    CudaProduct product = {.a = {.data = make_matrix(1), .row_step = SIDE, .column_step = 1},
        .b = {.data = make_matrix(2), .row_step = SIDE, .column_step = 1},
        .output = make_matrix(3),
        .rows = SIDE,
        .columns = SIDE,
        .depth = SIDE,
        .alpha = 1};
    BlasOperands operands = {
        .left = product.b.data, .right = product.a.data, .output = product.output, .alpha = 1};
    must((int)cudaMalloc(&operands.workspace, WORKSPACE_SIZE), "memory of the card");
    must((int)blas_describe(CUDA_BFLOAT16, &product, &description, &rest), "describing a product");
    must((int)blas->cublasLtCreate(&handle), "opening cuBLASLt");
    must((int)blas_plan_describe(blas, &description, NULL, &plan), "a product's descriptors");
    must((int)blas_plan_choose(blas, handle, WORKSPACE_SIZE, &plan), "a product's algorithm");
    print_speed(blas, handle, &plan, &operands);
}

static void
write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    must(file == NULL || fwrite(text, 1, size, file) != size || fclose(file) != 0, path);
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
        print_skipped("cuDNN");
        return;
    }
    must((int)dnn->cudnnCreate(&handle), "opening cuDNN");
    must((int)dnn->cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &card), "a descriptor");
    must(
        (int)dnn->cudnnBackendSetAttribute(card, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle),
        "asking cuDNN for the card");
    must((int)dnn->cudnnBackendFinalize(card), "asking cuDNN for the card");
    must((int)dnn->cudnnBackendGetAttribute(
             card, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, JSON_SIZE, &size, json),
        "asking cuDNN for the card");
    must(size < 1 || size > JSON_SIZE, "what cuDNN says of the card");
    write_file(path, json, strnlen(json, (size_t)size));
    (void)printf("fact\tcuDNN's words for the card\t%zu bytes in %s\n", strnlen(json, (size_t)size), path);
}

int
main(int argc, char **argv)
{
    open_libraries();
    if (argc == 2 && strcmp(argv[1], "product") == 0) {
        measure_product();
    } else if (argc == 3 && strcmp(argv[1], "card") == 0) {
        describe_card(argv[2]);
    } else {
        (void)fprintf(stderr, "library_facts: product, or card FILE\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
