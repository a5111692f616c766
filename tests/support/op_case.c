#include "tests/support/op_case.h"

#include "shared/base/text.h"
#include "shared/ops/registry.h"
#include "shared/ops/signature.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/reference_run.h"
#include "tests/support/tensor_literals.h"

enum { ARENA_SIZE = 1 << 22, ATTRS_MAX = 24 };

/* The part of its inputs that a shape rule knows. */
typedef enum Knowledge { KNOWS_VALUES, KNOWS_SHAPES, KNOWS_NOTHING } Knowledge;

/* What a run's inputs are. The edges of element-wise ops are made of the case's own inputs: without elements
 * there is nothing to compute, and a function of one input keeps NaN. */
typedef enum Edge {
    EDGE_NONE,  /* the case's */
    EDGE_EMPTY, /* of the same dtypes, without elements */
    EDGE_NAN,   /* NaN alone */
    EDGE_COUNT
} Edge;

static const char *const edge_names[] = {"", "… with empty tensors\n", "… with NaN alone\n"};

typedef struct Run {
    const OpCase *op_case;
    Edge edge;
    const Op *op;
    Call *call;
    Tensor inputs[OP_CASE_TENSORS_MAX];
    uint32_t input_count;
    GraphDef *def;
    OpCompute compute;
} Run;

static void
release_buffer(void *buffer)
{
    tensor_buffer_unref(buffer);
}

/* Hands the tensor to the arena, which releases it at its end. */
static Tensor
keep(Arena *arena, Tensor tensor)
{
    if (tensor.buffer != NULL) {
        assert_non_null(arena_defer(arena, release_buffer, tensor.buffer));
    }
    return tensor;
}

/* Finds the value of `name` in "name=value; …". */
static bool
find_given(const char *attrs, Slice name, Slice *ret_value)
{
    Slice rest = slice_from_string(attrs);
    Slice part;
    while (rest.size > 0 && slice_split(&rest, ';', &part)) {
        part = slice_trim(part);
        size_t equals = slice_find(part, '=');
        if (slice_equal(slice_part(part, 0, equals), name)) {
            *ret_value = slice_part(part, equals + 1, SIZE_MAX);
            return true;
        }
    }
    return false;
}

static Shape
read_shape(Slice text)
{
    Shape shape = shape_unknown();
    Slice part;
    if (text.size > 0 && text.data[0] == '[') {
        shape = shape_scalar();
        text = slice_part(text, 1, text.size - 2);
        while (text.size > 0 && slice_split(&text, ',', &part)) {
            assert_true(slice_to_int64(part, &shape.dims[shape.rank++]));
        }
    }
    return shape;
}

/* Reads scalars and lists in the form of defaults, with the parser of signatures. */
static AttrValue
read_default(Arena *arena, const OpAttribute *declared, Slice text)
{
    static const char *const kinds[] = {[ATTR_STRING] = "string",
        [ATTR_INT] = "int",
        [ATTR_FLOAT] = "float",
        [ATTR_BOOL] = "bool",
        [ATTR_TYPE] = "type",
        [ATTR_SHAPE] = "shape"};
    char signature[512];
    (void)snprintf(signature, sizeof signature,
        declared->is_list ? "A()->() {a:list(%s)=%.*s}" : "A()->() {a:%s=%.*s}", kinds[declared->kind],
        SLICE_PRINT(text));
    OpDefinition definition = {.signature = text_copy(arena, slice_from_string(signature))};
    Op op;
    Slice error = SLICE("");
    if (!signature_parse(arena, &definition, &op, &error)) {
        fail_msg("'%s' is not read", signature);
    }
    return op.attrs[0].default_value;
}

static AttrValue
read_attr(Arena *arena, const OpAttribute *declared, Slice text)
{
    AttrValue value = {.kind = declared->kind};
    if (declared->kind == ATTR_TYPE && !declared->is_list) {
        value.value.type = dtype_from_name(text);
    } else if (declared->kind == ATTR_SHAPE && !declared->is_list) {
        value.value.shape = read_shape(text);
    } else if (declared->kind == ATTR_STRING && !declared->is_list && slice_find(text, ',') < text.size) {
        value.value.s = text; /* a signature would end at these characters */
    } else if (declared->kind == ATTR_TENSOR) {
        value.value.tensor = keep(arena, tensor_literal(text_copy(arena, text)));
    } else {
        value = read_default(arena, declared, text);
    }
    return value;
}

/* Returns the number of tensors in each of the numbered arguments, which share in equal parts the inputs
 * that the other arguments leave. */
static uint32_t
count_numbered(const Run *run)
{
    uint32_t numbered = 0;
    for (size_t index = 0; index < run->op->input_count; index++) {
        numbered += run->op->inputs[index].number_attr.size > 0 ? 1 : 0;
    }
    uint32_t others = (uint32_t)run->op->input_count - numbered;
    return numbered == 0 ? 0 : (run->input_count - others) / numbered;
}

