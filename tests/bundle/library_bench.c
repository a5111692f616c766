/* NVIDIA's libraries alone, beside which cuda_bench's products and convolutions stand: the same cases, in the
 * same lines, with the plans that the plugin makes, one call right behind the other. A time is that between
 * two events around a few calls, whose operands take turns in memory.
 *
 *     library_bench products|convolutions
 *
 * "skipped: …" when the library cannot be used. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/cuda/cases.h"
#include "tests/bundle/library.h"
#include "worker/cuda/blas/plan.h"
#include "worker/cuda/dnn/plan.h"

enum { WORKSPACE_SIZE = 32 << 20, ROUNDS = 30, CALLS = 8, SHAPE_SIZE = 96 };

/* One case, begun again and again: enqueue(case, copy) uses the operands with this number. */
typedef struct Case {
    const char *name;
    const char *system;
    const char *dtype;
    char shape[SHAPE_SIZE];
    int copies;
    unsigned char *left; /* all copies, one behind the other */
    unsigned char *right;
    unsigned char *output;
    void *workspace;
    size_t left_size; /* of one */
    size_t right_size;
    int (*enqueue)(const struct Case *the_case, int copy);
    const void *library; /* CudaBlas or CudaDnn */
    void *handle;
    const void *plan;
    const DnnDescription *convolution;
} Case;

static const struct {
    const char *name;
    CudaType type;
    size_t size;
} dtypes[] = {{"float32", CUDA_FLOAT32, 4}, {"float16", CUDA_FLOAT16, 2}, {"bfloat16", CUDA_BFLOAT16, 2}};

static int
compare_times(const void *left, const void *right)
{
    double l = *(const double *)left;
    double r = *(const double *)right;
    return (l > r) - (l < r);
}

static void
time_case(const Case *the_case)
{
    double times[ROUNDS + 1];
    cudaEvent_t begin;
    cudaEvent_t end;
    library_must((int)cudaEventCreate(&begin), "an event");
    library_must((int)cudaEventCreate(&end), "an event");
    for (int round = 0; round <= ROUNDS; round++) { /* the first warms up */
        float milliseconds = 0;
        library_must((int)cudaEventRecord(begin, NULL), the_case->name);
        for (int call = 0; call < CALLS; call++) {
            library_must(the_case->enqueue(the_case, call % the_case->copies), the_case->name);
        }
        library_must((int)cudaEventRecord(end, NULL), the_case->name);
        library_must((int)cudaEventSynchronize(end), the_case->name);
        library_must((int)cudaEventElapsedTime(&milliseconds, begin, end), the_case->name);
        times[round] = (double)milliseconds * 1e3 / CALLS;
    }
    qsort(times + 1, ROUNDS, sizeof times[0], compare_times);
    (void)printf("time\t%s\t%s\t%s\t%s\t%.6g\t%.6g\t%.6g\t\n", the_case->name, the_case->dtype,
        the_case->shape, the_case->system, times[1 + ROUNDS / 2], times[1], times[ROUNDS]);
    (void)fflush(stdout);
}

/* Makes the operands, drawn and as many as pass the cache, times the case and frees them. */
static void
measure(Case *the_case, CudaType type, size_t element_size, size_t output_size)
{
    double bytes = (double)(the_case->left_size + the_case->right_size);
    the_case->copies = (int)fmin(BENCH_COPIES_MAX, ceil(BENCH_CACHE_BYTES / bytes));
    size_t copies = (size_t)the_case->copies;
    the_case->left = library_draw(type, copies * the_case->left_size / element_size);
    the_case->right = library_draw(type, copies * the_case->right_size / element_size);
    library_must((int)cudaMalloc((void **)&the_case->output, output_size), "memory of the card");
    library_must((int)cudaMalloc(&the_case->workspace, WORKSPACE_SIZE), "memory of the card");
    time_case(the_case);
    library_must((int)cudaFree(the_case->left), "memory of the card");
    library_must((int)cudaFree(the_case->right), "memory of the card");
    library_must((int)cudaFree(the_case->output), "memory of the card");
    library_must((int)cudaFree(the_case->workspace), "memory of the card");
}

static int
enqueue_product(const Case *the_case, int copy)
{
    BlasOperands operands = {.left = the_case->right + (size_t)copy * the_case->right_size,
        .right = the_case->left + (size_t)copy * the_case->left_size,
        .output = the_case->output,
        .workspace = the_case->workspace,
        .alpha = 1};
    return (int)blas_plan_run(
        the_case->library, the_case->handle, the_case->plan, &operands, WORKSPACE_SIZE, NULL);
}

/* Addresses in a description only say how they are aligned: as those of cudaMalloc() are. */
static void *
some_address(void)
{
    enum { ALIGNMENT = 256 };
    return (void *)(uintptr_t)ALIGNMENT; // NOLINT(performance-no-int-to-ptr)
}

