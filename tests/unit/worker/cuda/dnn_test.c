/* cuDNN's rules, computed by the plain kernel from the descriptors that the library was given. With
 * CUDA_LIBRARIES the real library takes all descriptors, too, and chooses engines for a card that is told to
 * it in words. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/attention_forms.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/convolution_cases.h"
#include "tests/support/cuda_fixture.h"
#include "tests/support/cuda_kernels.h"
#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "tests/support/fake_cudnn.h"
#include "tests/support/turned_graphs.h"
#include "worker/cuda/dnn/attention.h"
#include "worker/cuda/dnn/convolution.h"
#include "worker/cuda/dnn/plan.h"
#include "worker/cuda/library.h"

static const Dtype floats[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32};
static const Dtype single[] = {DTYPE_FLOAT32};

static const CudaDnn *table = &fake_cudnn_table;

/* The module's functions, in place of its own. */
void
cuda_libraries_open(const char *folders)
{
    (void)folders;
}

const PluginLibrary *
cuda_libraries(size_t *ret_count)
{
    *ret_count = 0;
    return NULL;
}

const CudaBlas *
cuda_blas(void)
{
    return NULL;
}

const CudaDnn *
cuda_dnn(void)
{
    return table;
}

const CudaCupti *
cuda_cupti(const char **ret_reason)
{
    *ret_reason = "none is played";
    return NULL;
}

const CudaNvrtc *
cuda_nvrtc(void)
{
    return NULL;
}

static uint64_t counted[DNN_REFUSALS]; /* before the test */
static uint64_t attention_counted[DNN_REFUSALS];

static int
reset(void **state)
{
    (void)state;
    fake_cudnn_reset();
    table = &fake_cudnn_table;
    for (int refusal = DNN_ACCEPTED; refusal < DNN_REFUSALS; refusal++) {
        counted[refusal] = dnn_refusals((DnnRefusal)refusal);
        attention_counted[refusal] = dnn_attention_refusals((DnnRefusal)refusal);
    }
    return 0;
}

static uint64_t
count_of(DnnRefusal refusal)
{
    return dnn_refusals(refusal) - counted[refusal];
}

#define COMPARE(cases, dtypes) compare(cases, COUNT_OF(cases), dtypes, COUNT_OF(dtypes))

static void
compare(const CudaKernelCase *cases, size_t count, const Dtype *dtypes, size_t dtype_count)
{
    (void)cuda_kernels_set_up(NULL);
    cuda_kernels_compare_in(cases, count, dtypes, dtype_count);
    (void)cuda_kernels_tear_down(NULL);
    assert_int_equal(fake_cudnn.descriptors, 0);
    assert_int_equal(fake_cudnn.handles, 0);
}

/* Those in all tables, in their dtypes, but those without an output and those that are mistakes. */
enum {
    WITHOUT_OUTPUT = 3,
    EMPTY_GRADIENTS = 6,
    ALL_CONVOLUTIONS = (COUNT_OF(onnx_convolutions) - WITHOUT_OUTPUT + COUNT_OF(tensorflow_convolutions) +
                           COUNT_OF(fused_convolutions) + COUNT_OF(convolution_gradients) - EMPTY_GRADIENTS) *
                           COUNT_OF(floats) +
                       COUNT_OF(large_convolutions)
};

static void
all_forms_are_computed_by_the_library(void **state)
{
    (void)state;
    COMPARE(onnx_convolutions, floats);
    COMPARE(tensorflow_convolutions, floats);
    COMPARE(fused_convolutions, floats);
    COMPARE(convolution_gradients, floats);
    COMPARE(large_convolutions, single);
    assert_int_equal(count_of(DNN_ACCEPTED), ALL_CONVOLUTIONS);
    assert_int_equal(fake_cudnn.executions, count_of(DNN_ACCEPTED));
    assert_true(fake_cudnn.fused_executions > 0);
    assert_int_equal(count_of(DNN_NO_SIZE), EMPTY_GRADIENTS / 2 * COUNT_OF(floats)); /* those of filters */
    for (int refusal = DNN_ACCEPTED + 1; refusal < DNN_REFUSALS; refusal++) {
        assert_true(refusal == DNN_NO_SIZE || count_of((DnnRefusal)refusal) == 0);
    }
}

static const CudaKernelCase convolution = {.op = "onnx::Conv",
    .attrs = "pads=[1,1,1,1]",
    .inputs = {"T[1,3,5,6] numbers 1", "T[5,3,3,3] numbers 2"}};
static const CudaKernelCase other_convolution = {
    .op = "onnx::Conv", .inputs = {"T[1,3,5,6] numbers 1", "T[5,3,3,3] numbers 2"}};
static const CudaKernelCase biased_convolution = {
    .op = "onnx::Conv", .inputs = {"T[1,3,5,6] numbers 1", "T[5,3,3,3] numbers 2", "T[5] numbers 3"}};

