#include "tests/support/fake_cudnn.h"

#include "shared/base/memory.h"
#include "tests/support/cmocka_all.h"
#include "worker/cuda/kernels/convolution.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/kernels/gradient.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/kernels/move.h"
#include "worker/cuda/kernels/onnx_attention.h"

enum { ATTRIBUTES_MAX = 8, ELEMENTS_SIZE = 128, SPACE = 2 };

typedef struct FakeAttribute {
    cudnnBackendAttributeName_t name;
    int64_t count;
    _Alignas(8) unsigned char elements[ELEMENTS_SIZE];
} FakeAttribute;

typedef struct FakeDescriptor {
    cudnnBackendDescriptorType_t type;
    bool is_finalized;
    int engine; /* of configurations and engines */
    FakeAttribute attributes[ATTRIBUTES_MAX];
    int attribute_count;
} FakeDescriptor;

/* The attributes that descriptors must have when they are finalized. Without a count: as many as there are.
 */
typedef struct AttributeRule {
    cudnnBackendDescriptorType_t descriptor;
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    size_t size; /* of an element */
    bool is_optional;
    bool is_list;
} AttributeRule;

#define NEEDS(descriptor, name, type, of)                                                                    \
    {                                                                                                        \
        CUDNN_BACKEND_##descriptor##_DESCRIPTOR, CUDNN_ATTR_##name, CUDNN_TYPE_##type, sizeof(of), false,    \
            false                                                                                            \
    }
#define NEEDS_LIST(descriptor, name, type, of)                                                               \
    {                                                                                                        \
        CUDNN_BACKEND_##descriptor##_DESCRIPTOR, CUDNN_ATTR_##name, CUDNN_TYPE_##type, sizeof(of), false,    \
            true                                                                                             \
    }

#define MAY_HAVE(descriptor, name, type, of)                                                                 \
    {                                                                                                        \
        CUDNN_BACKEND_##descriptor##_DESCRIPTOR, CUDNN_ATTR_##name, CUDNN_TYPE_##type, sizeof(of), true,     \
            false                                                                                            \
    }

