/* ONNX's backend node suite on the reference kernels: each case is a model of one or few nodes with inputs
 * and expected outputs. Runs when CORPUS names the folder that holds onnx-node-1.22.tar.xz. Cases that the
 * importer or the kernels refuse as UNIMPLEMENTED are skipped and counted; all others must come out right.
 *
 * With an accelerator (planned_run.h) the cases that have come out right must do so there as well, nothing
 * folded before, and on a test device with the host's bits; the nodes that then run on the host are written
 * to the file that COVERAGE names, for tests/conformance/cuda_coverage.py. */
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/expand/expand.h"
#include "gateway/formats/onnx.h"
#include "gateway/optimise/optimise.h"
#include "shared/ops/registry.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/planned_run.h"
#include "tests/support/protobuf_writer.h"
#include "tests/support/reference_run.h"
#include "tests/support/tensor_literals.h"
#include "worker/runtime/partition/schedule.h"

enum {
    CASE_COUNT_MAX = 4096,
    PORTS_MAX = 32,
    PATH_SIZE = 1024,
    FOLDER_SIZE = 512,
    SUITE_ARENA_SIZE = 1 << 26
};

/* The number of the 1,765 cases of version 1.22 that passed when it was last raised. */
enum { PASSED_MIN = 1511 };

static PlannedRun planned;
static FILE *coverage; /* NULL: nobody asks for it */

typedef enum Outcome { PASSED, FAILED, SKIPPED } Outcome;

typedef struct Case {
    const char *path;
    Call *call;
    Graph *graph;
    bool has_control_flow; /* cannot run on the reference kernels alone */
    ReferenceFeed feeds[PORTS_MAX];
    size_t feed_count;
    Endpoint fetches[PORTS_MAX];
    Tensor outputs[PORTS_MAX];
    bool runs_there;   /* nodes of it ran on the accelerator */
    Buffer host_nodes; /* the others, as the file of COVERAGE has them */
} Case;

static TensorBuffer *
read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (file == NULL || fstat(fileno(file), &status) != 0) {
        fail_msg("'%s' cannot be read", path);
        return NULL;
    }
    TensorBuffer *buffer = tensor_buffer_new((size_t)status.st_size);
    assert_non_null(buffer);
    assert_int_equal(fread(buffer->data, 1, (size_t)status.st_size, file), status.st_size);
    (void)fclose(file);
    return buffer;
}

/* Reads a TensorProto, as the initializer of an otherwise empty model. */
static Status
read_tensor(Call *call, const char *path, Tensor *ret_tensor)
{
    TensorBuffer *bytes = read_file(path);
    AUTO_BUFFER graph = {0};
    protobuf_put_bytes(&graph, 5, slice_of(bytes->data, bytes->size));
    TensorBuffer *model = onnx_model(&graph, 22);
    AUTO_GRAPH_DEF def = NULL;
    Status status = onnx_read(call, model, &def);
    if (status == STATUS_OK) {
        assert_int_equal(def->node_count, 1);
        *ret_tensor = tensor_ref(&node_def_attr(&def->nodes[0], SLICE("value"))->value.tensor);
    }
    tensor_buffer_unref(model);
    tensor_buffer_unref(bytes);
    return status;
}

static Status
read_graph(Case *subject, const char *path)
{
    TensorBuffer *source = read_file(path);
    AUTO_GRAPH_DEF def = NULL;
    Status status = onnx_read(subject->call, source, &def);
    AUTO_GRAPH_DEF expanded = NULL;
    status = status == STATUS_OK ? graph_expand(subject->call, def, UINT64_MAX, &expanded) : status;
    if (status == STATUS_OK) {
        GraphLimits limits = {0};
        status = graph_link(subject->call, expanded, op_find, limits, &subject->graph);
        subject->has_control_flow = expanded != def;
    }
    tensor_buffer_unref(source);
    return status;
}

static Status
read_model(Case *subject)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/model.onnx", subject->path);
    return read_graph(subject, path);
}