/* Derives a type or number attribute from the inputs. */
static bool
derive_attr(const Run *run, const OpAttribute *declared, AttrValue *value)
{
    const Op *op = run->op;
    uint32_t position = 0;
    for (size_t index = 0; index < op->input_count; index++) {
        const OpArgument *argument = &op->inputs[index];
        bool is_number = slice_equal(argument->number_attr, declared->name);
        uint32_t count = argument->number_attr.size > 0 ? count_numbered(run) : 1;
        if (is_number) {
            *value = (AttrValue){.kind = ATTR_INT, .value.i = count};
            return true;
        }
        if (slice_equal(argument->type_attr, declared->name) && position < run->input_count &&
            run->inputs[position].dtype != DTYPE_INVALID) {
            *value = (AttrValue){.kind = ATTR_TYPE, .value.type = run->inputs[position].dtype};
            return true;
        }
        position += count;
    }
    return false;
}

static const Attr *
make_attrs(Run *run, size_t *ret_count)
{
    Arena *arena = run->def->arena;
    Attr *attrs = arena_alloc(arena, ATTRS_MAX * sizeof *attrs);
    assert_non_null(attrs);
    size_t count = 0;
    for (size_t index = 0; index < run->op->attr_count; index++) {
        const OpAttribute *declared = &run->op->attrs[index];
        Slice text;
        attrs[count].name = declared->name;
        if (run->op_case->attrs != NULL && find_given(run->op_case->attrs, declared->name, &text)) {
            attrs[count++].value = read_attr(arena, declared, text);
        } else if (derive_attr(run, declared, &attrs[count].value)) {
            count++;
        }
    }
    *ret_count = count;
    return attrs;
}

static NodeDef
make_source(Run *run, uint32_t index, Knowledge knowledge)
{
    Arena *arena = run->def->arena;
    Attr *attrs = arena_alloc(arena, 2 * sizeof *attrs);
    assert_non_null(attrs);
    const Tensor *tensor = &run->inputs[index];
    attrs[0].name = SLICE("dtype");
    attrs[0].value = (AttrValue){.kind = ATTR_TYPE, .value.type = tensor->dtype};
    if (knowledge == KNOWS_VALUES) {
        attrs[1].name = SLICE("value");
        attrs[1].value = (AttrValue){.kind = ATTR_TENSOR, .value.tensor = keep(arena, tensor_ref(tensor))};
    } else {
        attrs[1].name = SLICE("shape");
        attrs[1].value = (AttrValue){
            .kind = ATTR_SHAPE, .value.shape = knowledge == KNOWS_SHAPES ? tensor->shape : shape_unknown()};
    }
    NodeDef node = {
        .name = slice_from_string(text_format(arena, "input%u", index)),
        .op = knowledge == KNOWS_VALUES ? SLICE("Const") : SLICE("Placeholder"),
        .attrs = attrs,
        .attr_count = 2,
    };
    return node;
}

/* Makes a graph of the sources that are given and the op. */
static GraphDef *
make_graph(Run *run, Knowledge knowledge)
{
    run->def = graph_def_new(ARENA_SIZE);
    assert_non_null(run->def);
    NodeDef *nodes = arena_alloc(run->def->arena, (run->input_count + 1) * sizeof *nodes);
    Slice *inputs = arena_alloc(run->def->arena, (run->input_count + 1) * sizeof *inputs);
    assert_true(nodes != NULL && inputs != NULL);
    size_t count = 0;
    for (uint32_t index = 0; index < run->input_count; index++) {
        if (run->inputs[index].dtype == DTYPE_INVALID) {
            inputs[index] = SLICE("");
            continue;
        }
        nodes[count] = make_source(run, index, knowledge);
        inputs[index] = nodes[count++].name;
    }
    nodes[count] = (NodeDef){.name = SLICE("subject"),
        .op = slice_from_string(run->op_case->op),
        .inputs = inputs,
        .input_count = run->input_count};
    nodes[count].attrs = make_attrs(run, &nodes[count].attr_count);
    run->def->nodes = nodes;
    run->def->node_count = count + 1;
    return run->def;
}

static Status
link_and_infer(Run *run, Knowledge knowledge, Graph **ret_graph, const Shape **ret_shapes)
{
    AUTO_GRAPH_DEF def = make_graph(run, knowledge);
    AUTO_GRAPH graph = NULL;
    GraphLimits limits = {.allows_internal = true};
    TRY(graph_link(run->call, def, op_find, limits, &graph));
    const Shape *const *shapes = NULL;
    TRY(graph_infer_shapes(run->call, graph, NULL, 0, &shapes));
    *ret_shapes = shapes[graph_find(graph, SLICE("subject"))->id];
    *ret_graph = TAKE(graph);
    return STATUS_OK;
}

