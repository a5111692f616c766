/* Fuzzes kernels: bytes choose a few ops, their attributes and their inputs, hostile ones too. Every
 * kernel computes or refuses, and its results have the dtypes and shapes that the op's rule infers. An
 * input may be the output of an op before it, so that resources are made and used. Bytes that begin with 'W'
 * make ops that slide windows over images, whose inputs nearly fit (window_choices.h); those with 'F' make
 * any ops of what fits together (fitting_choices.h). A kernel that lays out constants (prepare()) computes
 * again with its inputs as constants, to the same bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/ops/registry.h"
#include "tests/fuzz/fitting_choices.h"
#include "tests/fuzz/window_choices.h"
#include "worker/runtime/resource.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    ARENA_SIZE = 64 << 20,
    ALLOCATION_MAX = 4 << 20, /* the largest allocation of the device */
    OPS_MAX = 5,
    TENSORS_MAX = 48, /* of all ops together */
    ARGUMENTS_MAX = 12,
    ITEMS_MAX = 5, /* of a list */
};

/* How the values of a program are chosen. */
typedef enum Mode {
    MODE_WILD,
    MODE_WINDOWS, /* 'W' */
    MODE_FITTING, /* 'F' */
} Mode;

typedef struct Program {
    Choices choices;
    Mode mode;
    FittingChoices fitting; /* MODE_FITTING: of the step at hand */
    Call call;
    Device device;
    ResourceContainer *container;
    Tensor tensors[TENSORS_MAX];
    size_t tensor_count;
} Program;

static int64_t
choose_int(Program *program)
{
    Choices *choices = &program->choices;
    static const int64_t hostile[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, (int64_t)1 << 32,
        (int64_t)1 << 40, (int64_t)1 << 61, 255, -128, 65536, 1000000, -1000000};
    if (program->mode == MODE_FITTING) {
        return fitting_int(choices, &program->fitting);
    }
    size_t kind = choose(choices, 16);
    return kind == 15 ? CHOOSE(choices, hostile) : kind < 4 ? -(int64_t)kind : (int64_t)kind - 4;
}

static double
choose_real(Program *program)
{
    Choices *choices = &program->choices;
    static const double values[] = {
        0, 1, -1, 0.5, -0.25, 2, 3.5, 1e30, -1e30, 1e-30, (double)INFINITY, -(double)INFINITY, (double)NAN};
    if (program->mode == MODE_FITTING) {
        return fitting_real(choices, &program->fitting);
    }
    return CHOOSE(choices, values);
}

static Slice
choose_text(Program *program)
{
    Choices *choices = &program->choices;
    static const char *const texts[] = {"", "a", "ab", "b c", "1", "-12.5", "SAME", "VALID", "EXPLICIT",
        "NHWC", "NCHW", "BYTE", "UTF8_CHAR", "ij,jk->ik", "i,i", "...ij->...ji", "ii->i", "mean", "sum",
        "add", "mul", "min", "max", "none", "REFLECT", "SYMMETRIC", "reflect", "edge", "wrap", "constant",
        "linear", "nearest", "cubic", "asymmetric", "half_pixel", "align_corners", "LEFT_RIGHT", "SAME_UPPER",
        "SAME_LOWER", "NOTSET", "forward", "reverse", "bidirectional", "Relu", "Tanh", "\xc3\xa9\xff",
        "name"};
    if (program->mode == MODE_FITTING) {
        return fitting_text(choices);
    }
    return slice_from_string(CHOOSE(choices, texts));
}

static Dtype
choose_dtype(Program *program)
{
    Choices *choices = &program->choices;
    static const Dtype common[] = {DTYPE_FLOAT32, DTYPE_INT32, DTYPE_INT64, DTYPE_FLOAT64, DTYPE_BOOL,
        DTYPE_STRING, DTYPE_UINT8, DTYPE_FLOAT32, DTYPE_INT32};
    if (program->mode == MODE_FITTING) {
        return fitting_dtype(choices, &program->fitting);
    }
    return choose(choices, 4) > 0 ? CHOOSE(choices, common) : (Dtype)(1 + choose(choices, DTYPE_COUNT - 1));
}