static Status
check_known(const Case *subject)
{
    for (uint32_t id = 0; id < subject->graph->node_count; id++) {
        const Node *node = &subject->graph->nodes[id];
        if (node->op == NULL) {
            return call_fail(
                subject->call, STATUS_UNIMPLEMENTED, "there is no op '%.*s'", SLICE_PRINT(node->def->op));
        }
    }
    return STATUS_OK;
}

static Status
read_feeds(Case *subject)
{
    const GraphDef *def = subject->graph->def;
    assert_true(def->input_count <= PORTS_MAX && def->output_count <= PORTS_MAX);
    for (size_t index = 0; index < def->input_count; index++) {
        char path[PATH_SIZE];
        ReferenceFeed *feed = &subject->feeds[index];
        (void)snprintf(path, sizeof path, "%s/test_data_set_0/input_%zu.pb", subject->path, index);
        TRY(read_tensor(subject->call, path, &feed->tensor));
        subject->feed_count++;
        TRY(graph_endpoint(subject->call, subject->graph, def->inputs[index].tensor, &feed->endpoint));
    }
    return STATUS_OK;
}

static Status
run_model(Case *subject)
{
    const GraphDef *def = subject->graph->def;
    for (size_t index = 0; index < def->output_count; index++) {
        TRY(graph_endpoint(
            subject->call, subject->graph, def->outputs[index].tensor, &subject->fetches[index]));
    }
    if (subject->has_control_flow) {
        return planned_run(subject->call, &planned, subject->graph, subject->feeds, subject->feed_count,
            subject->fetches, def->output_count, subject->outputs);
    }
    return reference_run(subject->call, subject->graph, subject->feeds, subject->feed_count, subject->fetches,
        def->output_count, subject->outputs);
}

/* The tolerance is tighter than the suite's own 1e-3 of the value; 16-bit floats carry fewer digits. */
static double
tolerance_of(Dtype dtype)
{
    return dtype == DTYPE_FLOAT16 ? 2e-3 : dtype == DTYPE_BFLOAT16 ? 1e-2 : 1e-4;
}

static Status
check_outputs(Case *subject, bool *ret_is_right)
{
    *ret_is_right = true;
    for (size_t index = 0; index < subject->graph->def->output_count; index++) {
        char path[PATH_SIZE];
        AUTO_TENSOR expected = {0};
        (void)snprintf(path, sizeof path, "%s/test_data_set_0/output_%zu.pb", subject->path, index);
        TRY(read_tensor(subject->call, path, &expected));
        *ret_is_right = *ret_is_right &&
                        tensor_is_near(&subject->outputs[index], &expected, tolerance_of(expected.dtype));
    }
    return STATUS_OK;
}

static Status
infer(const Case *subject)
{
    ShapeSeed seeds[PORTS_MAX];
    const Shape *const *shapes = NULL;
    for (size_t index = 0; index < subject->feed_count; index++) {
        seeds[index] = (ShapeSeed){
            .endpoint = subject->feeds[index].endpoint, .shape = subject->feeds[index].tensor.shape};
    }
    return graph_infer_shapes(subject->call, subject->graph, seeds, subject->feed_count, &shapes);
}

/* Plans and runs the case with every constant absent, with those passes that keep every bit. */
static Status
run_without_weights(Case *subject, Tensor *ret_outputs)
{
    AbsentWeights weights = {.size_min = 1};
    AUTO_GRAPH_DEF def = absent_weights_take(&weights, subject->graph->def);
    AUTO_GRAPH graph = NULL;
    PlannedRun run = planned;
    run.weights = &weights;
    Status status = graph_link(subject->call, def, op_find, (GraphLimits){0}, &graph);
    status = status == STATUS_OK
                 ? planned_run(subject->call, &run, graph, subject->feeds, subject->feed_count,
                       subject->fetches, subject->graph->def->output_count, ret_outputs)
                 : status;
    absent_weights_done(&weights);
    return status;
}

/* Prints each output that has other bits than expected; releases both. Returns whether there is none. */
static bool
compare_bits(Tensor *outputs, Tensor *expected, size_t count, const char *how)
{
    bool are_equal = true;
    for (size_t index = 0; index < count; index++) {
        bool is_equal = tensor_equal(&expected[index], &outputs[index]);
        if (!is_equal) {
            print_error("%s, output %zu has other bits\n", how, index);
        }
        are_equal = are_equal && is_equal;
        tensor_unref(&expected[index]);
        tensor_unref(&outputs[index]);
    }
    return are_equal;
}

