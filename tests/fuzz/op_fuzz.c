/* Fuzzes ops: a line with an op's name (or a word that sorts before it) and bytes that choose its
 * attributes, the shapes and values of its inputs, and which of them are constants. The op is linked, its
 * shape inferred, and it is computed in a partition: it answers or refuses, and an answer has the shape
 * that was inferred. */
#include <math.h>

#include "shared/base/text.h"
#include "shared/ops/registry.h"
#include "tests/fuzz/partition_once.h"
#include "worker/runtime/partition/compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    ARENA_SIZE_MAX = 16 << 20,
    TENSORS_MAX = ONCE_ARGS_MAX,
    RANK_MAX = 5,
    ITEMS_MAX = 6,
    ATTRS_MAX = 32,
};

/* Chooses a number below `count`; 0 when the bytes are used up. */
static unsigned
choose(Slice *bytes, size_t count)
{
    if (bytes->size == 0) {
        return 0;
    }
    unsigned byte = (unsigned char)bytes->data[0];
    *bytes = slice_part(*bytes, 1, bytes->size);
    return (unsigned)(byte % count);
}

#define CHOOSE(bytes, table) ((table)[choose(bytes, COUNT_OF(table))])

static int64_t
choose_int(Slice *bytes)
{
    static const int64_t numbers[] = {0, 1, 2, 3, -1, 4, 5, -2, 7, 8, 16, -3, 64, 255, 1000, 65536, INT32_MAX,
        INT32_MIN, (int64_t)1 << 32, (int64_t)1 << 62, INT64_MAX, INT64_MIN};
    return CHOOSE(bytes, numbers);
}

static double
choose_float(Slice *bytes)
{
    static const double numbers[] = {0, 1, 0.5, -1, 2, 3.25, -0.0, 1e-3, 100, (double)INFINITY,
        -(double)INFINITY, (double)NAN, 1e30, -1e30, 1e300, 1e-40};
    return CHOOSE(bytes, numbers);
}

static Dtype
choose_dtype(Slice *bytes)
{
    unsigned choice = choose(bytes, 3 * DTYPE_COUNT);
    return choice < DTYPE_COUNT        ? DTYPE_FLOAT32
           : choice < 2 * DTYPE_COUNT  ? DTYPE_INT32
           : choice == 2 * DTYPE_COUNT ? DTYPE_BOOL
                                       : (Dtype)(choice - 2 * DTYPE_COUNT);
}

/* Chooses a text for attributes and string tensors. */
static Slice
choose_word(Slice *bytes)
{
    static const char *const words[] = {"", "SAME", "VALID", "NHWC", "NCHW", "EXPLICIT", "x", "ij,jk->ik",
        "...ij,...jk->...ik", "ii->i", "REFLECT", "SYMMETRIC", "constant", "edge", "reflect", "wrap",
        "float32", "linear", "nearest", "cubic", "floor", "ceil", "round_prefer_floor", "asymmetric",
        "align_corners", "half_pixel", "pytorch_half_pixel", "tf_crop_and_resize", "NOTSET", "SAME_UPPER",
        "SAME_LOWER", "forward", "reverse", "bidirectional", "add", "mul", "max", "min", "none", "sum",
        "mean", "DCR", "CRD", "bilinear", "MIN_COMBINED", "MIN_FIRST", "SCALED", "HALF_TO_EVEN",
        "HALF_AWAY_FROM_ZERO", "Relu", "tanh", "UTF8_CHAR", "UTF-8", "BYTE", "[a-z]+", "(", "a\\1", "%s",
        "12", "-0x7", "1e400", "\xff\xfe", "two words", "zeros", "border", "NFC"};
    return slice_from_string(CHOOSE(bytes, words));
}

static Shape
choose_shape(Slice *bytes)
{
    static const int64_t dims[] = {2, 1, 3, 0, 4, 5, 7};
    Shape shape = {.rank = (int)choose(bytes, RANK_MAX + 1)};
    for (int axis = 0; axis < shape.rank; axis++) {
        shape.dims[axis] = CHOOSE(bytes, dims);
    }
    return shape;
}

/* Chooses a shape as attributes have them: any numbers, and unknown ones. */
static Shape
choose_wild_shape(Slice *bytes)
{
    Shape shape = choose_shape(bytes);
    if (choose(bytes, 4) == 1) {
        for (int axis = 0; axis < shape.rank; axis++) {
            int64_t dim = choose_int(bytes);
            shape.dims[axis] = dim < -1 ? -1 : dim;
        }
    }
    return choose(bytes, 8) == 1 ? shape_unknown() : shape;
}