static bool
check_shapes(const Node *node, const Shape *inferred, const Tensor *outputs, Knowledge knowledge)
{
    static const char *const names[] = {"values", "shapes", "nothing"};
    for (uint32_t index = 0; index < node->output_count; index++) {
        Shape merged;
        if (!shape_merge(&inferred[index], &outputs[index].shape, &merged)) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            print_error("knowing %s, output %u is inferred as %s, but computed as %s\n", names[knowledge],
                index, shape_text(&inferred[index], left), shape_text(&outputs[index].shape, right));
            return false;
        }
    }
    return true;
}

static bool
check_outputs(const OpCase *op_case, const Node *node, const Tensor *outputs)
{
    for (uint32_t index = 0; index < node->output_count && op_case->outputs[index] != NULL; index++) {
        if (op_case->outputs[index][0] == '\0') {
            continue; /* an output without an expectation */
        }
        AUTO_TENSOR expected = tensor_literal(op_case->outputs[index]);
        double tolerance = op_case->tolerance > 0 ? op_case->tolerance : tensor_tolerance(expected.dtype);
        if (!tensor_is_near(&outputs[index], &expected, tolerance)) {
            print_error("… in output %u\n", index);
            return false;
        }
    }
    return true;
}

/* Tells whether every element of every output is NaN, or there is none. */
static bool
check_edge(const Run *run, const Node *node, const Tensor *outputs)
{
    for (uint32_t index = 0; index < node->output_count; index++) {
        char shape[SHAPE_TEXT_SIZE];
        char text[SHAPE_TEXT_SIZE + 32];
        const Tensor *output = &outputs[index];
        if (run->edge == EDGE_EMPTY) {
            if (tensor_element_count(output) != 0) {
                print_error("output %u is %s\n", index, shape_text(&output->shape, shape));
                return false;
            }
            continue;
        }
        (void)snprintf(
            text, sizeof text, "%s%s nan ...", dtype_name(output->dtype), shape_text(&output->shape, shape));
        AUTO_TENSOR expected = tensor_literal(text);
        if (!tensor_is_near(output, &expected, 0)) {
            return false;
        }
    }
    return true;
}

/* Compares what became of the case with the error that it expects, or with none. */
static bool
check_status(const Run *run, Status status)
{
    const OpCase *op_case = run->op_case;
    const char *message = status == STATUS_OK ? "" : run->call->error.message;
    if (op_case->error == NULL && status == STATUS_OK) {
        return true;
    }
    if (op_case->error != NULL && status == op_case->error_code && strstr(message, op_case->error) != NULL) {
        return true;
    }
    print_error("ends with %s: %s\n", status_name(status), message);
    if (op_case->error != NULL) {
        print_error("not with  %s: %s\n", status_name(op_case->error_code), op_case->error);
    }
    return false;
}

static bool
check_compute(Run *run, const Node *node, const Shape *inferred, Knowledge knowledge)
{
    Tensor inputs[OP_CASE_TENSORS_MAX] = {0};
    Tensor outputs[OP_CASE_TENSORS_MAX] = {0};
    assert_true(node->input_count <= OP_CASE_TENSORS_MAX && node->output_count <= OP_CASE_TENSORS_MAX);
    for (uint32_t index = 0; index < run->input_count; index++) {
        inputs[index] = tensor_ref(&run->inputs[index]);
    }
    Status status = run->compute(run->call, node, inputs, outputs);
    bool is_right = status == STATUS_CANCELLED || check_status(run, status);
    if (status == STATUS_OK && is_right) {
        is_right = check_shapes(node, inferred, outputs, knowledge) &&
                   (run->edge != EDGE_NONE
                           ? check_edge(run, node, outputs)
                           : knowledge != KNOWS_VALUES || check_outputs(run->op_case, node, outputs));
    }
    for (size_t index = 0; index < OP_CASE_TENSORS_MAX; index++) {
        tensor_unref(&inputs[index]);
        tensor_unref(&outputs[index]);
    }
    return is_right;
}

static bool
run_once(Run *run, Knowledge knowledge)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE);
    Call call = {.arena = arena};
    run->call = &call;
    AUTO_GRAPH graph = NULL;
    const Shape *inferred = NULL;
    Status status = link_and_infer(run, knowledge, &graph, &inferred);
    if (status != STATUS_OK) {
        for (int index = 0; index < call.error.detail_count; index++) {
            print_error("%s: %s\n", call.error.details[index].pointer, call.error.details[index].detail);
        }
        return check_status(run, status);
    }
    return check_compute(run, graph_find(graph, SLICE("subject")), inferred, knowledge);
}