static void
doubles_and_four_dimensions_are_the_plain_kernels(void **state)
{
    (void)state;
    static const Dtype doubles[] = {DTYPE_FLOAT64};
    const CudaKernelCase wide[] = {
        {.op = "onnx::Conv", .inputs = {"T[1,1,2,3,2,3] numbers 1", "T[2,1,2,2,2,2] numbers 2"}}};
    COMPARE(wide, single);
    compare(&convolution, 1, doubles, 1);
    assert_int_equal(count_of(DNN_NO_RANK), 1);
    assert_int_equal(count_of(DNN_NO_TYPE), 1);
    assert_int_equal(fake_cudnn.executions, 0);
}

static void
a_plan_is_chosen_once_for_each_shape(void **state)
{
    (void)state;
    const CudaKernelCase cases[] = {
        convolution, convolution, other_convolution, convolution, biased_convolution, other_convolution};
    COMPARE(cases, single);
    assert_int_equal(fake_cudnn.executions, COUNT_OF(cases));
    assert_int_equal(fake_cudnn.heuristics, 3);
}

#define NOTE(name) (1U << CUDNN_NUMERICAL_NOTE_##name)

static void
engines_that_may_not_be_used_are_passed_over(void **state)
{
    (void)state;
    static const uint32_t always[] = {NOTE(REDUCED_PRECISION_REDUCTION), NOTE(NONDETERMINISTIC), NOTE(FFT),
        NOTE(WINOGRAD), NOTE(WINOGRAD) | NOTE(WINOGRAD_TILE_4x4)};
    static const uint32_t for_float32[] = {
        NOTE(TENSOR_CORE), NOTE(DOWN_CONVERT_INPUTS), NOTE(TENSOR_CORE) | NOTE(DOWN_CONVERT_INPUTS)};
    for (size_t dtype = 0; dtype < COUNT_OF(floats); dtype++) {
        for (size_t index = 0; index < COUNT_OF(always) + COUNT_OF(for_float32); index++) {
            bool is_usual = index >= COUNT_OF(always);
            bool is_allowed = is_usual && floats[dtype] != DTYPE_FLOAT32;
            fake_cudnn_reset();
            fake_cudnn.engines[0].notes = is_usual ? for_float32[index - COUNT_OF(always)] : always[index];
            fake_cudnn.engines[1].notes = NOTE(STRICT_NAN_PROP);
            fake_cudnn.engines[1].mode = CUDNN_HEUR_MODE_A;
            fake_cudnn.engine_count = 2;
            compare(&convolution, 1, &floats[dtype], 1);
            assert_int_equal(fake_cudnn.last_engine, is_allowed ? 0 : 1);
        }
    }
}

/* A convolution of one element by one weight, in the lane of a card. */
typedef struct Lone {
    CudaBench bench;
    Call call;
    TensorBuffer *memory;
    Tensor inputs[2];
    KernelContext context;
    Node node;
    CudaConvolution convolution;
} Lone;

static void
open_lone(Lone *lone)
{
    *lone = (Lone){.call = {.arena = arena_new(MIB)}, .node = {.name = SLICE("conv")}};
    cuda_on_cpu_reset(false);
    lone->bench = cuda_bench_open(&lone->call, "", 64 * MIB, 4 * MIB);
    lone->memory = cuda_bench_new(&lone->bench, MIB);
    float *data = lone->memory->data;
    lone->inputs[0].dtype = lone->inputs[1].dtype = DTYPE_FLOAT32;
    lone->context = (KernelContext){.call = &lone->call,
        .device = lone->bench.card,
        .host = lone->bench.host,
        .lane = lone->bench.lane,
        .node = &lone->node,
        .inputs = lone->inputs,
        .input_count = 2};
    lone->convolution = (CudaConvolution){
        .window = {.rank = 1,
            .batch = 1,
            .channels = 1,
            .input_size = {1, 1, 1, 1},
            .output_size = {1, 1, 1, 1},
            .size = {1, 1, 1, 1},
            .stride = {1, 1, 1, 1},
            .dilation = {1, 1, 1, 1}},
        .groups = 1,
        .inputs = 1,
        .outputs = 1,
        .input = data,
        .filter = data + 64,
        .output = data + 128,
    };
}

static Status
convolve_lone(Lone *lone, DnnRefusal *ret_refusal)
{
    CudaEpilogue rest;
    Call leaving = {0};
    lone->bench.card->enter(lone->bench.card, lone->bench.lane);
    Status status =
        dnn_convolve(&lone->context, DNN_FORWARD, CUDA_FLOAT32, &lone->convolution, ret_refusal, &rest);
    assert_status(&leaving, STATUS_OK, lone->bench.card->leave(&leaving, lone->bench.card, lone->bench.lane));
    return status;
}

