/* Optimisers on the card beside the reference kernels: variables on either side, by handle and by reference,
 * in all types and sizes. What somebody still reads does not change. */
#include "tests/support/cmocka_all.h"

#include "shared/base/buffer.h"
#include "shared/base/text.h"
#include "shared/ops/registry.h"
#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "tests/support/graph_literals.h"
#include "tests/support/reference_run.h"
#include "tests/support/tensor_literals.h"
#include "worker/runtime/variable.h"

enum { INPUTS_MAX = 11, VARIABLES_MAX = 4, ARENA_SIZE = 1 << 20 };

extern const KernelFamily *const cuda_kernels_table[];
extern const size_t cuda_kernels_table_count;

/* The kinds of a node's inputs, in order: v is a variable, s a scalar, r one of -1/2, g the gradient. */
typedef struct OptimiserCase {
    const char *op;
    const char *inputs;
    const char *attrs;
} OptimiserCase;

static const OptimiserCase cases[] = {
    {"ApplyGradientDescent", "vsg", ""},
    {"ResourceApplyGradientDescent", "vsg", ""},
    {"ApplyProximalGradientDescent", "vsssg", ""},
    {"ResourceApplyProximalGradientDescent", "vsssg", ""},
    {"ApplyAdadelta", "vvvsssg", ""},
    {"ResourceApplyAdadelta", "vvvsssg", ""},
    {"ApplyAdagrad", "vvsg", ""},
    {"ResourceApplyAdagrad", "vvsg", "update_slots=false"},
    {"ApplyAdagradV2", "vvssg", ""},
    {"ResourceApplyAdagradV2", "vvssg", "update_slots=false"},
    {"ApplyProximalAdagrad", "vvsssg", ""},
    {"ResourceApplyProximalAdagrad", "vvsssg", ""},
    {"ApplyFtrl", "vvvgssss", ""},
    {"ResourceApplyFtrl", "vvvgsssr", ""},
    {"ApplyFtrlV2", "vvvgsssss", ""},
    {"ResourceApplyFtrlV2", "vvvgsssss", ""},
    {"ApplyMomentum", "vvsgs", ""},
    {"ResourceApplyMomentum", "vvsgs", "use_nesterov=true"},
    {"ResourceApplyKerasMomentum", "vvsgs", ""},
    {"ResourceApplyKerasMomentum", "vvsgs", "use_nesterov=true"},
    {"ApplyAdam", "vvvssssssg", ""},
    {"ResourceApplyAdam", "vvvssssssg", "use_nesterov=true"},
    {"ResourceApplyAdamWithAmsgrad", "vvvvssssssg", ""},
    {"ApplyAdaMax", "vvvsssssg", ""},
    {"ResourceApplyAdaMax", "vvvsssssg", ""},
    {"ApplyRMSProp", "vvvssssg", ""},
    {"ResourceApplyRMSProp", "vvvssssg", ""},
    {"ApplyCenteredRMSProp", "vvvvssssg", ""},
    {"ResourceApplyCenteredRMSProp", "vvvvssssg", ""},
    {"ApplyAddSign", "vvssssg", ""},
    {"ResourceApplyAddSign", "vvssssg", ""},
    {"ApplyPowerSign", "vvssssg", ""},
    {"ResourceApplyPowerSign", "vvssssg", ""},
    {"AssignAdd", "vg", ""},
    {"AssignAddVariableOp", "vg", ""},
    {"AssignSub", "vg", ""},
    {"AssignSubVariableOp", "vg", ""},
};

static const Dtype dtypes[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32, DTYPE_FLOAT64};

static CudaBench bench;

/* A case in one type and size. */
typedef struct Trial {
    const OptimiserCase *is_of;
    Dtype dtype;
    int64_t count;          /* of the variables' elements */
    int64_t gradient_count; /* as `count`, but in a case that fails */
    const Node *node;
} Trial;

static bool
is_by_handle(const char *op)
{
    return strncmp(op, "Resource", strlen("Resource")) == 0 || strstr(op, "VariableOp") != NULL;
}

static Graph *
link_trial(Call *call, const Trial *trial)
{
    AUTO_BUFFER text = {0};
    const char *dtype = dtype_name(trial->dtype);
    const OptimiserCase *is_of = trial->is_of;
    bool has_handles = is_by_handle(is_of->op);
    for (size_t i = 0; is_of->inputs[i] != '\0'; i++) {
        const char *source = is_of->inputs[i] != 'v' ? "Placeholder"
                             : has_handles           ? "VarHandleOp"
                                                     : "VariableV2";
        buffer_append_format(&text, "i%zu = %s() dtype=%s", i, source, dtype);
        if (is_of->inputs[i] == 'v') {
            buffer_append_format(&text, " shape=<%lld> container='' shared_name=''", (long long)trial->count);
        }
        buffer_append_string(&text, "\n");
    }
    buffer_append_format(&text, "node = %s(", is_of->op);
    for (size_t i = 0; is_of->inputs[i] != '\0'; i++) {
        buffer_append_format(&text, "%si%zu", i == 0 ? "" : ", ", i);
    }
    const char *type = strstr(is_of->op, "VariableOp") != NULL ? "dtype" : "T";
    buffer_append_format(&text, ") %s=%s %s\n", type, dtype, is_of->attrs);
    AUTO_GRAPH_DEF def = graph_literal(text_copy(call->arena, buffer_slice(&text)));
    Graph *graph = NULL;
    assert_non_null(def);
    assert_status(call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){0}, &graph));
    return graph;
}