/* Fails the case unless a plan that knows no constant's value gives the bits of one that knows all. */
static Status
check_without_weights(Case *subject, bool *ret_is_right)
{
    Tensor expected[PORTS_MAX] = {0};
    Tensor outputs[PORTS_MAX] = {0};
    size_t count = subject->graph->def->output_count;
    Status status = planned_run(subject->call, &planned, subject->graph, subject->feeds, subject->feed_count,
        subject->fetches, count, expected);
    status = status == STATUS_OK ? run_without_weights(subject, outputs) : status;
    bool are_equal = compare_bits(outputs, expected, count, "with absent constants");
    *ret_is_right = *ret_is_right && are_equal;
    return status;
}

/* Keeps, for a line of the file, the op, the dtypes and the reason of each node that the host computes. */
static void
note_host_nodes(void *context, const Partition *partition)
{
    Case *subject = context;
    subject->runs_there = partition_uses_accelerator(partition);
    for (uint32_t index = 0; index < partition->node_count; index++) {
        const ScheduleNode *node = &partition->nodes[index];
        if (node->reason == NULL) {
            continue;
        }
        buffer_append_format(&subject->host_nodes, "\t%.*s\t", SLICE_PRINT(node->node->op->name));
        for (uint32_t input = 0; input < node->node->input_count; input++) {
            buffer_append_format(&subject->host_nodes, "%s%s", input == 0 ? "" : " ",
                dtype_name(node->node->input_dtypes[input]));
        }
        buffer_append_format(&subject->host_nodes, "\t%s", node->reason);
    }
}

static void
write_coverage(const Case *subject, Outcome outcome)
{
    if (coverage != NULL && outcome != SKIPPED) {
        const char *verdict = outcome == FAILED ? "wrong" : subject->runs_there ? "there" : "not there";
        (void)fprintf(coverage, "%s\t%s%.*s\n", strrchr(subject->path, '/') + 1, verdict,
            SLICE_PRINT(buffer_slice(&subject->host_nodes)));
    }
}

/* Runs the case with nothing folded before. With an accelerator, notes what the host computes. */
static Status
run_unfolded(Case *subject, Device *accelerator, Tensor *ret_outputs)
{
    PlannedRun run = planned;
    assert_true(pass_set_add(&run.passes_off, SLICE("constant_folding")));
    run.accelerator = accelerator;
    run.examine = accelerator == NULL ? NULL : note_host_nodes;
    run.examiner = subject;
    return planned_run(subject->call, &run, subject->graph, subject->feeds, subject->feed_count,
        subject->fetches, subject->graph->def->output_count, ret_outputs);
}

/* Fails the case unless a test device, whose kernels are the host's, has given the bits of the host alone. */
static Status
check_host_bits(Case *subject, bool *ret_is_right)
{
    Tensor expected[PORTS_MAX] = {0};
    size_t count = subject->graph->def->output_count;
    TRY(run_unfolded(subject, NULL, expected));
    *ret_is_right = compare_bits(subject->outputs, expected, count, "on the test device");
    return STATUS_OK;
}

/* Fails the case unless it comes out right on the accelerator too. */
static Status
check_accelerator(Case *subject, bool *ret_is_right)
{
    for (size_t index = 0; index < subject->graph->def->output_count; index++) {
        tensor_unref(&subject->outputs[index]);
    }
    TRY(run_unfolded(subject, planned.accelerator, subject->outputs));
    TRY(check_outputs(subject, ret_is_right));
    bool is_test_device = planned.opened.device == NULL;
    return *ret_is_right && is_test_device ? check_host_bits(subject, ret_is_right) : STATUS_OK;
}