static Shape
choose_shape(Program *program, bool is_partial)
{
    Choices *choices = &program->choices;
    static const int64_t sizes[] = {1, 2, 3, 4, 0, 2, 1, 5};
    static const int ranks[] = {1, 0, 2, 3, 4, 1, 2, 5, SHAPE_RANK_MAX};
    if (program->mode == MODE_FITTING) {
        return fitting_shape(choices, &program->fitting);
    }
    Shape shape = {.rank = CHOOSE(choices, ranks)};
    if (is_partial && choose(choices, 4) == 0) {
        return shape_unknown();
    }
    for (int dimension = 0; dimension < shape.rank; dimension++) {
        bool is_open = is_partial && choose(choices, 4) == 0;
        shape.dims[dimension] = is_open ? -1 : CHOOSE(choices, sizes);
    }
    return shape;
}

static void
fill(Program *program, Tensor *tensor)
{
    int64_t count = tensor_element_count(tensor);
    size_t size = dtype_size(tensor->dtype);
    for (int64_t n = 0; n < count; n++) {
        int64_t integer =
            tensor->dtype == DTYPE_BOOL ? (int64_t)choose(&program->choices, 2) : choose_int(program);
        char *to = (char *)tensor->data + (size_t)n * size;
        if (tensor->dtype == DTYPE_FLOAT32) {
            *(float *)(void *)to = (float)choose_real(program);
        } else if (tensor->dtype == DTYPE_FLOAT64) {
            *(double *)(void *)to = choose_real(program);
        } else {
            memset(to, 0, size);
            memcpy(to, &integer, size < sizeof integer ? size : sizeof integer);
        }
    }
}

static bool
make_strings(Program *program, const Shape *shape, Tensor *ret_tensor)
{
    int64_t count = 0;
    Slice strings[256];
    if (!shape_element_count(shape, &count) || count > (int64_t)COUNT_OF(strings)) {
        return false;
    }
    for (int64_t n = 0; n < count; n++) {
        strings[n] = choose_text(program);
    }
    return tensor_new_strings(shape, strings, ret_tensor);
}

static bool
make_tensor(Program *program, Dtype dtype, const Shape *shape, Tensor *ret_tensor)
{
    int64_t count = 0;
    if (dtype == DTYPE_STRING) {
        return make_strings(program, shape, ret_tensor);
    }
    if (!dtype_is_copyable(dtype) || !shape_element_count(shape, &count) || count > 4096 ||
        !tensor_new(dtype, shape, ret_tensor)) {
        return false;
    }
    fill(program, ret_tensor);
    return true;
}

/* One op of a program. */
typedef struct Step {
    Program *program;
    const Op *op;
    GraphDef *def;
    Attr attrs[24];
    size_t attr_count;
    Tensor inputs[ARGUMENTS_MAX];
    uint32_t input_count;
    WindowChoices window; /* read when the program has windows */
} Step;

static TensorBuffer *
allocate(Device *device, size_t size)
{
    (void)device;
    return size > ALLOCATION_MAX ? NULL : tensor_buffer_new(size);
}

static void
memory(const Device *device, DeviceMemory *ret_memory)
{
    (void)device;
    *ret_memory = (DeviceMemory){.limit = ALLOCATION_MAX};
}

/* Accounts are of runs, of which there are none. */
static MemoryAccount *
charge(Device *device, MemoryAccount *account)
{
    (void)device;
    return account;
}

static void
parallel_for(Device *device, int64_t count, void (*body)(void *context, int64_t index), void *context)
{
    (void)device;
    for (int64_t index = 0; index < count; index++) {
        body(context, index);
    }
}

/* Hashes by FNV-1a, which is the same in every process, unlike a map's hash. */
static uint16_t
hash_name(Slice name, Mode mode)
{
    uint32_t hash = mode == MODE_FITTING ? 2166136262U : 2166136261U;
    for (size_t index = 0; index < name.size; index++) {
        hash = (hash ^ (unsigned char)name.data[index]) * 16777619U;
    }
    return (uint16_t)(hash ^ hash >> 16);
}

/* Chooses the op whose name's hash comes next after two bytes. A new op takes over only a few inputs of
 * its neighbour, so that the corpus keeps its meaning.
 * MODE_FITTING begins its hashes with another number, so that ops that share a hash elsewhere do not there.
 */