/* Functions of one input that by their definition make something else of NaN. */
static const struct {
    const char *op;
    const char *reason;
} without_nan[] = {
    {"onnx::ThresholdedRelu", "x where x > alpha, else 0"},
    {"onnx::Shrink", "0 where x is neither below -lambd nor above lambd"},
};

static bool
keeps_nan(const Run *run)
{
    for (size_t index = 0; index < COUNT_OF(without_nan); index++) {
        if (slice_equals_string(run->op->name, without_nan[index].op)) {
            return false;
        }
    }
    const Op *op = run->op;
    bool is_function = run->input_count == 1 && op->output_count == 1 && op->outputs[0].type_attr.size > 0 &&
                       slice_equal(op->outputs[0].type_attr, op->inputs[0].type_attr);
    return is_function && dtype_is_floating(run->inputs[0].dtype);
}

/* Inputs of several ranks go together in ways that each op has for itself. */
static bool
has_one_rank(const Run *run)
{
    for (uint32_t index = 1; index < run->input_count; index++) {
        if (run->inputs[index].shape.rank != run->inputs[0].shape.rank) {
            return false;
        }
    }
    return run->input_count > 0;
}

static Tensor
empty_like(const Tensor *input)
{
    Tensor empty;
    Shape shape = input->shape;
    shape.rank = shape.rank == 0 ? 1 : shape.rank;
    shape.dims[0] = 0;
    if (input->dtype == DTYPE_STRING) {
        assert_true(tensor_new_strings(&shape, NULL, &empty));
    } else {
        assert_true(tensor_new(input->dtype, &shape, &empty));
    }
    return empty;
}

static void
make_edge(const Run *run, Edge edge, Run *ret_run)
{
    *ret_run = *run;
    ret_run->edge = edge;
    for (uint32_t index = 0; index < run->input_count; index++) {
        char text[64];
        const Tensor *input = &run->inputs[index];
        (void)snprintf(text, sizeof text, "%s[3] nan ...", dtype_name(input->dtype));
        ret_run->inputs[index] = edge == EDGE_NAN ? tensor_literal(text) : empty_like(input);
    }
}

static void
release_inputs(Run *run)
{
    for (uint32_t index = 0; index < run->input_count; index++) {
        tensor_unref(&run->inputs[index]);
    }
}

/* Runs the op at an edge that its cases need not write down. */
static bool
run_edge(const Run *run, Edge edge)
{
    Run at_edge;
    bool is_known = run->op_case->error == NULL && (run->op->flags & OP_ELEMENTWISE) != 0 &&
                    (edge == EDGE_NAN ? keeps_nan(run) : has_one_rank(run));
    if (!is_known) {
        return true;
    }
    make_edge(run, edge, &at_edge);
    bool is_right = run_once(&at_edge, KNOWS_SHAPES);
    if (!is_right) {
        print_error("%s", edge_names[edge]);
    }
    release_inputs(&at_edge);
    return is_right;
}

static void
read_inputs(Run *run)
{
    for (; run->input_count < OP_CASE_TENSORS_MAX && run->op_case->inputs[run->input_count] != NULL;
         run->input_count++) {
        const char *text = run->op_case->inputs[run->input_count];
        run->inputs[run->input_count] = text[0] == '\0' ? (Tensor){0} : tensor_literal(text);
    }
}

/* Runs a case with all that shape rules may know from `knowledge` on. */
static bool
run_case(OpCompute compute, const OpCase *op_case, Knowledge knowledge)
{
    Run run = {.op_case = op_case, .op = op_find(slice_from_string(op_case->op)), .compute = compute};
    if (run.op == NULL) {
        print_error("there is no such op\n");
        return false;
    }
    read_inputs(&run);
    bool is_right = true;
    for (; knowledge <= KNOWS_NOTHING && is_right; knowledge++) {
        is_right = run_once(&run, knowledge);
    }
    for (Edge edge = EDGE_NONE + 1; edge < EDGE_COUNT && is_right; edge++) {
        is_right = run_edge(&run, edge);
    }
    release_inputs(&run);
    return is_right;
}

static void
run_cases(OpCompute compute, const OpCase *cases, size_t count, Knowledge knowledge)
{
    size_t failed = 0;
    for (size_t index = 0; index < count; index++) {
        if (!run_case(compute, &cases[index], knowledge)) {
            print_error("… in case %zu, %s {%s}\n\n", index, cases[index].op,
                cases[index].attrs == NULL ? "" : cases[index].attrs);
            failed++;
        }
    }
    if (failed > 0) {
        fail_msg("%zu of %zu cases failed", failed, count);
    }
}

void
op_cases_run_by(OpCompute compute, const OpCase *cases, size_t count)
{
    run_cases(compute, cases, count, KNOWS_NOTHING);
}

void
op_cases_run(const OpCase *cases, size_t count)
{
    run_cases(reference_compute, cases, count, KNOWS_VALUES);
}