static Outcome
judge(Case *subject)
{
    bool is_right = false;
    Status status = read_model(subject);
    status = status == STATUS_OK ? check_known(subject) : status;
    status = status == STATUS_OK ? read_feeds(subject) : status;
    status = status == STATUS_OK ? infer(subject) : status;
    status = status == STATUS_OK ? run_model(subject) : status;
    status = status == STATUS_OK ? check_outputs(subject, &is_right) : status;
    if (status == STATUS_OK && is_right && planned.accelerator != NULL) {
        status = check_accelerator(subject, &is_right);
    }
    if (status == STATUS_OK && is_right && coverage == NULL) {
        status = check_without_weights(subject, &is_right);
    }
    if (status == STATUS_UNIMPLEMENTED) {
        return SKIPPED;
    }
    if (status != STATUS_OK) {
        print_error("%s: %s\n", status_name(status), subject->call->error.message);
        for (int index = 0; index < subject->call->error.detail_count; index++) {
            print_error("  %s\n", subject->call->error.details[index].detail);
        }
    }
    return is_right ? PASSED : FAILED;
}

static Outcome
run_case(const char *path)
{
    AUTO_ARENA arena = arena_new(SUITE_ARENA_SIZE);
    Call call = {.arena = arena};
    Case subject = {.path = path, .call = &call};
    Outcome outcome = judge(&subject);
    write_coverage(&subject, outcome);
    buffer_done(&subject.host_nodes);
    if (outcome == SKIPPED && getenv("SUITE_VERBOSE") != NULL) {
        print_message("skipped %s: %s\n", strrchr(path, '/') + 1, call.error.message);
    }
    for (size_t index = 0; index < PORTS_MAX; index++) {
        tensor_unref(&subject.feeds[index].tensor);
        tensor_unref(&subject.outputs[index]);
    }
    graph_unref(subject.graph);
    return outcome;
}

/* Returns true for cases that cannot match: they hold random numbers of another generator. */
static bool
is_random(const char *name)
{
    return strstr(name, "bernoulli") != NULL || strstr(name, "training_dropout") != NULL;
}

static void
run_all(const char *folder)
{
    struct dirent **entries = NULL;
    size_t counts[3] = {0};
    int count = scandir(folder, &entries, NULL, alphasort);
    assert_true(count > 0 && count < CASE_COUNT_MAX);
    for (int index = 0; index < count; index++) {
        const char *name = entries[index]->d_name;
        char path[PATH_SIZE];
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        if (name[0] != '.' && !is_random(name)) {
            Outcome outcome = run_case(path);
            counts[outcome]++;
            if (outcome == FAILED) {
                print_error("failed %s\n", name);
            }
        }
        free(entries[index]);
    }
    free(entries);
    print_message("%zu passed, %zu failed, %zu skipped\n", counts[PASSED], counts[FAILED], counts[SKIPPED]);
    assert_int_equal(counts[FAILED], 0);
    assert_true(counts[PASSED] >= PASSED_MIN);
}

/* Runs a program found in PATH; returns its exit code. */
static int
run_program(char *const *arguments)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)execvp(arguments[0], arguments);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void
cases_of_the_suite_come_out_right(void **state)
{
    (void)state;
    const char *corpus = getenv("CORPUS");
    char archive[FOLDER_SIZE];
    char folder[] = "/tmp/onnx-suite-XXXXXX";
    char cases[FOLDER_SIZE];
    if (corpus == NULL) {
        print_message("skipped: no CORPUS\n");
        skip();
        return;
    }
    (void)snprintf(archive, sizeof archive, "%s/onnx-node-1.22.tar.xz", corpus);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(cases, sizeof cases, "%s/onnx/backend/test/data/node", folder);
    char *const unpack[] = {(char[]){"tar"}, (char[]){"-xJf"}, archive, (char[]){"-C"}, folder, NULL};
    char *const removal[] = {(char[]){"rm"}, (char[]){"-rf"}, folder, NULL};
    assert_int_equal(run_program(unpack), 0);
    run_all(cases);
    assert_int_equal(run_program(removal), 0);
}