static const Op *
choose_op(Program *program)
{
    uint16_t place = (uint16_t)choose(&program->choices, 1 << 16);
    const Op *nearest = op_at(0);
    uint16_t least = UINT16_MAX;
    for (size_t index = 0; index < op_count(); index++) {
        const Op *op = op_at(index);
        if (program->mode == MODE_WINDOWS && !op_has_window(op)) {
            continue;
        }
        uint16_t distance = (uint16_t)(hash_name(op->name, program->mode) - place);
        nearest = distance < least ? op : nearest;
        least = distance < least ? distance : least;
    }
    return nearest;
}

static bool
is_number(const Op *op, Slice name)
{
    bool is_one = false;
    for (size_t index = 0; index < op->input_count; index++) {
        is_one = is_one || slice_equal(op->inputs[index].number_attr, name);
    }
    return is_one;
}

static void
release_buffer(void *buffer)
{
    tensor_buffer_unref(buffer);
}

static bool
choose_item(Step *step, const OpAttribute *declared, AttrValue *ret_value)
{
    Program *program = step->program;
    Choices *choices = &program->choices;
    *ret_value = (AttrValue){.kind = declared->kind};
    if (program->mode == MODE_WINDOWS &&
        window_attribute(choices, &step->window, declared->name, ret_value)) {
        return true;
    }
    switch ((int)declared->kind) {
    case ATTR_INT:
        ret_value->value.i =
            is_number(step->op, declared->name) ? (int64_t)choose(choices, 4) : choose_int(program);
        return true;
    case ATTR_FLOAT:
        ret_value->value.f = (float)choose_real(program);
        return true;
    case ATTR_BOOL:
        ret_value->value.b = choose(choices, 2) == 1;
        return true;
    case ATTR_STRING:
        ret_value->value.s = choose_text(program);
        return true;
    case ATTR_TYPE:
        ret_value->value.type = choose_dtype(program);
        return true;
    case ATTR_SHAPE:
        ret_value->value.shape = choose_shape(program, true);
        return true;
    case ATTR_TENSOR: {
        Shape shape = choose_shape(program, false);
        Tensor *tensor = &ret_value->value.tensor;
        return make_tensor(program, choose_dtype(program), &shape, tensor) &&
               (tensor->buffer == NULL || arena_defer(step->def->arena, release_buffer, tensor->buffer));
    }
    default:
        return false;
    }
}

static bool
choose_list(Step *step, const OpAttribute *declared, AttrValue *ret_value)
{
    size_t count = choose(&step->program->choices, ITEMS_MAX);
    if (step->program->mode == MODE_WINDOWS) {
        count = window_list_size(&step->program->choices, &step->window, declared->name, count);
    }
    AttrValue *items = arena_alloc(step->def->arena, (count + 1) * sizeof *items);
    for (size_t index = 0; index < count; index++) {
        if (items == NULL || !choose_item(step, declared, &items[index])) {
            return false;
        }
    }
    *ret_value = (AttrValue){.kind = declared->kind, .is_list = true};
    ret_value->value.list.count = count;
    ret_value->value.list.items = items;
    return true;
}

static bool
choose_attrs(Step *step)
{
    for (size_t index = 0; index < step->op->attr_count; index++) {
        const OpAttribute *declared = &step->op->attrs[index];
        Attr *attr = &step->attrs[step->attr_count];
        if (declared->has_default && (declared->is_fixed || choose(&step->program->choices, 2) == 0)) {
            continue;
        }
        if (step->attr_count == COUNT_OF(step->attrs)) {
            return false;
        }
        attr->name = declared->name;
        bool is_made = declared->is_list ? choose_list(step, declared, &attr->value)
                                         : choose_item(step, declared, &attr->value);
        if (!is_made) {
            return false;
        }
        step->attr_count++;
    }
    return true;
}

static const AttrValue *
find_attr(const Step *step, Slice name)
{
    for (size_t index = 0; index < step->attr_count; index++) {
        if (slice_equal(step->attrs[index].name, name)) {
            return &step->attrs[index].value;
        }
    }
    for (size_t index = 0; index < step->op->attr_count; index++) {
        const OpAttribute *declared = &step->op->attrs[index];
        if (slice_equal(declared->name, name) && declared->has_default) {
            return &declared->default_value;
        }
    }
    return NULL;
}