static void
close_lone(Lone *lone)
{
    char message[ERROR_MESSAGE_SIZE];
    assert_int_equal(cuda_bench_fence(&lone->bench, message), STATUS_OK);
    tensor_buffer_unref(lone->memory);
    cuda_bench_close(&lone->bench);
    arena_free(lone->call.arena);
    assert_int_equal(fake_cudnn.descriptors, 0);
    assert_int_equal(fake_cudnn.handles, 0);
}

/* Returns which engine computes a convolution of float32: 0, that of these notes, or 1, one without notes. */
static int
choose_engine(uint32_t notes, bool allows_tf32)
{
    Lone lone;
    DnnRefusal refusal = DNN_NO_ENGINE;
    fake_cudnn_reset();
    fake_cudnn.engines[0].notes = notes;
    fake_cudnn.engines[1].mode = CUDNN_HEUR_MODE_A;
    fake_cudnn.engine_count = 2;
    open_lone(&lone);
    lone.context.allows_tf32 = allows_tf32;
    assert_int_equal(convolve_lone(&lone, &refusal), STATUS_OK);
    assert_int_equal(refusal, DNN_ACCEPTED);
    close_lone(&lone);
    return fake_cudnn.last_engine;
}

static void
tensor_cores_compute_float32_only_where_tf32_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(choose_engine(NOTE(TENSOR_CORE), false), 1);
    assert_int_equal(choose_engine(NOTE(TENSOR_CORE), true), 0);
    assert_int_equal(choose_engine(NOTE(DOWN_CONVERT_INPUTS), true), 1);
    assert_int_equal(choose_engine(NOTE(TENSOR_CORE) | NOTE(DOWN_CONVERT_INPUTS), true), 1);
    assert_int_equal(choose_engine(NOTE(TENSOR_CORE) | NOTE(NONDETERMINISTIC), true), 1);
}

static void
a_plan_with_tensor_cores_is_another_plan(void **state)
{
    (void)state;
    static const bool turns[] = {false, true, false, true};
    Lone lone;
    DnnRefusal refusal = DNN_NO_ENGINE;
    fake_cudnn.engines[0].notes = NOTE(TENSOR_CORE);
    fake_cudnn.engines[1].mode = CUDNN_HEUR_MODE_A;
    fake_cudnn.engine_count = 2;
    open_lone(&lone);
    for (size_t turn = 0; turn < COUNT_OF(turns); turn++) {
        lone.context.allows_tf32 = turns[turn];
        assert_int_equal(convolve_lone(&lone, &refusal), STATUS_OK);
        assert_int_equal(fake_cudnn.last_engine, turns[turn] ? 0 : 1);
    }
    assert_int_equal(fake_cudnn.heuristics, 2);
    close_lone(&lone);
}

static void
engines_that_fail_or_want_more_memory_are_passed_over(void **state)
{
    (void)state;
    enum { ENOUGH = 4 << 20 /* of a small card */, CHOSEN = 3 };
    const FakeEngine engines[] = {
        {.mode = CUDNN_HEUR_MODE_A, .plan_status = CUDNN_STATUS_INTERNAL_ERROR},
        {.mode = CUDNN_HEUR_MODE_A, .workspace_size = ENOUGH + 1},
        {.mode = CUDNN_HEUR_MODE_FALLBACK, .plan_status = CUDNN_STATUS_NOT_SUPPORTED},
        {.mode = CUDNN_HEUR_MODE_FALLBACK, .workspace_size = ENOUGH},
        {.mode = CUDNN_HEUR_MODE_FALLBACK},
    };
    memcpy(fake_cudnn.engines, engines, sizeof engines);
    fake_cudnn.engine_count = COUNT_OF(engines);
    compare(&convolution, 1, single, 1);
    assert_int_equal(fake_cudnn.last_engine, CHOSEN);
}

static void
steps_that_no_engine_fuses_are_computed_behind(void **state)
{
    (void)state;
    fake_cudnn.engines[0].operations_max = 1;
    COMPARE(fused_convolutions, floats);
    compare(&biased_convolution, 1, single, 1);
    assert_int_equal(count_of(DNN_ACCEPTED), COUNT_OF(fused_convolutions) * COUNT_OF(floats) + 1);
    assert_int_equal(fake_cudnn.fused_executions, 0);
}

static void
what_the_library_refuses_is_asked_once_and_computed_plainly(void **state)
{
    (void)state;
    const CudaKernelCase cases[] = {convolution, convolution};
    fake_cudnn.engine_count = 0;
    COMPARE(cases, single);
    assert_int_equal(fake_cudnn.heuristics, 1);
    assert_int_equal(fake_cudnn.executions, 0);
    fake_cudnn.engine_count = 1;
    fake_cudnn.execute_status = (cudnnStatus_t)(CUDNN_STATUS_NOT_SUPPORTED + 3);
    COMPARE(cases, single);
    assert_int_equal(fake_cudnn.executions, 1);
    assert_int_equal(count_of(DNN_NO_ENGINE), 2 * COUNT_OF(cases));
}