static void
measure_product(const CudaBlas *blas, cublasLtHandle_t handle, int side, size_t dtype)
{
    CudaMatrix matrix = {.data = some_address(), .row_step = side, .column_step = 1};
    CudaProduct product = {.a = matrix,
        .b = matrix,
        .output = some_address(),
        .rows = side,
        .columns = side,
        .depth = side,
        .alpha = 1};
    CudaEpilogue rest;
    BlasDescription description;
    BlasPlan plan;
    size_t size = (size_t)side * (size_t)side * dtypes[dtype].size;
    library_must(
        (int)blas_describe(dtypes[dtype].type, false, &product, &description, &rest), "describing a product");
    library_must((int)blas_plan_describe(blas, &description, NULL, &plan), "a product's descriptors");
    library_must((int)blas_plan_choose(blas, handle, WORKSPACE_SIZE, &plan), "a product's algorithm");
    Case the_case = {.name = "product",
        .system = "cuBLASLt",
        .dtype = dtypes[dtype].name,
        .left_size = size,
        .right_size = size,
        .enqueue = enqueue_product,
        .library = blas,
        .handle = handle,
        .plan = &plan};
    (void)snprintf(the_case.shape, sizeof the_case.shape, "%d,%d x %d,%d", side, side, side, side);
    measure(&the_case, dtypes[dtype].type, dtypes[dtype].size, size);
    blas_plan_done(blas, &plan);
}

static void
measure_products(void)
{
    const CudaBlas *blas = cuda_blas();
    cublasLtHandle_t handle = NULL;
    if (blas == NULL) {
        library_print_skipped("cuBLASLt");
        return;
    }
    library_must((int)blas->cublasLtCreate(&handle), "opening cuBLASLt");
    for (int side = PRODUCT_SIDE_MIN; side <= PRODUCT_SIDE_MAX; side *= 2) {
        for (size_t dtype = 0; dtype < COUNT_OF(dtypes); dtype++) {
            measure_product(blas, handle, side, dtype);
        }
    }
    library_must((int)blas->cublasLtDestroy(handle), "closing cuBLASLt");
}

static int
enqueue_convolution(const Case *the_case, int copy)
{
    DnnOperands operands = {.input = the_case->left + (size_t)copy * the_case->left_size,
        .filter = the_case->right + (size_t)copy * the_case->right_size,
        .output = the_case->output,
        .workspace = the_case->workspace};
    return (int)dnn_plan_run(the_case->plan, the_case->handle, the_case->convolution, &operands);
}

/* Fills in a tensor of four dimensions, dense, and returns its bytes. */
static size_t
fill_tensor(DnnTensor *tensor, int n, int c, int side, size_t element_size)
{
    int64_t plane = (int64_t)side * side;
    *tensor = (DnnTensor){.sizes = {n, c, side, side}, .steps = {c * plane, plane, side, 1}, .alignment = 16};
    return (size_t)(n * c * plane) * element_size;
}

static void
measure_convolution(const CudaDnn *dnn, cudnnHandle_t handle, const BenchConvolution *c, size_t dtype)
{
    int pad = c->side / 2;
    int out = c->image / c->stride;
    DnnDescription description = {.kind = DNN_FORWARD,
        .type = (int64_t)dtypes[dtype].type,
        .space_rank = 2,
        .stride = {c->stride, c->stride},
        .dilation = {1, 1},
        .before = {pad, pad},
        .after = {pad, pad}};
    Case the_case = {.name = "convolution",
        .system = "cuDNN",
        .dtype = dtypes[dtype].name,
        .enqueue = enqueue_convolution,
        .library = dnn,
        .handle = handle,
        .convolution = &description};
    DnnPlan plan;
    size_t size = dtypes[dtype].size;
    the_case.left_size = fill_tensor(&description.input, CONVOLUTION_BATCH, c->from, c->image, size);
    the_case.right_size = fill_tensor(&description.filter, c->to, c->from, c->side, size);
    size_t output_size = fill_tensor(&description.output, CONVOLUTION_BATCH, c->to, out, size);
    (void)snprintf(the_case.shape, sizeof the_case.shape, "%d,%d,%d,%d x %d,%d,%d,%d", CONVOLUTION_BATCH,
        c->from, c->image, c->image, c->to, c->from, c->side, c->side);
    DnnRequest request = dnn_convolution_request(&description);
    if (dnn_plan_choose(dnn, handle, &request, WORKSPACE_SIZE, &plan) != CUDNN_STATUS_SUCCESS) {
        (void)printf("fact\tconvolution, %s, %s\tno engine of cuDNN's is one that the plugin takes\n",
            the_case.dtype, the_case.shape);
    } else {
        the_case.plan = &plan;
        measure(&the_case, dtypes[dtype].type, size, output_size);
    }
    dnn_plan_done(&plan);
}

static void
measure_convolutions(void)
{
    const CudaDnn *dnn = cuda_dnn();
    cudnnHandle_t handle = NULL;
    if (dnn == NULL) {
        library_print_skipped("cuDNN");
        return;
    }
    library_must((int)dnn->cudnnCreate(&handle), "opening cuDNN");
    for (size_t index = 0; index < COUNT_OF(bench_convolutions); index++) {
        for (size_t dtype = 0; dtype < COUNT_OF(dtypes); dtype++) {
            measure_convolution(dnn, handle, &bench_convolutions[index], dtype);
        }
    }
    library_must((int)dnn->cudnnDestroy(handle), "closing cuDNN");
}

int
main(int argc, char **argv)
{
    library_open_all();
    if (argc == 2 && strcmp(argv[1], "products") == 0) {
        measure_products();
    } else if (argc == 2 && strcmp(argv[1], "convolutions") == 0) {
        measure_convolutions();
    } else {
        (void)fprintf(stderr, "library_bench: products, or convolutions\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