/* Takes an output of an earlier op. */
static bool
take_given(Program *program, Dtype dtype, Tensor *ret_tensor)
{
    bool must = !dtype_is_copyable(dtype) && dtype != DTYPE_STRING;
    if (program->tensor_count == 0 || (!must && choose(&program->choices, 4) > 0)) {
        return false;
    }
    size_t first = choose(&program->choices, program->tensor_count);
    for (size_t index = 0; index < program->tensor_count; index++) {
        const Tensor *given = &program->tensors[(first + index) % program->tensor_count];
        if (given->dtype == dtype) {
            *ret_tensor = tensor_ref(given);
            return true;
        }
    }
    return false;
}

static bool
add_input(Step *step, const OpArgument *argument, Dtype dtype)
{
    Program *program = step->program;
    Choices *choices = &program->choices;
    if (step->input_count == ARGUMENTS_MAX) {
        return false;
    }
    Tensor *input = &step->inputs[step->input_count++];
    if ((argument->is_optional && choose(choices, 3) == 0) || take_given(program, dtype, input)) {
        return true;
    }
    if (program->mode == MODE_WINDOWS && choose(choices, 8) > 0) {
        Shape fitting = window_input_shape(choices, &step->window, argument->name, dtype);
        return make_tensor(program, dtype, &fitting, input);
    }
    bool is_alike = step->input_count > 1 && choose(choices, 3) == 0;
    Shape shape = is_alike ? step->inputs[step->input_count - 2].shape : choose_shape(program, false);
    return make_tensor(program, dtype, &shape, input);
}

static bool
add_argument(Step *step, const OpArgument *argument)
{
    const AttrValue *types = find_attr(step, argument->type_list_attr);
    const AttrValue *number = find_attr(step, argument->number_attr);
    const AttrValue *type = find_attr(step, argument->type_attr);
    Dtype dtype = type != NULL && type->kind == ATTR_TYPE ? type->value.type : argument->dtype;
    if (argument->type_list_attr.size > 0) {
        bool is_added = types != NULL;
        for (size_t index = 0; is_added && index < types->value.list.count; index++) {
            is_added = add_input(step, argument, types->value.list.items[index].value.type);
        }
        return is_added;
    }
    int64_t count = argument->number_attr.size == 0 ? 1 : number == NULL ? 0 : number->value.i;
    bool is_added = dtype != DTYPE_INVALID && !argument->is_reference;
    for (int64_t index = 0; is_added && index < count; index++) {
        is_added = add_input(step, argument, dtype);
    }
    return is_added;
}

static bool
choose_inputs(Step *step)
{
    bool is_made = true;
    for (size_t index = 0; is_made && index < step->op->input_count; index++) {
        is_made = add_argument(step, &step->op->inputs[index]);
    }
    return is_made;
}

static const char *const source_names[ARGUMENTS_MAX] = {
    "i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7", "i8", "i9", "i10", "i11"};

static bool
make_graph(Step *step)
{
    Arena *arena = step->def->arena;
    NodeDef *nodes = arena_alloc(arena, (ARGUMENTS_MAX + 1) * sizeof *nodes);
    Slice *inputs = arena_alloc(arena, ARGUMENTS_MAX * sizeof *inputs);
    Attr *types = arena_alloc(arena, ARGUMENTS_MAX * sizeof *types);
    if (nodes == NULL || inputs == NULL || types == NULL) {
        return false;
    }
    size_t count = 0;
    for (uint32_t index = 0; index < step->input_count; index++) {
        Dtype dtype = step->inputs[index].dtype;
        if (dtype == DTYPE_INVALID) {
            inputs[index] = SLICE("");
            continue;
        }
        inputs[index] = slice_from_string(source_names[index]);
        types[index] = (Attr){.name = SLICE("dtype"), .value = {.kind = ATTR_TYPE, .value.type = dtype}};
        nodes[count++] = (NodeDef){
            .name = inputs[index], .op = SLICE("Placeholder"), .attrs = &types[index], .attr_count = 1};
    }
    nodes[count++] = (NodeDef){.name = SLICE("subject"),
        .op = step->op->name,
        .inputs = inputs,
        .input_count = step->input_count,
        .attrs = step->attrs,
        .attr_count = step->attr_count};
    step->def->nodes = nodes;
    step->def->node_count = count;
    return true;
}