/* Runs a model of one input; returns its one output. */
static Tensor
run_one(Arena *arena, TensorBuffer *source, const Tensor *input)
{
    Call call = {.arena = arena};
    AUTO_GRAPH_DEF def = NULL;
    AUTO_GRAPH graph = NULL;
    Tensor output = {0};
    Endpoint fetch;
    ReferenceFeed feed = {.tensor = *input};
    GraphLimits limits = {0};
    assert_status(&call, STATUS_OK, onnx_read(&call, source, &def));
    tensor_buffer_unref(source);
    assert_status(&call, STATUS_OK, graph_link(&call, def, op_find, limits, &graph));
    assert_status(&call, STATUS_OK, graph_endpoint(&call, graph, def->inputs[0].tensor, &feed.endpoint));
    assert_status(&call, STATUS_OK, graph_endpoint(&call, graph, def->outputs[0].tensor, &fetch));
    assert_status(&call, STATUS_OK, reference_run(&call, graph, &feed, 1, &fetch, 1, &output));
    return output;
}

static void
a_model_runs_node_by_node(void **state)
{
    (void)state;
    const float values[] = {2, -3};
    const int64_t dims[] = {2};
    AUTO_ARENA arena = arena_new(SUITE_ARENA_SIZE);
    AUTO_BUFFER graph = {0};
    onnx_put_value(&graph, 11, "x", 1, dims, 1);
    onnx_put_value(&graph, 12, "z", 1, dims, 1);
    onnx_put_floats_initializer(&graph, "w", values, 2);
    onnx_put_node(&graph, "Mul", "x,w", "y", NULL);
    onnx_put_node(&graph, "Relu", "y", "z", NULL);
    AUTO_TENSOR input = tensor_literal("float32[2] 5 1");
    AUTO_TENSOR output = run_one(arena, onnx_model(&graph, 22), &input);
    AUTO_TENSOR expected = tensor_literal("float32[2] 10 0");
    assert_true(tensor_is_near(&output, &expected, 0));
}

/* A model of 95 nodes. Expected are ONNX Runtime 1.31.1's five likeliest of 214 classes for 2,048 varied
 * bytes. (For inputs that are mostly padding it computes variances by cancellation, and engines differ.) */
static void
a_trained_classifier_gives_known_shares(void **state)
{
    (void)state;
    static const struct {
        int index;
        double share;
    } expected[] = {{148, 0.993012249}, {32, 0.00377895031}, {202, 0.00130778993}, {213, 0.000453894143},
        {100, 0.000269165204}};
    const char *corpus = getenv("CORPUS");
    if (corpus == NULL) {
        skip();
        return;
    }
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/models/magika_standard_v3_3.onnx", corpus);
    AUTO_ARENA arena = arena_new(SUITE_ARENA_SIZE);
    AUTO_TENSOR input = tensor_literal("int32[1,2048] 0 ...");
    for (int32_t index = 0; index < 2048; index++) {
        ((int32_t *)input.data)[index] = (index * index / 7 + index * 3) % 97 + 10;
    }
    AUTO_TENSOR output = run_one(arena, read_file(path), &input);
    assert_int_equal(tensor_element_count(&output), 214);
    for (size_t index = 0; index < COUNT_OF(expected); index++) {
        double share = (double)((const float *)output.data)[expected[index].index];
        assert_true(share > expected[index].share - 1e-5 && share < expected[index].share + 1e-5);
    }
}

/* Runs one window of sound through the detector; returns the probability of speech and replaces the state. */
static double
detect(Call *call, const Graph *graph, const Tensor *sound, Tensor *state, int64_t rate)
{
    AUTO_TENSOR rate_tensor = tensor_literal("int64[] 0");
    *(int64_t *)rate_tensor.data = rate;
    const Tensor inputs[] = {*sound, *state, rate_tensor};
    ReferenceFeed feeds[3];
    Endpoint fetches[2];
    Tensor outputs[2] = {0};
    for (size_t index = 0; index < 3; index++) {
        feeds[index].tensor = inputs[index];
        assert_status(call, STATUS_OK,
            graph_endpoint(call, graph, graph->def->inputs[index].tensor, &feeds[index].endpoint));
    }
    for (size_t index = 0; index < 2; index++) {
        assert_status(
            call, STATUS_OK, graph_endpoint(call, graph, graph->def->outputs[index].tensor, &fetches[index]));
    }
    assert_status(call, STATUS_OK, planned_run(call, &planned, graph, feeds, 3, fetches, 2, outputs));
    double probability = (double)*(const float *)outputs[0].data;
    tensor_unref(&outputs[0]);
    tensor_unref(state);
    *state = outputs[1];
    return probability;
}