static void
write_integer(char *element, size_t size, int64_t number)
{
    memcpy(element, &number, size); /* little-endian */
}

/* Writes an element: floats as such, whole numbers for the other types with bytes, and their bits for half
 * types. */
static void
write_element(const Tensor *tensor, size_t index, Slice *bytes)
{
    size_t size = dtype_size(tensor->dtype);
    char *element = (char *)tensor->data + index * size;
    if (tensor->dtype == DTYPE_BOOL) {
        element[0] = (char)choose(bytes, 2);
    } else if (dtype_is_integer(tensor->dtype)) {
        write_integer(element, size, choose_int(bytes));
    } else if (tensor->dtype == DTYPE_FLOAT32) {
        float number = (float)choose_float(bytes);
        memcpy(element, &number, sizeof number);
    } else if (tensor->dtype == DTYPE_FLOAT64) {
        double number = choose_float(bytes);
        memcpy(element, &number, sizeof number);
    } else {
        for (size_t byte = 0; byte < size; byte++) {
            element[byte] = (char)choose(bytes, 256);
        }
    }
}

static bool
make_strings(Arena *arena, Slice *bytes, const Shape *shape, size_t count, Tensor *ret_tensor)
{
    Slice *texts = arena_alloc(arena, (count + 1) * sizeof *texts);
    for (size_t index = 0; texts != NULL && index < count; index++) {
        texts[index] = choose_word(bytes);
    }
    return texts != NULL && tensor_new_strings(shape, texts, ret_tensor);
}

static void
release_tensor(void *tensor)
{
    tensor_unref(tensor);
}

/* Makes a tensor in the arena. False for types without values. */
static bool
make_tensor(Arena *arena, Slice *bytes, Dtype dtype, Tensor **ret_tensor)
{
    Shape shape = choose_shape(bytes);
    int64_t count = 0;
    Tensor *tensor = arena_alloc(arena, sizeof *tensor);
    if (tensor == NULL || !shape_element_count(&shape, &count)) {
        return false;
    }
    bool is_made = dtype == DTYPE_STRING ? make_strings(arena, bytes, &shape, (size_t)count, tensor)
                                         : dtype_is_copyable(dtype) && tensor_new(dtype, &shape, tensor);
    for (size_t index = 0; is_made && dtype != DTYPE_STRING && index < (size_t)count; index++) {
        write_element(tensor, index, bytes);
    }
    *ret_tensor = tensor;
    return is_made && arena_defer(arena, release_tensor, tensor) != NULL;
}

static bool
choose_one(Arena *arena, Slice *bytes, AttrKind kind, AttrValue *ret_value)
{
    Tensor *tensor = NULL;
    ret_value->kind = kind;
    switch (kind) {
    case ATTR_STRING:
        ret_value->value.s = choose_word(bytes);
        return true;
    case ATTR_INT:
        ret_value->value.i = choose_int(bytes);
        return true;
    case ATTR_FLOAT:
        ret_value->value.f = (float)choose_float(bytes);
        return true;
    case ATTR_BOOL:
        ret_value->value.b = choose(bytes, 2) == 1;
        return true;
    case ATTR_TYPE:
        ret_value->value.type = choose_dtype(bytes);
        return true;
    case ATTR_SHAPE:
        ret_value->value.shape = choose_wild_shape(bytes);
        return true;
    case ATTR_TENSOR:
        if (!make_tensor(arena, bytes, choose_dtype(bytes), &tensor)) {
            return false;
        }
        ret_value->value.tensor = *tensor;
        return true;
    case ATTR_NONE:
    case ATTR_FUNCTION:
    case ATTR_PLACEHOLDER:
        return false;
    }
    return false;
}

static bool
choose_list(Arena *arena, Slice *bytes, AttrKind kind, AttrValue *ret_value)
{
    AttrValue *items = arena_alloc(arena, ITEMS_MAX * sizeof *items);
    size_t count = choose(bytes, ITEMS_MAX + 1);
    bool is_made = items != NULL;
    for (size_t index = 0; is_made && index < count; index++) {
        is_made = choose_one(arena, bytes, kind, &items[index]);
    }
    *ret_value = (AttrValue){.kind = kind, .is_list = true};
    ret_value->value.list.items = items;
    ret_value->value.list.count = count;
    return is_made;
}

static bool
is_number_of_tensors(const Op *op, Slice name)
{
    for (size_t index = 0; index < op->input_count; index++) {
        if (slice_equal(op->inputs[index].number_attr, name)) {
            return true;
        }
    }
    return false;
}