static const AttributeRule rules[] = {
    NEEDS(TENSOR, TENSOR_UNIQUE_ID, INT64, int64_t),
    NEEDS(TENSOR, TENSOR_DATA_TYPE, DATA_TYPE, cudnnDataType_t),
    NEEDS_LIST(TENSOR, TENSOR_DIMENSIONS, INT64, int64_t),
    NEEDS_LIST(TENSOR, TENSOR_STRIDES, INT64, int64_t),
    NEEDS(TENSOR, TENSOR_BYTE_ALIGNMENT, INT64, int64_t),
    NEEDS(TENSOR, TENSOR_IS_VIRTUAL, BOOLEAN, bool),
    MAY_HAVE(TENSOR, TENSOR_IS_BY_VALUE, BOOLEAN, bool),
    NEEDS(CONVOLUTION, CONVOLUTION_COMP_TYPE, DATA_TYPE, cudnnDataType_t),
    NEEDS(CONVOLUTION, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE, cudnnConvolutionMode_t),
    NEEDS(CONVOLUTION, CONVOLUTION_SPATIAL_DIMS, INT64, int64_t),
    NEEDS_LIST(CONVOLUTION, CONVOLUTION_FILTER_STRIDES, INT64, int64_t),
    NEEDS_LIST(CONVOLUTION, CONVOLUTION_DILATIONS, INT64, int64_t),
    NEEDS_LIST(CONVOLUTION, CONVOLUTION_PRE_PADDINGS, INT64, int64_t),
    NEEDS_LIST(CONVOLUTION, CONVOLUTION_POST_PADDINGS, INT64, int64_t),
    NEEDS(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_CONV_DESC, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_X, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_W, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_Y, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_ALPHA, FLOAT, float),
    NEEDS(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_BETA, FLOAT, float),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, BACKEND_DESCRIPTOR,
        void *),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_W, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_DX, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_DY, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_ALPHA, FLOAT, float),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_BETA, FLOAT, float),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_FILTER, OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
        BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_FILTER, OPERATION_CONVOLUTION_BWD_FILTER_X, BACKEND_DESCRIPTOR,
        void *),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_FILTER, OPERATION_CONVOLUTION_BWD_FILTER_DW, BACKEND_DESCRIPTOR,
        void *),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_FILTER, OPERATION_CONVOLUTION_BWD_FILTER_DY, BACKEND_DESCRIPTOR,
        void *),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_FILTER, OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, FLOAT, float),
    NEEDS(OPERATION_CONVOLUTION_BACKWARD_FILTER, OPERATION_CONVOLUTION_BWD_FILTER_BETA, FLOAT, float),
    NEEDS(POINTWISE, POINTWISE_MODE, POINTWISE_MODE, cudnnPointwiseMode_t),
    NEEDS(POINTWISE, POINTWISE_MATH_PREC, DATA_TYPE, cudnnDataType_t),
    MAY_HAVE(POINTWISE, POINTWISE_NAN_PROPAGATION, NAN_PROPOGATION, cudnnNanPropagation_t),
    MAY_HAVE(POINTWISE, POINTWISE_AXIS, INT64, int64_t),
    NEEDS(OPERATION_POINTWISE, OPERATION_POINTWISE_PW_DESCRIPTOR, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_POINTWISE, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_POINTWISE, OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR, void *),
    MAY_HAVE(OPERATION_POINTWISE, OPERATION_POINTWISE_BDESC, BACKEND_DESCRIPTOR, void *),
    MAY_HAVE(OPERATION_POINTWISE, OPERATION_POINTWISE_TDESC, BACKEND_DESCRIPTOR, void *),
    NEEDS(MATMUL, MATMUL_COMP_TYPE, DATA_TYPE, cudnnDataType_t),
    NEEDS(OPERATION_MATMUL, OPERATION_MATMUL_ADESC, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_MATMUL, OPERATION_MATMUL_BDESC, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_MATMUL, OPERATION_MATMUL_CDESC, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_MATMUL, OPERATION_MATMUL_DESC, BACKEND_DESCRIPTOR, void *),
    NEEDS(REDUCTION, REDUCTION_OPERATOR, REDUCTION_OPERATOR_TYPE, cudnnReduceTensorOp_t),
    NEEDS(REDUCTION, REDUCTION_COMP_TYPE, DATA_TYPE, cudnnDataType_t),
    NEEDS(OPERATION_REDUCTION, OPERATION_REDUCTION_XDESC, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_REDUCTION, OPERATION_REDUCTION_YDESC, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATION_REDUCTION, OPERATION_REDUCTION_DESC, BACKEND_DESCRIPTOR, void *),
    NEEDS(OPERATIONGRAPH, OPERATIONGRAPH_HANDLE, HANDLE, void *),
    NEEDS_LIST(OPERATIONGRAPH, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, void *),
    NEEDS(ENGINEHEUR, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, void *),
    NEEDS(ENGINEHEUR, ENGINEHEUR_MODE, HEUR_MODE, cudnnBackendHeurMode_t),
    NEEDS(EXECUTION_PLAN, EXECUTION_PLAN_HANDLE, HANDLE, void *),
    NEEDS(EXECUTION_PLAN, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, void *),
    NEEDS_LIST(VARIANT_PACK, VARIANT_PACK_UNIQUE_IDS, INT64, int64_t),
    NEEDS_LIST(VARIANT_PACK, VARIANT_PACK_DATA_POINTERS, VOID_PTR, void *),
    NEEDS(VARIANT_PACK, VARIANT_PACK_WORKSPACE, VOID_PTR, void *),
};

FakeCudnn fake_cudnn;

void
fake_cudnn_reset(void)
{
    fake_cudnn = (FakeCudnn){.engines = {{.mode = CUDNN_HEUR_MODE_A}}, .engine_count = 1, .last_engine = -1};
}

static const FakeAttribute *
find_attribute(const FakeDescriptor *descriptor, cudnnBackendAttributeName_t name)
{
    for (int index = 0; index < descriptor->attribute_count; index++) {
        if (descriptor->attributes[index].name == name) {
            return &descriptor->attributes[index];
        }
    }
    return NULL;
}

static const FakeAttribute *
attribute(const FakeDescriptor *descriptor, cudnnBackendAttributeName_t name)
{
    static const FakeAttribute none;
    const FakeAttribute *found = find_attribute(descriptor, name);
    assert_non_null(found);
    return found == NULL ? &none : found;
}