/* A model of 689 nodes, with Ifs nested four deep and an LSTM for each sample rate. Expected is what ONNX
 * Runtime 1.31.1 gives for two windows at each rate. */
static void
a_model_of_nested_ifs_detects_voice(void **state)
{
    (void)state;
    static const struct {
        const char *sound;
        int64_t rate;
        double probabilities[2];
    } expected[] = {
        {"float32[1,512] 0 ...", 16000, {0.02003571, 0.01127979}},
        {"float32[1,256] 0 ...", 8000, {0.17848596, 0.11376679}},
    };
    const char *corpus = getenv("CORPUS");
    if (corpus == NULL) {
        skip();
        return;
    }
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/models/silero_vad_v5.onnx", corpus);
    AUTO_ARENA arena = arena_new(SUITE_ARENA_SIZE);
    Call call = {.arena = arena};
    Case subject = {.call = &call};
    assert_status(&call, STATUS_OK, read_graph(&subject, path));
    for (size_t row = 0; row < COUNT_OF(expected); row++) {
        AUTO_TENSOR sound = tensor_literal(expected[row].sound);
        AUTO_TENSOR memory = tensor_literal("float32[2,1,128] 0 ...");
        for (int32_t n = 0; n < tensor_element_count(&sound); n++) {
            ((float *)sound.data)[n] = (float)((n * n / 7 + n * 3) % 97) / 97.0F - 0.5F;
        }
        for (size_t turn = 0; turn < 2; turn++) {
            double probability = detect(&call, subject.graph, &sound, &memory, expected[row].rate);
            assert_true(fabs(probability - expected[row].probabilities[turn]) < 1e-5);
        }
    }
    graph_unref(subject.graph);
}

/* Returns whether one of the first kernels of a plugin computes this op. */
static bool
has_kernel_before(const Plugin *plugin, size_t family, size_t kernel)
{
    const char *op = plugin->families[family]->kernels[kernel].op;
    for (size_t f = 0; f <= family; f++) {
        size_t count = f == family ? kernel : plugin->families[f]->kernel_count;
        for (size_t k = 0; k < count; k++) {
            if (strcmp(plugin->families[f]->kernels[k].op, op) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Returns how many ops the loaded plugin of this path has kernels for. */
static size_t
count_ops(const char *path)
{
    const Plugin *(*entry)(void) = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    *(void **)(void *)&entry = dlsym(library, "sluice_plugin");
    assert_non_null(entry);
    const Plugin *plugin = entry();
    size_t count = 0;
    for (size_t family = 0; family < plugin->family_count; family++) {
        for (size_t kernel = 0; kernel < plugin->families[family]->kernel_count; kernel++) {
            count += !has_kernel_before(plugin, family, kernel);
        }
    }
    return count;
}

/* Opens the file that COVERAGE names. Its first line counts the ops that the plugin has kernels for. */
static void
begin_coverage(void)
{
    const char *path = getenv("COVERAGE");
    if (path != NULL) {
        assert_non_null(planned.opened.device);
        coverage = fopen(path, "w");
        assert_non_null(coverage);
        (void)fprintf(coverage, "%zu\n", count_ops(getenv("SLUICE_TEST_DEVICE")));
    }
}

static void
end_coverage(void)
{
    if (coverage != NULL) {
        assert_int_equal(fclose(coverage), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_of_the_suite_come_out_right),
        cmocka_unit_test(a_trained_classifier_gives_known_shares),
        cmocka_unit_test(a_model_of_nested_ifs_detects_voice),
        cmocka_unit_test(a_model_runs_node_by_node),
    };
    planned_run_begin(&planned);
    begin_coverage();
    int failed = cmocka_run_group_tests_name("onnx suite", tests, NULL, NULL);
    end_coverage();
    planned_run_end(&planned);
    return failed;
}