static bool
choose_attr(Arena *arena, Slice *bytes, const Op *op, const OpAttribute *declared, Attr *ret_attr)
{
    ret_attr->name = declared->name;
    if (declared->has_default && choose(bytes, 2) == 0) {
        ret_attr->value = declared->default_value;
        return true;
    }
    if (is_number_of_tensors(op, declared->name)) {
        ret_attr->value = (AttrValue){.kind = ATTR_INT, .value.i = 1 + choose(bytes, 3)};
        return true;
    }
    return declared->is_list ? choose_list(arena, bytes, declared->kind, &ret_attr->value)
                             : choose_one(arena, bytes, declared->kind, &ret_attr->value);
}

typedef struct Subject {
    Arena *arena;
    Slice bytes; /* bytes that are left to choose by */
    const Op *op;
    Attr attrs[ATTRS_MAX];
    NodeDef nodes[2 * TENSORS_MAX + 1];
    size_t node_count;
    Slice inputs[TENSORS_MAX];
    size_t input_count;
    Tensor args[TENSORS_MAX];
    uint32_t arg_count;
    const Shape *shapes; /* as inferred; NULL: refused */
} Subject;

static const AttrValue *
find_attr(const Subject *subject, Slice name)
{
    for (size_t index = 0; index < subject->op->attr_count; index++) {
        if (slice_equal(subject->attrs[index].name, name)) {
            return &subject->attrs[index].value;
        }
    }
    return NULL;
}

/* Lists the types of an argument's tensors; false when they are too many or unknown. */
static bool
list_types(
    const Subject *subject, const OpArgument *argument, Dtype ret_types[TENSORS_MAX], size_t *ret_count)
{
    const AttrValue *list = find_attr(subject, argument->type_list_attr);
    const AttrValue *number = find_attr(subject, argument->number_attr);
    const AttrValue *type = find_attr(subject, argument->type_attr);
    int64_t count = list != NULL ? (int64_t)list->value.list.count : number != NULL ? number->value.i : 1;
    if (count < 0 || count > TENSORS_MAX || argument->is_reference) {
        return false;
    }
    for (int64_t index = 0; index < count; index++) {
        ret_types[index] = list != NULL   ? list->value.list.items[index].value.type
                           : type != NULL ? type->value.type
                                          : argument->dtype;
    }
    *ret_count = (size_t)count;
    return true;
}

/* Adds a node with a type and one more attribute. */
static NodeDef *
add_node(Subject *subject, const char *op, const char *type_name, Dtype dtype, Attr more)
{
    NodeDef *node = &subject->nodes[subject->node_count];
    Attr *attrs = arena_alloc(subject->arena, 2 * sizeof *attrs);
    const char *name = text_format(subject->arena, "n%zu", subject->node_count);
    if (attrs == NULL || name == NULL) {
        return NULL;
    }
    attrs[0] =
        (Attr){.name = slice_from_string(type_name), .value.kind = ATTR_TYPE, .value.value.type = dtype};
    attrs[1] = more;
    *node = (NodeDef){
        .name = slice_from_string(name), .op = slice_from_string(op), .attrs = attrs, .attr_count = 2};
    subject->node_count++;
    return node;
}

static Attr
index_attr(size_t index)
{
    return (Attr){.name = SLICE("index"), .value.kind = ATTR_INT, .value.value.i = (int64_t)index};
}

static bool
add_input(Subject *subject, Dtype dtype)
{
    Tensor *tensor = NULL;
    if (subject->input_count == TENSORS_MAX ||
        !make_tensor(subject->arena, &subject->bytes, dtype, &tensor)) {
        return false;
    }
    bool is_constant = choose(&subject->bytes, 2) == 0;
    Attr value = {.name = SLICE("value"), .value.kind = ATTR_TENSOR, .value.value.tensor = *tensor};
    const NodeDef *node = is_constant ? add_node(subject, "Const", "dtype", dtype, value)
                                      : add_node(subject, "_Arg", "T", dtype, index_attr(subject->arg_count));
    if (!is_constant && node != NULL) {
        subject->args[subject->arg_count++] = tensor_ref(tensor);
    }
    subject->inputs[subject->input_count++] = node == NULL ? SLICE("") : node->name;
    return node != NULL;
}

static bool
add_inputs(Subject *subject)
{
    for (size_t index = 0; index < subject->op->input_count; index++) {
        const OpArgument *argument = &subject->op->inputs[index];
        Dtype types[TENSORS_MAX];
        size_t count = 0;
        if (!list_types(subject, argument, types, &count)) {
            return false;
        }
        if (argument->is_optional && choose(&subject->bytes, 2) == 0 && subject->input_count < TENSORS_MAX) {
            subject->inputs[subject->input_count++] = SLICE("");
            continue;
        }
        for (size_t each = 0; each < count; each++) {
            if (!add_input(subject, types[each])) {
                return false;
            }
        }
    }
    return true;
}