/* Returns numbers between 1/4 and 3/2, or a scalar below 1. */
static Tensor
draw(const Trial *trial, char kind, int seed)
{
    AUTO_BUFFER text = {0};
    int64_t count = kind == 'g' ? trial->gradient_count : trial->count;
    bool is_scalar = kind == 's' || kind == 'r';
    if (is_scalar) {
        double number = kind == 'r' ? -0.5 : (seed + 1) / 16.0;
        buffer_append_format(&text, "%s[] %g", dtype_name(trial->dtype), number);
    } else {
        buffer_append_format(&text, "%s[%lld]", dtype_name(trial->dtype), (long long)count);
    }
    for (int64_t i = 0; !is_scalar && i < count; i++) {
        buffer_append_format(&text, " %g", 0.25 + (double)((i * 7 + (int64_t)seed * 13) % 41) / 32);
    }
    return tensor_literal(buffer_string(&text));
}

/* Moves a tensor to the card. */
static void
upload(Tensor *tensor)
{
    size_t size = tensor_byte_size(tensor);
    if (size == 0) {
        return;
    }
    TensorBuffer *buffer = bench.card->allocate(bench.card, size);
    assert_non_null(buffer);
    assert_int_equal(cudaMemcpy(buffer->data, tensor->data, size, cudaMemcpyHostToDevice), cudaSuccess);
    tensor_buffer_unref(tensor->buffer);
    tensor->buffer = buffer;
    tensor->data = buffer->data;
}

/* Moves a tensor to the host, if it is on the card. */
static void
download(Tensor *tensor)
{
    Tensor copy = {0};
    if (tensor_is_on_host(tensor)) {
        return;
    }
    assert_true(tensor_new(tensor->dtype, &tensor->shape, &copy));
    assert_int_equal(
        cudaMemcpy(copy.data, tensor->data, tensor_byte_size(tensor), cudaMemcpyDeviceToHost), cudaSuccess);
    tensor_unref(tensor);
    *tensor = copy;
}

static Tensor
make_variable(Call *call, Tensor *value)
{
    VariableDeclaration declaration = {.name = SLICE("v"), .dtype = value->dtype, .shape = value->shape};
    Variable *variable = NULL;
    Tensor handle;
    assert_status(call, STATUS_OK, variable_new(call, &declaration, &variable));
    variable_replace(variable, value);
    assert_true(resource_handle(variable_resource(variable), DTYPE_RESOURCE, &handle));
    return handle;
}

static Variable *
variable_of(const Tensor *handle)
{
    return (Variable *)(void *)resource_of(handle, &variable_type);
}

static const Kernel *
find_on_card(const Node *node)
{
    for (size_t family = 0; family < cuda_kernels_table_count; family++) {
        for (size_t index = 0; index < cuda_kernels_table[family]->kernel_count; index++) {
            const Kernel *kernel = &cuda_kernels_table[family]->kernels[index];
            if (slice_equals_string(node->op->name, kernel->op)) {
                return kernel->supports(node) ? kernel : NULL;
            }
        }
    }
    return NULL;
}

static Status
compute_on_card(Call *call, const Node *node, Tensor *inputs, Tensor *outputs)
{
    const Kernel *kernel = find_on_card(node);
    if (kernel == NULL) {
        return call_fail(call, STATUS_UNIMPLEMENTED, "the card has no kernel");
    }
    assert_true(kernel->visits_variables);
    KernelContext context = {.call = call,
        .device = bench.card,
        .host = bench.host,
        .lane = bench.lane,
        .node = node,
        .inputs = inputs,
        .input_count = node->input_count,
        .outputs = outputs,
        .output_count = node->output_count};
    void *state = NULL;
    if (kernel->create != NULL) {
        assert_status(call, STATUS_OK, kernel->create(call, node, &state));
    }
    context.state = state;
    bench.card->enter(bench.card, bench.lane);
    Status status = kernel->compute(&context);
    Call other = {0};
    assert_status(&other, STATUS_OK, bench.card->leave(&other, bench.card, bench.lane));
    if (kernel->destroy != NULL) {
        kernel->destroy(state);
    }
    return status;
}

/* Runs a trial on one side; the new values are in the order of the variables. `is_read`: somebody holds the
 * old values, which must not change. */