static void
a_library_without_a_handle_is_left_alone(void **state)
{
    (void)state;
    const CudaKernelCase cases[] = {convolution, other_convolution};
    fake_cudnn.create_status = CUDNN_STATUS_NOT_INITIALIZED;
    COMPARE(cases, single);
    assert_int_equal(count_of(DNN_NO_HANDLE), COUNT_OF(cases));
    table = NULL;
    COMPARE(cases, single);
    assert_int_equal(count_of(DNN_NO_LIBRARY), COUNT_OF(cases));
}

/* Runs a graph that has regions with and without them. */
static void
compare_region(const TurnedGraph *graph)
{
    CudaFixture fixture;
    cuda_fixture_begin(&fixture);
    assert_int_equal(fixture.run.accelerator->prefers_channels_last, table != NULL);
    turned_graph_compare(&fixture.run, graph, true);
    cuda_fixture_end(&fixture);
}

/* As their author wrote them, the convolutions of the residual block have channels first in as many runs. */
static void
regions_have_their_channels_last_in_the_library(void **state)
{
    (void)state;
    compare_region(&residual_graphs[0]);
    assert_true(fake_cudnn.channels_last > 0);
    assert_int_equal(fake_cudnn.executions, 2 * fake_cudnn.channels_last);
    assert_int_equal(count_of(DNN_ACCEPTED), fake_cudnn.executions);
    for (size_t index = 0; index < COUNT_OF(convolution_graphs); index++) {
        compare_region(&convolution_graphs[index]);
    }
    for (size_t index = 0; index < COUNT_OF(formatted_graphs); index++) {
        compare_region(&formatted_graphs[index]);
    }
    assert_int_equal(count_of(DNN_ACCEPTED), fake_cudnn.executions);
    assert_int_equal(fake_cudnn.executions, 2 * fake_cudnn.channels_last);
}

static void
without_the_library_nothing_is_turned_around(void **state)
{
    (void)state;
    TurnedGraph graph = {.graph = residual_graphs[0].graph,
        .feeds = {residual_graphs[0].feeds[0]},
        .written = {"c1", "c2", "sum", "y"}};
    table = NULL;
    compare_region(&graph);
}

static const Dtype narrow[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16};

enum { ALL_ATTENTIONS = COUNT_OF(attentions) * COUNT_OF(narrow) };

static uint64_t
attentions_of(DnnRefusal refusal)
{
    return dnn_attention_refusals(refusal) - attention_counted[refusal];
}

static void
attention_of_16_bits_is_the_librarys(void **state)
{
    (void)state;
    COMPARE(attentions, narrow);
    assert_int_equal(fake_cudnn.attentions, ALL_ATTENTIONS);
    assert_int_equal(attentions_of(DNN_ACCEPTED), ALL_ATTENTIONS);
}