static bool
add_output(Subject *subject, size_t port, Dtype dtype)
{
    const char *name = text_format(subject->arena, "subject:%zu", port);
    Slice *input = arena_alloc(subject->arena, sizeof *input);
    NodeDef *node = port == TENSORS_MAX ? NULL : add_node(subject, "_Retval", "T", dtype, index_attr(port));
    if (name == NULL || input == NULL || node == NULL) {
        return false;
    }
    *input = slice_from_string(name);
    node->inputs = input;
    node->input_count = 1;
    return true;
}

/* Adds a _Retval for each output but handles, which cannot be fetched. */
static bool
add_outputs(Subject *subject)
{
    size_t port = 0;
    for (size_t index = 0; index < subject->op->output_count; index++) {
        Dtype types[TENSORS_MAX];
        size_t count = 0;
        if (!list_types(subject, &subject->op->outputs[index], types, &count)) {
            return false;
        }
        for (size_t each = 0; each < count; each++) {
            if (types[each] == DTYPE_RESOURCE || types[each] == DTYPE_VARIANT ||
                !add_output(subject, port++, types[each])) {
                return false;
            }
        }
    }
    return true;
}

static bool
build(Subject *subject)
{
    assert(subject->op->attr_count <= ATTRS_MAX);
    for (size_t index = 0; index < subject->op->attr_count; index++) {
        if (!choose_attr(subject->arena, &subject->bytes, subject->op, &subject->op->attrs[index],
                &subject->attrs[index])) {
            return false;
        }
    }
    if (!add_inputs(subject)) {
        return false;
    }
    subject->nodes[subject->node_count++] = (NodeDef){.name = SLICE("subject"),
        .op = subject->op->name,
        .inputs = subject->inputs,
        .input_count = subject->input_count,
        .attrs = subject->attrs,
        .attr_count = subject->op->attr_count};
    return add_outputs(subject);
}

static void
infer(Call *call, GraphDef *def, Subject *subject)
{
    AUTO_GRAPH graph = NULL;
    const Shape *const *shapes = NULL;
    GraphLimits limits = {.allows_internal = true};
    if (graph_link(call, def, op_find, limits, &graph) == STATUS_OK &&
        graph_infer_shapes(call, graph, NULL, 0, &shapes) == STATUS_OK) {
        subject->shapes = shapes[graph_find(graph, SLICE("subject"))->id];
    }
}

static void
check_output(void *context, uint32_t index, const Tensor *tensor)
{
    const Subject *subject = context;
    Shape merged;
    assert(shape_is_known(&tensor->shape));
    assert(tensor_is_valid(tensor));
    if (subject->shapes != NULL) {
        assert(shape_merge(&subject->shapes[index], &tensor->shape, &merged));
    }
}

static void
check(Call *call, GraphDef *def, Subject *subject)
{
    AUTO_PARTITION partition = NULL;
    MissingBlobs missing = {0};
    OnceRun once = {.device = once_device(), .on_output = check_output, .context = subject};
    def->nodes = subject->nodes;
    def->node_count = subject->node_count;
    infer(call, def, subject);
    if (partition_compile(call, def, device_alone(once_device()), NULL, &missing, &partition) == STATUS_OK) {
        once_run(&once, partition, subject->args, subject->arg_count);
    }
}

static const Op *
first_from(Slice name)
{
    size_t low = 0;
    size_t high = op_count() - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_compare(op_at(middle)->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return op_at(low);
}

/* Returns whether the op belongs to partitions: a _Retval beside those that are added would have the
 * number of one of them. */
static bool
is_about_partitions(const Op *op)
{
    return slice_equals_string(op->name, "_Arg") || slice_equals_string(op->name, "_Retval");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    AUTO_GRAPH_DEF def = graph_def_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena};
    Slice bytes = slice_of(data, size);
    Slice name;
    assert(arena != NULL && def != NULL);
    if (!slice_split(&bytes, '\n', &name)) {
        return 0;
    }
    Subject subject = {.arena = def->arena, .bytes = bytes, .op = first_from(name)};
    if (!is_about_partitions(subject.op) && build(&subject)) {
        check(&call, def, &subject);
    }
    for (uint32_t index = 0; index < subject.arg_count; index++) {
        tensor_unref(&subject.args[index]);
    }
    once_assert_no_memory(once_device());
    return 0;
}