static const int64_t *
integers(const FakeDescriptor *descriptor, cudnnBackendAttributeName_t name, int64_t count)
{
    const FakeAttribute *found = attribute(descriptor, name);
    assert_int_equal(found->count, count);
    return (const int64_t *)(const void *)found->elements;
}

static int
number(const FakeDescriptor *descriptor, cudnnBackendAttributeName_t name)
{
    return *(const int *)(const void *)attribute(descriptor, name)->elements;
}

static void *
pointer(const FakeDescriptor *descriptor, cudnnBackendAttributeName_t name, int64_t index)
{
    const FakeAttribute *found = attribute(descriptor, name);
    assert_true(index < found->count);
    return ((void *const *)(const void *)found->elements)[index];
}

static const FakeDescriptor *
part(const FakeDescriptor *descriptor, cudnnBackendAttributeName_t name)
{
    return pointer(descriptor, name, 0);
}

static cudnnStatus_t
fake_create(cudnnHandle_t *handle)
{
    if (fake_cudnn.create_status == CUDNN_STATUS_SUCCESS) {
        fake_cudnn.handles++;
        *handle = (cudnnHandle_t)(void *)&fake_cudnn;
    }
    return fake_cudnn.create_status;
}

static cudnnStatus_t
fake_destroy(cudnnHandle_t handle)
{
    assert_ptr_equal(handle, &fake_cudnn);
    fake_cudnn.handles--;
    return CUDNN_STATUS_SUCCESS;
}

static cudaStream_t handle_stream;