/* Stops with the op's name. */
static void
check(const Step *step, bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(
            stderr, "%.*s: %s (%s)\n", SLICE_PRINT(step->op->name), what, step->program->call.error.message);
        abort();
    }
}

static void
check_outputs(const Step *step, const Node *node, const Tensor *outputs)
{
    Shape inputs[ARGUMENTS_MAX];
    Shape shapes[ARGUMENTS_MAX];
    const Tensor *values[ARGUMENTS_MAX] = {0};
    for (uint32_t index = 0; index < node->input_count; index++) {
        bool is_there = step->inputs[index].dtype != DTYPE_INVALID;
        inputs[index] = is_there ? step->inputs[index].shape : shape_unknown();
    }
    for (uint32_t index = 0; index < node->output_count; index++) {
        shapes[index] = shape_unknown();
    }
    InferContext context = {.node = node, .inputs = inputs, .values = values, .outputs = shapes};
    check(step, node->op->infer_shapes(&step->program->call, &context) == STATUS_OK,
        "computed, but the shape rule refuses it");
    for (uint32_t index = 0; index < node->output_count; index++) {
        Shape merged;
        const Tensor *output = &outputs[index];
        if (output->dtype == DTYPE_INVALID) {
            continue;
        }
        check(step,
            output->dtype == node->output_dtypes[index] ||
                (output->dtype == DTYPE_RESOURCE && node_output_is_reference(node, index)),
            "an output of another type");
        check(step,
            shape_is_known(&output->shape) &&
                (output->dtype == DTYPE_RESOURCE || shape_merge(&shapes[index], &output->shape, &merged)),
            "an output of another shape than its rule tells");
        check(step, tensor_element_count(output) == 0 || output->data != NULL, "an output without elements");
        check(
            step, output->dtype != DTYPE_BOOL || tensor_is_valid(output), "a truth that is neither 0 nor 1");
    }
}

static void
keep_outputs(Program *program, Tensor *outputs, uint32_t count)
{
    for (uint32_t index = 0; index < count; index++) {
        bool is_kept = outputs[index].dtype != DTYPE_INVALID && program->tensor_count < TENSORS_MAX;
        if (is_kept) {
            program->tensors[program->tensor_count++] = outputs[index];
        } else {
            tensor_unref(&outputs[index]);
        }
    }
}

/* Gives prepare() the inputs in `constants` (bit i: input i), or does not call it when there are none. */
static Status
create_state(const Step *step, const Node *node, const Kernel *kernel, uint32_t constants, void **ret_state)
{
    Program *program = step->program;
    const Tensor *values[ARGUMENTS_MAX] = {0};
    for (uint32_t index = 0; index < node->input_count; index++) {
        bool is_constant = (constants >> index & 1) != 0 && step->inputs[index].dtype != DTYPE_INVALID;
        values[index] = is_constant ? &step->inputs[index] : NULL;
    }
    if (kernel->create != NULL) {
        TRY(kernel->create(&program->call, node, ret_state));
    }
    return constants == 0 ? STATUS_OK
                          : kernel->prepare(&program->call, &program->device, node, values, *ret_state);
}

static Status
compute_state(Step *step, const Node *node, const Kernel *kernel, const void *state, Tensor *outputs)
{
    Tensor inputs[ARGUMENTS_MAX] = {0};
    for (uint32_t index = 0; index < node->input_count; index++) {
        inputs[index] = tensor_ref(&step->inputs[index]);
    }
    KernelContext context = {.call = &step->program->call,
        .device = &step->program->device,
        .node = node,
        .state = state,
        .container = step->program->container,
        .inputs = inputs,
        .input_count = node->input_count,
        .outputs = outputs,
        .output_count = node->output_count};
    Status status = kernel->compute(&context);
    for (uint32_t index = 0; index < ARGUMENTS_MAX; index++) {
        tensor_unref(&inputs[index]);
    }
    return status;
}

/* Computes a node once, with some of its inputs as constants. The outputs are the caller's, after a failure
 * too. */