static void
attention_in_other_forms_is_the_plain_kernels(void **state)
{
    (void)state;
    static const CudaKernelCase others[] = {
        {.op = "_FusedAttention",
            .inputs = {"T[2,5,8] numbers 1", "T[2,8,7] numbers 2", "T[2,7,8] numbers 3"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS,
            .inputs = {"T[2,1,3,8] numbers 1", "T[3,5,8] numbers 2", "T[2,3,5,8] numbers 3"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=1; num_masks=0; fused_ops=[Mul]",
            .inputs = {WIDE_HEADS, "T[7] numbers 5"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=2; num_masks=0; fused_ops=[Add,Mul]",
            .inputs = {WIDE_HEADS, "T[7] numbers 5", "T[] 0.5"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=1; num_masks=0; fused_ops=[Add]",
            .inputs = {"T[3,2,3,5,8] numbers 1", "T[3,2,3,7,8] numbers 2", "T[3,2,3,7,8] numbers 3",
                "T[3,1,1,1,7] numbers 5"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=1; num_masks=1; fused_ops=[Keep]",
            .inputs = {WIDE_HEADS, "T[] -1000", "bool[2,1,5,7]"}},
        {.op = "onnx::Attention", .attrs = "softcap=0.5", .inputs = {WIDE_HEADS}},
        {.op = "onnx::Attention", .inputs = {WIDE_HEADS, "T[5,7] numbers 4"}},
    };
    COMPARE(others, narrow);
    compare(attentions, COUNT_OF(attentions), single, 1);
    assert_int_equal(fake_cudnn.attentions, 0);
    assert_int_equal(attentions_of(DNN_NO_TYPE), COUNT_OF(attentions));
}

static void
attention_that_the_library_refuses_is_the_plain_kernels(void **state)
{
    (void)state;
    const CudaKernelCase cases[] = {attentions[0], attentions[0], attentions[2]};
    fake_cudnn.engine_count = 0;
    COMPARE(cases, narrow);
    assert_int_equal(attentions_of(DNN_NO_ENGINE), COUNT_OF(cases) * COUNT_OF(narrow));
    assert_int_equal(fake_cudnn.heuristics, 2 * COUNT_OF(narrow));
    fake_cudnn.engine_count = 1;
    fake_cudnn.execute_status = CUDNN_STATUS_NOT_SUPPORTED;
    COMPARE(cases, narrow);
    assert_int_equal(fake_cudnn.attentions, 0);
    table = NULL;
    COMPARE(cases, narrow);
    assert_int_equal(attentions_of(DNN_NO_LIBRARY), COUNT_OF(cases) * COUNT_OF(narrow));
}

static void
failures_of_the_library_are_told(void **state)
{
    (void)state;
    Lone lone;
    DnnRefusal refusal = DNN_ACCEPTED;
    fake_cudnn.create_status = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    open_lone(&lone);
    assert_int_equal(convolve_lone(&lone, &refusal), STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(lone.call.error.message, "opening cuDNN: cuDNN fails with another");
    fake_cudnn.create_status = CUDNN_STATUS_SUCCESS;
    fake_cudnn.engines[0].plan_status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    assert_int_equal(convolve_lone(&lone, &refusal), STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(lone.call.error.message, "planning a convolution: cuDNN fails with another");
    fake_cudnn.engines[0].plan_status = CUDNN_STATUS_SUCCESS;
    fake_cudnn.execute_status = CUDNN_STATUS_EXECUTION_FAILED;
    assert_int_equal(convolve_lone(&lone, &refusal), STATUS_INTERNAL);
    assert_string_equal(
        lone.call.error.message, "a convolution: cuDNN fails with CUDNN_STATUS_EXECUTION_FAILED");
    fake_cudnn.execute_status = CUDNN_STATUS_SUCCESS;
    assert_int_equal(convolve_lone(&lone, &refusal), STATUS_OK);
    assert_int_equal(refusal, DNN_ACCEPTED);
    close_lone(&lone);
}

/* Each plan has as many descriptors as the first. */
static void
plans_do_not_pile_up(void **state)
{
    (void)state;
    enum { PLANS_MAX = 1024 };
    Lone lone;
    DnnRefusal refusal = DNN_ACCEPTED;
    open_lone(&lone);
    int of_one_plan = 0;
    for (int64_t padding = 0; padding <= PLANS_MAX; padding++) {
        lone.convolution.window.before[0] = padding;
        lone.convolution.window.output_size[0] = padding + 1;
        lone.convolution.window.output.batch = lone.convolution.window.output.channel = padding + 1;
        lone.convolution.window.output.space[0] = 1;
        assert_int_equal(convolve_lone(&lone, &refusal), STATUS_OK);
        assert_int_equal(refusal, DNN_ACCEPTED);
        of_one_plan = padding == 0 ? fake_cudnn.descriptors : of_one_plan;
        assert_true(fake_cudnn.descriptors <= PLANS_MAX * of_one_plan);
    }
    assert_int_equal(fake_cudnn.heuristics, PLANS_MAX + 1);
    assert_int_equal(fake_cudnn.descriptors, of_one_plan);
    close_lone(&lone);
}

/* A card in the words of cuDNN 9.19, which it then plans for without one: an H100 SXM5, from CUDA's tables of
 * compute capability 9.0 and the vendor's data sheet. */
static const char h100[] =
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"
    "\"multiProcessorCount\":132,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"
    "\"maxSharedMemoryPerBlockOptin\":232448,\"reservedSharedMemoryPerBlock\":1024,"
    "\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,"
    "\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,"
    "\"totalGlobalMem\":85014413312,\"smClockRateKHz\":1980000,\"memClockRateKHz\":2619000,"
    "\"l2CacheSize\":52428800,\"cudaDeviceId\":0,\"deviceVer\":900,\"driverVer\":13000,"
    "\"deviceName\":\"NVIDIA H100 80GB HBM3\"}";

/* The real library behind a handle of ours: where a handle would be given to it, it gets the card. */
static struct {
    CudaDnn dnn;
    cudnnBackendDescriptor_t card;
    cudnnBackendDescriptor_t last_plan; /* whose making may be refused, as that of heuristics may */
    cudnnBackendDescriptor_t last_heuristics;
    int plans; /* that would have been executed */
} real;

static cudnnStatus_t
real_descriptor_create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *descriptor)
{
    cudnnStatus_t status = real.dnn.cudnnBackendCreateDescriptor(type, descriptor);
    assert_int_equal(status, CUDNN_STATUS_SUCCESS);
    if (type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        real.last_plan = *descriptor;
    } else if (type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
        real.last_heuristics = *descriptor;
    }
    return status;
}

static cudnnStatus_t
give_card(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name)
{
    return real.dnn.cudnnBackendSetAttribute(
        descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, (void *)&real.card);
}

static cudnnStatus_t
real_set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE) {
        status = give_card(descriptor, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    } else if (name != CUDNN_ATTR_OPERATIONGRAPH_HANDLE) {
        status = real.dnn.cudnnBackendSetAttribute(descriptor, name, type, count, elements);
    }
    assert_int_equal(status, CUDNN_STATUS_SUCCESS);
    if (name == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH) {
        assert_int_equal(give_card(descriptor, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP), CUDNN_STATUS_SUCCESS);
    }
    return status;
}

static cudnnStatus_t
real_finalize(cudnnBackendDescriptor_t descriptor)
{
    cudnnStatus_t status = real.dnn.cudnnBackendFinalize(descriptor);
    if (descriptor != real.last_plan && descriptor != real.last_heuristics) {
        assert_int_equal(status, CUDNN_STATUS_SUCCESS);
    }
    return status;
}

/* There is no card: the plain kernel computes. */
static cudnnStatus_t
real_execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t variant_pack)
{
    assert_true(handle != NULL && plan != NULL && variant_pack != NULL);
    real.plans++;
    return CUDNN_STATUS_NOT_SUPPORTED;
}

#define ROW(name) {#name, offsetof(CudaDnn, name)},
static const LibraryFunction real_functions[] = {CUDA_DNN_FUNCTIONS(ROW)};
#undef ROW
#define ROW(name) {#name, offsetof(CudaBlas, name)},
static const LibraryFunction blas_functions[] = {CUDA_BLAS_FUNCTIONS(ROW)};
#undef ROW

static LibraryVersion
real_version(const void *library)
{
    return (LibraryVersion)((const CudaDnn *)library)->cudnnGetVersion();
}

static LibraryVersion
blas_version(const void *library)
{
    return (LibraryVersion)((const CudaBlas *)library)->cublasLtGetVersion();
}

static LibraryVersion
nvrtc_version(const void *library)
{
    enum { MAJOR = 10000, MINOR = 100 };
    int major = 0;
    int minor = 0;
    return ((const CudaNvrtc *)library)->nvrtcVersion(&major, &minor) == NVRTC_SUCCESS
               ? (LibraryVersion)(major * MAJOR + minor * MINOR)
               : 0;
}

/* Opens NVRTC as the plugin does: cuDNN compiles with it, and finds it by its name alone. */
static bool
open_nvrtc(void)
{
    static const LibraryFunction functions[] = {{"nvrtcVersion", offsetof(CudaNvrtc, nvrtcVersion)}};
    static const LibraryWanted wanted = {.name = "NVRTC",
        .file = "libnvrtc.so.13",
        .first = "libnvrtc-builtins.so.13.0",
        .functions = functions,
        .function_count = COUNT_OF(functions),
        .version = nvrtc_version};
    static CudaNvrtc nvrtc;
    static LibraryTexts texts;
    const char *folders = getenv("CUDA_LIBRARIES");
    PluginLibrary library = library_open(&wanted, folders == NULL ? "" : folders, &texts, &nvrtc);
    if (library.reason != NULL) {
        print_message("skipped: no NVRTC: %s\n", library.reason);
    }
    return library.reason == NULL;
}

/* Opens cuBLASLt first, without which cuDNN ends the process. */
static bool
open_real(void)
{
    const LibraryWanted wanted[] = {
        {.name = "cuBLASLt",
            .file = "libcublasLt.so.13",
            .functions = blas_functions,
            .function_count = COUNT_OF(blas_functions),
            .version = blas_version},
        {.name = "cuDNN",
            .file = "libcudnn.so.9",
            .functions = real_functions,
            .function_count = COUNT_OF(real_functions),
            .oldest = 91900, /* whose words for a card are known */
            .version = real_version},
    };
    static CudaBlas blas;
    void *tables[] = {&blas, &real.dnn};
    const char *folders = getenv("CUDA_LIBRARIES");
    for (size_t index = 0; index < COUNT_OF(wanted); index++) {
        LibraryTexts texts;
        PluginLibrary library =
            library_open(&wanted[index], folders == NULL ? "" : folders, &texts, tables[index]);
        if (library.reason != NULL) {
            print_message("skipped: no %s: %s\n", library.name, library.reason);
            return false;
        }
    }
    return true;
}

static CudaDnn
wrap_real(void)
{
    CudaDnn wrapped = fake_cudnn_table;
    wrapped.cudnnBackendCreateDescriptor = real_descriptor_create;
    wrapped.cudnnBackendDestroyDescriptor = real.dnn.cudnnBackendDestroyDescriptor;
    wrapped.cudnnBackendExecute = real_execute;
    wrapped.cudnnBackendFinalize = real_finalize;
    wrapped.cudnnBackendGetAttribute = real.dnn.cudnnBackendGetAttribute;
    wrapped.cudnnBackendSetAttribute = real_set;
    return wrapped;
}

static void
describe_card(void)
{
    real.plans = 0;
    assert_int_equal(real.dnn.cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &real.card),
        CUDNN_STATUS_SUCCESS);
    assert_int_equal(real.dnn.cudnnBackendSetAttribute(real.card, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                         CUDNN_TYPE_CHAR, sizeof h100 - 1, h100),
        CUDNN_STATUS_SUCCESS);
    assert_int_equal(real.dnn.cudnnBackendFinalize(real.card), CUDNN_STATUS_SUCCESS);
}

/* The library says what it thinks of each descriptor, and has an engine for each convolution. */
static void
the_real_library_plans_all_forms(void **state)
{
    (void)state;
    if (!open_real()) {
        return;
    }
    describe_card();
    CudaDnn wrapped = wrap_real();
    table = &wrapped;
    COMPARE(onnx_convolutions, floats);
    COMPARE(tensorflow_convolutions, floats);
    COMPARE(fused_convolutions, floats);
    COMPARE(convolution_gradients, floats);
    COMPARE(large_convolutions, single);
    assert_int_equal(real.plans, ALL_CONVOLUTIONS);
    compare_region(&residual_graphs[0]);
    assert_true(real.plans > ALL_CONVOLUTIONS);
    (void)real.dnn.cudnnBackendDestroyDescriptor(real.card);
}

/* A convolution by a filter of 1 × 1, over an image of `side` × `side`. */
static CudaConvolution
describe_narrow(int64_t channels, int64_t outputs, int64_t side, bool is_channels_last)
{
    CudaConvolution described = {
        .window = {.rank = 2,
            .batch = 1,
            .channels = outputs,
            .input = {side * side * channels, side * side, {side, 1}},
            .output = {side * side * outputs, side * side, {side, 1}}},
        .filter_steps = {.output = channels, .input = 1, .space = {channels, channels}},
        .groups = 1,
        .inputs = channels,
        .outputs = outputs,
    };
    for (int dimension = 0; dimension < CUDA_WINDOW_RANK_MAX; dimension++) {
        described.window.size[dimension] = described.window.stride[dimension] = 1;
        described.window.dilation[dimension] = 1;
        described.window.input_size[dimension] = described.window.output_size[dimension] =
            dimension < described.window.rank ? side : 1;
    }
    if (is_channels_last) {
        described.window.input = (CudaSteps){side * side * channels, 1, {side * channels, channels}};
        described.window.output = (CudaSteps){side * side * outputs, 1, {side * outputs, outputs}};
    }
    return described;
}

static DnnPlan
choose_plan(const CudaConvolution *described, CudaType type, bool allows_tf32)
{
    enum { MOST = 64 << 20 };
    DnnDescription description;
    CudaMove packing;
    DnnPlan plan;
    assert_int_equal(
        dnn_describe(DNN_FORWARD, type, allows_tf32, described, &description, &packing), DNN_ACCEPTED);
    assert_int_equal(packing.count, 0);
    DnnRequest request = dnn_convolution_request(&description);
    assert_int_equal(
        dnn_plan_choose(table, (cudnnHandle_t)&fake_cudnn, &request, MOST, &plan), CUDNN_STATUS_SUCCESS);
    return plan;
}

/* Returns how much memory the library wants beside the operands of the plan that is chosen. */
static int64_t
workspace_of(const CudaConvolution *described)
{
    int64_t size = 0;
    int64_t count = 0;
    DnnPlan plan = choose_plan(described, CUDA_BFLOAT16, false);
    assert_int_equal(real.dnn.cudnnBackendGetAttribute(plan.plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                         CUDNN_TYPE_INT64, 1, &count, &size),
        CUDNN_STATUS_SUCCESS);
    dnn_plan_done(&plan);
    return size;
}

/* Why regions are turned around: the plan for an image with its channels first has room for a copy of the
 * image and one of the result, in which it transposes them; that for channels last has none. */
static void
the_real_library_copies_images_whose_channels_are_first(void **state)
{
    (void)state;
    enum {
        CHANNELS = 64,
        OUTPUTS = 256,
        SIDE = 56,
        COPIES = SIDE * SIDE * (CHANNELS + OUTPUTS) * 2,
        LITTLE = 4096
    };
    if (!open_real()) {
        return;
    }
    describe_card();
    CudaDnn wrapped = wrap_real();
    table = &wrapped;
    CudaConvolution first = describe_narrow(CHANNELS, OUTPUTS, SIDE, false);
    CudaConvolution last = describe_narrow(CHANNELS, OUTPUTS, SIDE, true);
    assert_true(workspace_of(&first) >= COPIES);
    assert_true(workspace_of(&last) < LITTLE);
    (void)real.dnn.cudnnBackendDestroyDescriptor(real.card);
}

/* Returns the notes of the engine that is chosen; the plan's list ends with the engine and the plan itself.
 */
static uint32_t
notes_of(const CudaConvolution *described, bool allows_tf32)
{
    enum { NOTES_MAX = 32 };
    cudnnBackendNumericalNote_t notes[NOTES_MAX];
    uint32_t all = 0;
    int64_t count = 0;
    DnnPlan plan = choose_plan(described, CUDA_FLOAT32, allows_tf32);
    cudnnBackendDescriptor_t engine = plan.descriptors.items[plan.descriptors.count - 2];
    assert_int_equal(real.dnn.cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                         CUDNN_TYPE_NUMERICAL_NOTE, NOTES_MAX, &count, notes),
        CUDNN_STATUS_SUCCESS);
    for (int64_t index = 0; index < count; index++) {
        all |= 1U << (unsigned)notes[index];
    }
    dnn_plan_done(&plan);
    return all;
}

/* The real library chooses an engine of tensor cores that converts to nothing narrower where TF32 is allowed,
 * and one without them where it is not. */
static void
the_real_library_has_tensor_cores_for_tf32(void **state)
{
    (void)state;
    enum { CHANNELS = 256, SIDE = 56 }; /* large enough for the library to think tensor cores the fastest */
    if (!open_real()) {
        return;
    }
    describe_card();
    CudaDnn wrapped = wrap_real();
    table = &wrapped;
    for (int is_channels_last = 0; is_channels_last <= 1; is_channels_last++) {
        CudaConvolution described = describe_narrow(CHANNELS, CHANNELS, SIDE, is_channels_last != 0);
        uint32_t cores = NOTE(TENSOR_CORE) | NOTE(DOWN_CONVERT_INPUTS);
        assert_int_equal(notes_of(&described, true) & cores, NOTE(TENSOR_CORE));
        assert_int_equal(notes_of(&described, false) & cores, 0);
    }
    (void)real.dnn.cudnnBackendDestroyDescriptor(real.card);
}

/* The library has an engine for each attention. It makes plans of these only beside a driver, for which it
 * looks once, and whose functions it looks up and does not call for this. */
static void
the_real_library_plans_attention(void **state)
{
    (void)state;
    const char *out = getenv("OUT");
    char path[256];
    (void)snprintf(
        path, sizeof path, "%s/tests/plugins/cudnn_driver.so", out == NULL ? "build/release" : out);
    void *driver = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (driver == NULL) {
        print_message("skipped: no driver of names: %s\n", dlerror());
        return;
    }
    if (!open_nvrtc() || !open_real()) {
        return;
    }
    describe_card();
    CudaDnn wrapped = wrap_real();
    table = &wrapped;

    COMPARE(attentions, narrow);
    assert_int_equal(real.plans, ALL_ATTENTIONS);
    (void)real.dnn.cudnnBackendDestroyDescriptor(real.card);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_forms_are_computed_by_the_library, reset),
        cmocka_unit_test_setup(doubles_and_four_dimensions_are_the_plain_kernels, reset),
        cmocka_unit_test_setup(a_plan_is_chosen_once_for_each_shape, reset),
        cmocka_unit_test_setup(engines_that_may_not_be_used_are_passed_over, reset),
        cmocka_unit_test_setup(tensor_cores_compute_float32_only_where_tf32_is_allowed, reset),
        cmocka_unit_test_setup(a_plan_with_tensor_cores_is_another_plan, reset),
        cmocka_unit_test_setup(engines_that_fail_or_want_more_memory_are_passed_over, reset),
        cmocka_unit_test_setup(steps_that_no_engine_fuses_are_computed_behind, reset),
        cmocka_unit_test_setup(what_the_library_refuses_is_asked_once_and_computed_plainly, reset),
        cmocka_unit_test_setup(a_library_without_a_handle_is_left_alone, reset),
        cmocka_unit_test_setup(regions_have_their_channels_last_in_the_library, reset),
        cmocka_unit_test_setup(without_the_library_nothing_is_turned_around, reset),
        cmocka_unit_test_setup(failures_of_the_library_are_told, reset),
        cmocka_unit_test_setup(plans_do_not_pile_up, reset),
        cmocka_unit_test_setup(attention_of_16_bits_is_the_librarys, reset),
        cmocka_unit_test_setup(attention_in_other_forms_is_the_plain_kernels, reset),
        cmocka_unit_test_setup(attention_that_the_library_refuses_is_the_plain_kernels, reset),
        cmocka_unit_test_setup(the_real_library_plans_attention, reset),
        cmocka_unit_test_setup(the_real_library_plans_all_forms, reset),
        cmocka_unit_test_setup(the_real_library_copies_images_whose_channels_are_first, reset),
        cmocka_unit_test_setup(the_real_library_has_tensor_cores_for_tf32, reset),
    };
    return cmocka_run_group_tests_name("worker/cuda/dnn", tests, NULL, NULL);
}