static cudnnStatus_t
fake_set_stream(cudnnHandle_t handle, cudaStream_t stream)
{
    assert_ptr_equal(handle, &fake_cudnn);
    handle_stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

static const char *
fake_error_string(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_EXECUTION_FAILED ? "CUDNN_STATUS_EXECUTION_FAILED" : "another";
}

static size_t
fake_version(void)
{
    return 91900;
}

static cudnnStatus_t
fake_descriptor_create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *descriptor)
{
    FakeDescriptor *made = memory_new(1, sizeof *made);
    assert_non_null(made);
    made->type = type;
    fake_cudnn.descriptors++;
    *descriptor = made;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t
fake_descriptor_destroy(cudnnBackendDescriptor_t descriptor)
{
    fake_cudnn.descriptors--;
    memory_free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

static const AttributeRule *
find_rule(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name)
{
    for (size_t index = 0; index < COUNT_OF(rules); index++) {
        if (rules[index].descriptor == descriptor && rules[index].name == name) {
            return &rules[index];
        }
    }
    fail_msg("a descriptor %d has no attribute %d", (int)descriptor, (int)name);
    return rules;
}

static cudnnStatus_t
fake_set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
    FakeDescriptor *set = descriptor;
    const AttributeRule *rule = find_rule(set->type, name);
    assert_false(set->is_finalized);
    assert_int_equal(type, rule->type);
    assert_true(rule->is_list ? count >= 1 : count == 1);
    assert_true((size_t)count * rule->size <= ELEMENTS_SIZE && set->attribute_count < ATTRIBUTES_MAX);
    FakeAttribute *kept = &set->attributes[set->attribute_count++];
    kept->name = name;
    kept->count = count;
    memcpy(kept->elements, elements, (size_t)count * rule->size);
    for (int64_t index = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && index < count; index++) {
        assert_true(((const FakeDescriptor *)pointer(set, name, index))->is_finalized);
    }
    return CUDNN_STATUS_SUCCESS;
}

static const FakeEngine *
engine_of(const FakeDescriptor *configuration)
{
    return &fake_cudnn.engines[configuration->engine];
}

static cudnnStatus_t
plan_engine(const FakeDescriptor *plan)
{
    const FakeDescriptor *configuration = part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const FakeDescriptor *graph = part(configuration, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    const FakeEngine *engine = engine_of(configuration);
    bool is_able = engine->operations_max == 0 ||
                   attribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)->count <= engine->operations_max;
    return is_able ? engine->plan_status : CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t
fake_finalize(cudnnBackendDescriptor_t descriptor)
{
    FakeDescriptor *finalized = descriptor;
    for (size_t index = 0; index < COUNT_OF(rules); index++) {
        if (rules[index].descriptor == finalized->type && !rules[index].is_optional) {
            (void)attribute(finalized, rules[index].name);
        }
    }
    fake_cudnn.heuristics += finalized->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
                             number(finalized, CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_A;
    finalized->is_finalized = true;
    return finalized->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ? plan_engine(finalized)
                                                                      : CUDNN_STATUS_SUCCESS;
}

/* Fills in the configurations, which remember the graph. */
static int64_t
propose(const FakeDescriptor *heuristics, int64_t wanted, void *const *configurations)
{
    int64_t count = 0;
    for (int engine = 0; engine < fake_cudnn.engine_count; engine++) {
        if ((int)fake_cudnn.engines[engine].mode != number(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE)) {
            continue;
        }
        if (count < wanted) {
            FakeDescriptor *configuration = configurations[count];
            assert_int_equal(configuration->type, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
            configuration->is_finalized = true;
            configuration->engine = engine;
            configuration->attributes[configuration->attribute_count++] =
                *attribute(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        }
        count++;
    }
    return wanted == 0 || count < wanted ? count : wanted;
}

static int64_t
list_notes(uint32_t notes, int64_t wanted, cudnnBackendNumericalNote_t *ret_notes)
{
    int64_t count = 0;
    for (int note = CUDNN_NUMERICAL_NOTE_TENSOR_CORE; note <= CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP; note++) {
        if ((notes >> note & 1) != 0 && count < wanted) {
            ret_notes[count++] = (cudnnBackendNumericalNote_t)note;
        }
    }
    return count;
}

static cudnnStatus_t
fake_get(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t wanted, int64_t *ret_count, void *ret_elements)
{
    const FakeDescriptor *asked = descriptor;
    assert_true(asked->is_finalized);
    *ret_count = 1;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
        assert_int_equal(type, CUDNN_TYPE_BACKEND_DESCRIPTOR);
        *ret_count = propose(asked, wanted, ret_elements);
    } else if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
        FakeDescriptor *engine = *(FakeDescriptor **)ret_elements;
        assert_int_equal(engine->type, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
        engine->is_finalized = true;
        engine->engine = asked->engine;
    } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
        assert_int_equal(type, CUDNN_TYPE_NUMERICAL_NOTE);
        *ret_count = list_notes(engine_of(asked)->notes, wanted, ret_elements);
    } else {
        assert_int_equal(name, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
        assert_int_equal(type, CUDNN_TYPE_INT64);
        *(int64_t *)ret_elements =
            engine_of(part(asked, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG))->workspace_size;
    }
    return CUDNN_STATUS_SUCCESS;
}

/* A tensor's attributes, and its place in memory; NULL: it is virtual. */
typedef struct FakeTensor {
    cudnnDataType_t type;
    const int64_t *sizes;
    const int64_t *steps;
    void *data;
} FakeTensor;

static FakeTensor
read_tensor(const FakeDescriptor *tensor, const FakeDescriptor *pack)
{
    int64_t rank = attribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS)->count;
    int64_t id = *integers(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1);
    int64_t count = attribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)->count;
    const int64_t *ids = integers(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, count);
    bool is_virtual = attribute(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL)->elements[0] != 0;
    FakeTensor read = {
        .type = (cudnnDataType_t)number(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE),
        .sizes = integers(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, rank),
        .steps = integers(tensor, CUDNN_ATTR_TENSOR_STRIDES, rank),
    };
    for (int64_t index = 0; index < count; index++) {
        if (ids[index] == id) {
            assert_null(read.data);
            read.data = pointer(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, index);
        }
    }
    assert_int_equal(read.data == NULL, is_virtual);
    if (is_virtual) {
        assert_int_equal(read.type, CUDNN_DATA_FLOAT);
    }
    assert_int_equal(
        (uintptr_t)read.data % (uintptr_t)*integers(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1), 0);
    return read;
}

/* Fills in one spatial dimension; the library, too, wants the output's size to follow from the others. */
static void
read_space(CudaConvolution *plain, int dimension, const FakeDescriptor *slide, const FakeTensor *input,
    const FakeTensor *filter, const FakeTensor *output)
{
    CudaWindow *window = &plain->window;
    int64_t rank = window->rank;
    int at = SPACE + dimension;
    window->stride[dimension] = integers(slide, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, rank)[dimension];
    window->dilation[dimension] = integers(slide, CUDNN_ATTR_CONVOLUTION_DILATIONS, rank)[dimension];
    window->before[dimension] = integers(slide, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, rank)[dimension];
    window->after[dimension] = integers(slide, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, rank)[dimension];
    window->input_size[dimension] = input->sizes[at];
    window->output_size[dimension] = output->sizes[at];
    window->size[dimension] = filter->sizes[at];
    window->input.space[dimension] = input->steps[at];
    window->output.space[dimension] = output->steps[at];
    plain->filter_steps.space[dimension] = filter->steps[at];
    int64_t extent = (filter->sizes[at] - 1) * window->dilation[dimension] + 1;
    int64_t padded = input->sizes[at] + window->before[dimension] + window->after[dimension];
    assert_int_equal(output->sizes[at], (padded - extent) / window->stride[dimension] + 1);
}

/* A convolution or a gradient of one, and what it calls its parts. */
typedef struct FakeKind {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t slide;
    cudnnBackendAttributeName_t input;
    cudnnBackendAttributeName_t filter;
    cudnnBackendAttributeName_t output;
} FakeKind;

static const FakeKind forward = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
static const FakeKind to_image = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
static const FakeKind to_filter = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};

static const FakeKind *
kind_of(const FakeDescriptor *operation)
{
    if (operation->type == to_image.type) {
        return &to_image;
    }
    if (operation->type == to_filter.type) {
        return &to_filter;
    }
    assert_int_equal(operation->type, forward.type);
    return &forward;
}

static CudaConvolution
read_convolution(const FakeDescriptor *operation, const FakeDescriptor *pack)
{
    const FakeKind *kind = kind_of(operation);
    const FakeDescriptor *slide = part(operation, kind->slide);
    FakeTensor input = read_tensor(part(operation, kind->input), pack);
    FakeTensor filter = read_tensor(part(operation, kind->filter), pack);
    FakeTensor output = read_tensor(part(operation, kind->output), pack);
    assert_int_equal(number(slide, CUDNN_ATTR_CONVOLUTION_COMP_TYPE), CUDNN_DATA_FLOAT);
    assert_int_equal(number(slide, CUDNN_ATTR_CONVOLUTION_CONV_MODE), CUDNN_CROSS_CORRELATION);
    assert_int_equal(input.sizes[1] % filter.sizes[1], 0);
    int64_t groups = input.sizes[1] / filter.sizes[1];
    int64_t outputs = filter.sizes[0] / groups;
    assert_int_equal(output.sizes[0], input.sizes[0]);
    assert_int_equal(output.sizes[1], filter.sizes[0]);
    CudaConvolution plain = {
        .window = {.rank = (int)*integers(slide, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 1),
            .batch = input.sizes[0],
            .channels = output.sizes[1],
            .input = {.batch = input.steps[0], .channel = input.steps[1]},
            .output = {.batch = output.steps[0], .channel = output.steps[1]}},
        .filter_steps = {.group = outputs * filter.steps[0],
            .output = filter.steps[0],
            .input = filter.steps[1]},
        .groups = groups,
        .inputs = filter.sizes[1],
        .outputs = outputs,
        .input = input.data,
        .filter = filter.data,
    };
    for (int dimension = 0; dimension < CUDA_WINDOW_RANK_MAX; dimension++) {
        if (dimension < plain.window.rank) {
            read_space(&plain, dimension, slide, &input, &filter, &output);
        } else {
            plain.window.input_size[dimension] = plain.window.output_size[dimension] = 1;
            plain.window.size[dimension] = plain.window.stride[dimension] = 1;
            plain.window.dilation[dimension] = 1;
        }
    }
    return plain;
}

/* Reads an operation behind the convolution, whose input is the result of the one before. */
static void
read_step(const FakeDescriptor *operation, const FakeDescriptor *before, const FakeDescriptor *pack,
    CudaEpilogue *epilogue)
{
    const FakeDescriptor *function = part(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    assert_ptr_equal(part(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC), before);
    assert_null(read_tensor(before, pack).data);
    assert_int_equal(number(function, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION), CUDNN_PROPAGATE_NAN);
    assert_int_equal(epilogue->activation, CUDA_ACTIVATION_NONE);
    if (number(function, CUDNN_ATTR_POINTWISE_MODE) == CUDNN_POINTWISE_RELU_FWD) {
        assert_null(find_attribute(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
        epilogue->activation = CUDA_ACTIVATION_RELU;
        return;
    }
    assert_int_equal(number(function, CUDNN_ATTR_POINTWISE_MODE), CUDNN_POINTWISE_ADD);
    FakeTensor other = read_tensor(part(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC), pack);
    int64_t rank = attribute(before, CUDNN_ATTR_TENSOR_DIMENSIONS)->count;
    const int64_t *sizes = integers(before, CUDNN_ATTR_TENSOR_DIMENSIONS, rank);
    bool is_bias = epilogue->bias == NULL && other.sizes[1] == sizes[1];
    for (int64_t dimension = 0; dimension < rank; dimension++) {
        is_bias = is_bias && (dimension == 1 || other.sizes[dimension] == 1);
    }
    if (is_bias) {
        epilogue->bias = other.data;
        return;
    }
    assert_null(epilogue->addend);
    assert_memory_equal(other.sizes, sizes, (size_t)rank * sizeof *sizes);
    epilogue->addend = other.data;
}

static CudaType
type_of(cudnnDataType_t type)
{
    return type == CUDNN_DATA_HALF       ? CUDA_FLOAT16
           : type == CUDNN_DATA_BFLOAT16 ? CUDA_BFLOAT16
                                         : CUDA_FLOAT32;
}

static int
compute_plainly(const FakeKind *kind, CudaType type, const CudaConvolution *plain)
{
    if (kind == &forward) {
        return cuda_convolve(type, plain, handle_stream);
    }
    return kind == &to_image
               ? cuda_convolve_to_image(type, plain, without_const(plain->input), handle_stream)
               : cuda_convolve_to_filter(type, plain, without_const(plain->filter), handle_stream);
}

/* The operands of attention, as its operations name them. */
typedef struct FakeAttention {
    FakeTensor query;
    FakeTensor key;
    FakeTensor value;
    FakeTensor output;
    float scale;
    FakeTensor addend;
    bool is_causal;
    int products;
    int reductions;
} FakeAttention;

static void
read_product(const FakeDescriptor *operation, const FakeDescriptor *pack, FakeAttention *attention)
{
    const FakeDescriptor *a = part(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    FakeTensor b = read_tensor(part(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC), pack);
    if (attention->products++ == 0) {
        attention->query = read_tensor(a, pack);
        attention->key = b;
    } else {
        attention->value = b;
        attention->output = read_tensor(part(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC), pack);
        assert_int_equal(number(a, CUDNN_ATTR_TENSOR_DATA_TYPE), b.type);
    }
}

static void
read_pointwise(const FakeDescriptor *operation, const FakeDescriptor *pack, FakeAttention *attention)
{
    const FakeDescriptor *function = part(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    cudnnPointwiseMode_t mode = (cudnnPointwiseMode_t)number(function, CUDNN_ATTR_POINTWISE_MODE);
    bool is_choice = mode == CUDNN_POINTWISE_BINARY_SELECT;
    assert_int_equal(find_attribute(operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC) != NULL, is_choice);
    assert_int_equal(
        find_attribute(function, CUDNN_ATTR_POINTWISE_AXIS) != NULL, mode == CUDNN_POINTWISE_GEN_INDEX);
    if (mode == CUDNN_POINTWISE_MUL) {
        FakeTensor scale = read_tensor(part(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC), pack);
        assert_int_equal(scale.type, CUDNN_DATA_FLOAT);
        assert_int_equal(cudaStreamSynchronize(handle_stream), cudaSuccess);
        assert_int_equal(
            cudaMemcpy(&attention->scale, scale.data, sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    } else if (mode == CUDNN_POINTWISE_ADD && attention->reductions == 0) {
        attention->addend = read_tensor(part(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC), pack);
    } else if (is_choice) {
        FakeTensor lowest = read_tensor(part(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC), pack);
        assert_true(*(const float *)lowest.data < -1e30F);
        attention->is_causal = true;
    } else if (mode == CUDNN_POINTWISE_ADD) {
        assert_non_null(read_tensor(part(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC), pack).data);
    }
}

static FakeAttention
read_attention(const FakeDescriptor *graph, const FakeDescriptor *pack)
{
    FakeAttention attention = {.products = 0};
    for (int64_t index = 0; index < attribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)->count; index++) {
        const FakeDescriptor *operation = pointer(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, index);
        if (operation->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
            read_product(operation, pack, &attention);
        } else if (operation->type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
            attention.reductions++;
        } else {
            read_pointwise(operation, pack, &attention);
        }
    }
    assert_int_equal(attention.products, 2);
    assert_int_equal(attention.reductions, 2);
    return attention;
}

static int64_t
count_of(const FakeTensor *tensor)
{
    return tensor->sizes[0] * tensor->sizes[1] * tensor->sizes[2] * tensor->sizes[3];
}

static void *
new_memory(int64_t count)
{
    void *memory = NULL;
    assert_int_equal(cudaMalloc(&memory, (size_t)count * sizeof(double)), cudaSuccess);
    return memory;
}

/* Returns a copy in float32, laid out alike; a tensor has no gaps. */
static float *
widen(const FakeTensor *tensor)
{
    int64_t count = count_of(tensor);
    float *wide = new_memory(count);
    assert_int_equal(
        cuda_convert(type_of(tensor->type), tensor->data, CUDA_FLOAT32, wide, count, handle_stream), 0);
    return wide;
}

/* Views a matrix for each head of the query, of which `group` share one. */
static CudaMatrix
view_heads(const float *data, const FakeTensor *tensor, int64_t group)
{
    return (CudaMatrix){.data = data,
        .row_step = tensor->steps[2],
        .column_step = tensor->steps[3],
        .batch_steps = {tensor->steps[0], tensor->steps[1], group == 1 ? 0 : tensor->steps[1]}};
}

static CudaProduct
product_of_heads(const FakeAttention *attention)
{
    int64_t heads = attention->key.sizes[1];
    int64_t group = attention->query.sizes[1] / heads;
    return (CudaProduct){.rows = attention->query.sizes[2],
        .batch_rank = 3,
        .batch_sizes = {attention->query.sizes[0], heads, group},
        .alpha = 1};
}

static void
weigh(const FakeAttention *attention, float *scores, const float *addend)
{
    CudaAttentionRows rows = {.scores = scores,
        .rows = attention->query.sizes[0] * attention->query.sizes[1] * attention->query.sizes[2],
        .heads = attention->query.sizes[1],
        .queries = attention->query.sizes[2],
        .keys = attention->key.sizes[3],
        .scale = (double)attention->scale,
        .is_causal = attention->is_causal,
        .left = -1,
        .right = -1,
        .mask = addend,
        .mask_keys = attention->key.sizes[3]};
    for (int dimension = 0; addend != NULL && dimension < CUDA_ATTENTION_RANK; dimension++) {
        bool is_shared = attention->addend.sizes[dimension] == 1;
        rows.mask_strides[dimension] = is_shared ? 0 : attention->addend.steps[dimension];
    }
    assert_int_equal(cuda_attention_rows(CUDA_FLOAT32, &rows, handle_stream), cudaSuccess);
}

/* Rounds what is dense to where the output lies. */
static void
store_output(const FakeTensor *output, const float *wide, void *narrow)
{
    int64_t count = count_of(output);
    CudaMove move = {.from = narrow, .to = output->data, .count = count, .rank = 4};
    int64_t step = 1;
    for (int dimension = 3; dimension >= 0; dimension--) {
        move.sizes[dimension] = output->sizes[dimension];
        move.strides[0][dimension] = step;
        move.strides[1][dimension] = output->steps[dimension];
        step *= output->sizes[dimension];
    }
    assert_int_equal(
        cuda_convert(CUDA_FLOAT32, wide, type_of(output->type), narrow, count, handle_stream), 0);
    assert_int_equal(cuda_move(sizeof(uint16_t), &move, handle_stream), cudaSuccess);
}

static cudnnStatus_t
compute_attention(const FakeDescriptor *graph, const FakeDescriptor *pack)
{
    FakeAttention attention = read_attention(graph, pack);
    int64_t group = attention.query.sizes[1] / attention.key.sizes[1];
    int64_t scores_count = attention.query.sizes[0] * attention.query.sizes[1] * attention.query.sizes[2] *
                           attention.key.sizes[3];
    float *wide[] = {widen(&attention.query), widen(&attention.key), widen(&attention.value),
        attention.addend.data == NULL ? NULL : widen(&attention.addend), new_memory(scores_count),
        new_memory(count_of(&attention.output)), new_memory(count_of(&attention.output))};
    CudaProduct scores = product_of_heads(&attention);
    scores.a = view_heads(wide[0], &attention.query, 2);
    scores.a.batch_steps[1] *= group;
    scores.b = view_heads(wide[1], &attention.key, 1);
    scores.columns = attention.key.sizes[3];
    scores.depth = attention.query.sizes[3];
    scores.output = wide[4];
    assert_int_equal(cuda_multiply(CUDA_FLOAT32, &scores, handle_stream), cudaSuccess);
    weigh(&attention, wide[4], wide[3]);
    CudaProduct output = product_of_heads(&attention);
    int64_t rows = attention.query.sizes[2];
    int64_t keys = attention.key.sizes[3];
    output.a = (CudaMatrix){.data = wide[4],
        .row_step = keys,
        .column_step = 1,
        .batch_steps = {attention.query.sizes[1] * rows * keys, group * rows * keys, rows * keys}};
    output.b = view_heads(wide[2], &attention.value, 1);
    output.columns = attention.value.sizes[3];
    output.depth = keys;
    output.output = wide[5];
    assert_int_equal(cuda_multiply(CUDA_FLOAT32, &output, handle_stream), cudaSuccess);
    store_output(&attention.output, wide[5], wide[6]);
    assert_int_equal(cudaStreamSynchronize(handle_stream), cudaSuccess);
    for (size_t index = 0; index < COUNT_OF(wide); index++) {
        assert_int_equal(cudaFree(wide[index]), cudaSuccess);
    }
    fake_cudnn.attentions++;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t
compute_graph(const FakeDescriptor *graph, const FakeDescriptor *pack)
{
    int64_t count = attribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)->count;
    const FakeDescriptor *first = pointer(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, 0);
    if (first->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
        return compute_attention(graph, pack);
    }
    const FakeDescriptor *result = part(first, kind_of(first)->output);
    CudaConvolution plain = read_convolution(first, pack);
    for (int64_t index = 1; index < count; index++) {
        const FakeDescriptor *step = pointer(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, index);
        read_step(step, result, pack, &plain.epilogue);
        result = part(step, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    }
    FakeTensor output = read_tensor(result, pack);
    assert_non_null(output.data);
    plain.output = output.data;
    fake_cudnn.fused_executions += count > 1;
    fake_cudnn.channels_last +=
        plain.window.input.channel == 1 && plain.window.output.channel == 1 && plain.filter_steps.input == 1;
    return compute_plainly(kind_of(first), type_of(output.type), &plain) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
}

static cudnnStatus_t
fake_execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t variant_pack)
{
    const FakeDescriptor *executed = plan;
    const FakeDescriptor *configuration = part(executed, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    assert_ptr_equal(handle, &fake_cudnn);
    assert_non_null(pointer(variant_pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 0));
    fake_cudnn.executions++;
    fake_cudnn.last_engine = configuration->engine;
    return fake_cudnn.execute_status != CUDNN_STATUS_SUCCESS
               ? fake_cudnn.execute_status
               : compute_graph(part(configuration, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH), variant_pack);
}

const CudaDnn fake_cudnn_table = {
    .cudnnBackendCreateDescriptor = fake_descriptor_create,
    .cudnnBackendDestroyDescriptor = fake_descriptor_destroy,
    .cudnnBackendExecute = fake_execute,
    .cudnnBackendFinalize = fake_finalize,
    .cudnnBackendGetAttribute = fake_get,
    .cudnnBackendSetAttribute = fake_set,
    .cudnnCreate = fake_create,
    .cudnnDestroy = fake_destroy,
    .cudnnGetErrorString = fake_error_string,
    .cudnnGetVersion = fake_version,
    .cudnnSetStream = fake_set_stream,
};