static Status
compute_once(Step *step, const Node *node, const Kernel *kernel, uint32_t constants, Tensor *outputs)
{
    void *state = NULL;
    Status status = create_state(step, node, kernel, constants, &state);
    if (status == STATUS_OK) {
        status = compute_state(step, node, kernel, state, outputs);
    }
    if (kernel->destroy != NULL && state != NULL) {
        kernel->destroy(state);
    }
    check(
        step, status == STATUS_OK || step->program->call.error.code == status, "a failure without a reason");
    if (status == STATUS_OK) {
        check_outputs(step, node, outputs);
    }
    return status;
}

static void
release_tensors(Tensor *tensors)
{
    for (uint32_t index = 0; index < ARGUMENTS_MAX; index++) {
        tensor_unref(&tensors[index]);
    }
}

static void
compute_with_constants(
    Step *step, const Node *node, const Kernel *kernel, uint32_t constants, const Tensor *expected)
{
    Tensor outputs[ARGUMENTS_MAX] = {0};
    Status status = compute_once(step, node, kernel, constants, outputs);
    for (uint32_t index = 0; status == STATUS_OK && index < node->output_count; index++) {
        check(step, tensor_equal(&outputs[index], &expected[index]),
            "other bits when its inputs are constants");
    }
    release_tensors(outputs);
}

/* Computes again with each input as the only constant, with all but the first, and with all. */
static void
compute_prepared(Step *step, const Node *node, const Kernel *kernel, const Tensor *expected)
{
    uint32_t all = (UINT32_C(1) << node->input_count) - 1;
    for (uint32_t index = 0; index < node->input_count; index++) {
        compute_with_constants(step, node, kernel, UINT32_C(1) << index, expected);
    }
    if (node->input_count > 1) {
        compute_with_constants(step, node, kernel, all - 1, expected);
        compute_with_constants(step, node, kernel, all, expected);
    }
}

static void
compute(Step *step, const Node *node)
{
    Tensor outputs[ARGUMENTS_MAX] = {0};
    const Kernel *kernel =
        node->output_count > ARGUMENTS_MAX ? NULL : kernel_find(&step->program->device, node);
    if (kernel == NULL || kernel->compute == NULL) {
        return;
    }
    if (compute_once(step, node, kernel, 0, outputs) != STATUS_OK) {
        release_tensors(outputs);
        return;
    }
    if (kernel->prepare != NULL) {
        compute_prepared(step, node, kernel, outputs);
    }
    keep_outputs(step->program, outputs, node->output_count);
}

static void
run_step(Program *program)
{
    GraphLimits limits = {.allows_internal = true};
    AUTO_GRAPH graph = NULL;
    AUTO_GRAPH_DEF def = graph_def_new(ARENA_SIZE);
    Step step = {.program = program, .op = choose_op(program), .def = def};
    if (program->mode == MODE_FITTING) {
        fitting_begin(&program->choices, &program->fitting);
    } else {
        window_begin(&program->choices, step.op, &step.window);
    }
    if (def != NULL && choose_attrs(&step) && choose_inputs(&step) && make_graph(&step) &&
        graph_link(&program->call, def, op_find, limits, &graph) == STATUS_OK) {
        Node subject = *graph_find(graph, SLICE("subject"));
        subject.read_outputs = UINT32_MAX; /* kernels may leave out what nobody reads */
        compute(&step, &subject);
    }
    for (uint32_t index = 0; index < ARGUMENTS_MAX; index++) {
        tensor_unref(&step.inputs[index]);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE);
    Program program = {.choices = {.next = data, .end = data + size},
        .call = {.arena = arena},
        .device = {.type = "CPU",
            .isa = "any",
            .thread_count = 1,
            .allocate = allocate,
            .memory = memory,
            .charge = charge,
            .parallel_for = parallel_for},
        .container = container_new()};
    if (size > 0 && (data[0] == 'W' || data[0] == 'F')) {
        program.mode = data[0] == 'W' ? MODE_WINDOWS : MODE_FITTING;
        program.choices.next++;
    }
    for (int count = 0; count < OPS_MAX && program.choices.next < program.choices.end; count++) {
        run_step(&program);
    }
    for (size_t index = 0; index < program.tensor_count; index++) {
        tensor_unref(&program.tensors[index]);
    }
    container_unref(program.container);
    return 0;
}