static Status
run_trial(Call *call, const Trial *trial, bool is_on_card, bool is_read, Tensor ret_values[VARIABLES_MAX])
{
    Tensor inputs[INPUTS_MAX] = {0};
    Tensor outputs[1] = {0};
    Tensor held[VARIABLES_MAX] = {0};
    const char *kinds = trial->is_of->inputs;
    int variable_count = 0;
    for (int i = 0; kinds[i] != '\0'; i++) {
        inputs[i] = draw(trial, kinds[i], i);
        if (is_on_card) {
            upload(&inputs[i]);
        }
        if (kinds[i] == 'v') {
            held[variable_count] = is_read ? tensor_ref(&inputs[i]) : (Tensor){0};
            inputs[i] = make_variable(call, &inputs[i]);
            variable_count++;
        }
    }
    Tensor handles[VARIABLES_MAX] = {0};
    for (int i = 0; i < variable_count; i++) {
        handles[i] = tensor_ref(&inputs[i]);
    }
    Status status = is_on_card ? compute_on_card(call, trial->node, inputs, outputs)
                               : reference_compute(call, trial->node, inputs, outputs);
    for (int i = 0; i < variable_count; i++) {
        AUTO_TENSOR before = draw(trial, 'v', i);
        Call reading = {0};
        assert_status(&reading, STATUS_OK, variable_read(&reading, variable_of(&handles[i]), &ret_values[i]));
        download(&ret_values[i]);
        download(&held[i]);
        assert_true(!is_read || tensor_equal(&held[i], &before));
        tensor_unref(&held[i]);
        tensor_unref(&handles[i]);
    }
    tensor_unref(&outputs[0]);
    for (int i = 0; i < INPUTS_MAX; i++) {
        tensor_unref(&inputs[i]);
    }
    return status;
}

static void
compare_trial(Trial trial, bool is_read)
{
    Call call = {.arena = arena_new(ARENA_SIZE)};
    Call card_call = {.arena = arena_new(ARENA_SIZE)};
    Tensor expected[VARIABLES_MAX] = {0};
    Tensor actual[VARIABLES_MAX] = {0};
    Graph *graph = link_trial(&call, &trial);
    trial.node = &graph->nodes[graph->node_count - 1];
    Status status = run_trial(&call, &trial, false, is_read, expected);
    Status card_status = run_trial(&card_call, &trial, true, is_read, actual);
    assert_int_equal(card_status, status);
    if (status != STATUS_OK) {
        assert_string_equal(card_call.error.message, call.error.message);
    }
    for (int i = 0; i < VARIABLES_MAX; i++) {
        double tolerance = tensor_distance_max(trial.dtype);
        if (expected[i].dtype != DTYPE_INVALID && !tensor_is_near(&actual[i], &expected[i], tolerance)) {
            fail_msg("%s {%s} of %lld %s: variable %d differs on the card", trial.is_of->op,
                trial.is_of->attrs, (long long)trial.count, dtype_name(trial.dtype), i);
        }
        tensor_unref(&expected[i]);
        tensor_unref(&actual[i]);
    }
    graph_unref(graph);
    arena_free(call.arena);
    arena_free(card_call.arena);
}

static void
variables_change_as_on_the_host(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 333};
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        for (size_t dtype = 0; dtype < COUNT_OF(dtypes); dtype++) {
            for (size_t count = 0; count < COUNT_OF(counts); count++) {
                Trial trial = {.is_of = &cases[index],
                    .dtype = dtypes[dtype],
                    .count = counts[count],
                    .gradient_count = counts[count]};
                compare_trial(trial, false);
                compare_trial(trial, true);
            }
        }
    }
    assert_int_equal(cuda_bench_memory(&bench).in_use, 0);
}

static void
shapes_are_refused_as_on_the_host(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        compare_trial(
            (Trial){.is_of = &cases[index], .dtype = DTYPE_FLOAT32, .count = 5, .gradient_count = 4}, false);
    }
    assert_int_equal(cuda_bench_memory(&bench).in_use, 0);
}

static void
every_kernel_has_a_case(void **state)
{
    (void)state;
    size_t found = 0;
    for (size_t family = 0; family < cuda_kernels_table_count; family++) {
        if (strstr(cuda_kernels_table[family]->file, "/optimise.c") == NULL) {
            continue;
        }
        for (size_t row = 0; row < cuda_kernels_table[family]->kernel_count; row++) {
            const Kernel *kernel = &cuda_kernels_table[family]->kernels[row];
            bool has_case = !kernel->visits_variables;
            for (size_t index = 0; index < COUNT_OF(cases); index++) {
                has_case = has_case || strcmp(cases[index].op, kernel->op) == 0;
            }
            if (!has_case) {
                fail_msg("%s has no case", kernel->op);
            }
            found += kernel->visits_variables;
        }
    }
    assert_true(found > 0);
}

static int
open_card(void **state)
{
    Call call = {.arena = arena_new(ARENA_SIZE)};
    (void)state;
    cuda_on_cpu_reset(false);
    bench = cuda_bench_open(&call, "", MIB, 0);
    arena_free(call.arena);
    return 0;
}

static int
close_card(void **state)
{
    (void)state;
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_change_as_on_the_host),
        cmocka_unit_test(shapes_are_refused_as_on_the_host),
        cmocka_unit_test(every_kernel_has_a_case),
    };
    return cmocka_run_group_tests_name("worker/cuda/kernels/optimise", tests, open_card, close_card);
}
