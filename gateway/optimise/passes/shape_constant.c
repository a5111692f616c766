/* Makes Shape, Size and Rank of a known shape constants.
 *
 * Only a graph without control flow is changed, since a constant is never dead and belongs to no frame;
 * and only nodes without effects, which might not happen otherwise. */
#include <assert.h>

#include "gateway/optimise/pass.h"

typedef struct Question {
    const char *op;
    Status (*answer)(Rewrite *rewrite, const Shape *shape, Dtype dtype, Tensor *ret_value);
} Question;

static Status
make_integers(Rewrite *rewrite, const Shape *shape, Dtype dtype, const int64_t *values, Tensor *ret_value)
{
    assert(shape_is_known(shape) && (dtype == DTYPE_INT32 || dtype == DTYPE_INT64));

    if (!tensor_new(dtype, shape, ret_value)) {
        return rewrite_no_memory(rewrite);
    }
    int64_t count = tensor_element_count(ret_value);
    for (int64_t index = 0; index < count; index++) {
        if (dtype == DTYPE_INT32) {
            ((int32_t *)ret_value->data)[index] = (int32_t)values[index];
        } else {
            ((int64_t *)ret_value->data)[index] = values[index];
        }
    }
    return STATUS_OK;
}

static Status
answer_shape(Rewrite *rewrite, const Shape *shape, Dtype dtype, Tensor *ret_value)
{
    Shape vector = shape_vector(shape->rank);
    return make_integers(rewrite, &vector, dtype, shape->dims, ret_value);
}

static Status
answer_rank(Rewrite *rewrite, const Shape *shape, Dtype dtype, Tensor *ret_value)
{
    Shape scalar = shape_scalar();
    int64_t rank = shape->rank;
    return make_integers(rewrite, &scalar, dtype, &rank, ret_value);
}

static Status
answer_size(Rewrite *rewrite, const Shape *shape, Dtype dtype, Tensor *ret_value)
{
    Shape scalar = shape_scalar();
    int64_t count = 0;
    (void)shape_element_count(shape, &count);
    return make_integers(rewrite, &scalar, dtype, &count, ret_value);
}

/* onnx::Shape may have a start and an end, and is left alone. */
static const Question questions[] = {
    {"Rank", answer_rank},
    {"Shape", answer_shape},
    {"Size", answer_size},
    {"onnx::Size", answer_size},
};

static const Question *
find_question(const Rewrite *rewrite, uint32_t id)
{
    for (size_t index = 0; index < COUNT_OF(questions); index++) {
        if (rewrite_is(rewrite, id, questions[index].op)) {
            return &questions[index];
        }
    }
    return NULL;
}

/* An answer that int32 cannot hold is left to fail in the kernel. */
static bool
fits_dtype(const Shape *shape, Dtype dtype)
{
    int64_t count = 0;
    return shape_is_known(shape) && shape_element_count(shape, &count) &&
           (dtype == DTYPE_INT64 || (dtype == DTYPE_INT32 && count <= INT32_MAX));
}

static Status
shape_constant(Rewrite *rewrite)
{
    for (uint32_t id = 0; id < rewrite->graph->node_count && !rewrite->has_control_flow; id++) {
        const Question *question = find_question(rewrite, id);
        if (question == NULL || rewrite_node(rewrite, id)->control_count > 0 ||
            rewrite->nodes[id]->has_effects) {
            continue;
        }
        const Shape *shape = rewrite_shape(rewrite, rewrite_input(rewrite, id, 0));
        Dtype dtype = rewrite_dtype(rewrite, (Endpoint){.node = id});
        if (fits_dtype(shape, dtype)) {
            AUTO_TENSOR value = {0};
            TRY(question->answer(rewrite, shape, dtype, &value));
            TRY(rewrite_to_constant(rewrite, id, &value));
        }
    }
    return STATUS_OK;
}

PASS(shape_constant, PASS_SIMPLIFY, true);
