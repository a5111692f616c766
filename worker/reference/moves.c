#include "worker/reference/moves.h"

#include <assert.h>

#include "worker/reference/combine.h"
#include "worker/reference/fill.h"

Status
move_elements(KernelContext *context, const StridedCopy *copy, const Tensor *from, Tensor *to)
{
    StridedCopy simple;
    if (!strided_simplify(copy, &simple)) {
        return STATUS_OK;
    }
    if (context->moves != NULL) {
        return context->moves->copy(context, &simple, from, to);
    }
    strided_copy_share(context->device, &simple, from, to);
    return STATUS_OK;
}

Status
move_all(KernelContext *context, const Tensor *from, Tensor *to, int64_t offset)
{
    StridedCopy copy = {
        .rank = 1, .dims = {tensor_element_count(from)}, .from = {1}, .to = {1}, .to_offset = offset};
    assert(from->dtype == to->dtype && offset + copy.dims[0] <= tensor_element_count(to));
    return move_elements(context, &copy, from, to);
}

Status
move_sum_into(KernelContext *context, const Tensor *value, Tensor *sum)
{
    int64_t count = tensor_element_count(value);
    assert(value->dtype == sum->dtype && count == tensor_element_count(sum));
    if (context->moves != NULL) {
        return count == 0 ? STATUS_OK : context->moves->add(context, value, sum);
    }
    (void)!combine_elements(COMBINE_ADD, value->dtype, sum->data, value->data, 1, count);
    return STATUS_OK;
}

Status
move_element_into(KernelContext *context, Tensor *tensor, const void *element)
{
    if (context->moves == NULL) {
        fill_element(tensor, element);
        return STATUS_OK;
    }
    return tensor->data == NULL ? STATUS_OK : context->moves->fill(context, tensor, element);
}

Status
move_zeros_into(KernelContext *context, Tensor *tensor)
{
    if (context->moves == NULL) {
        fill_zero(tensor);
        return STATUS_OK;
    }
    return tensor->data == NULL ? STATUS_OK : context->moves->fill(context, tensor, NULL);
}
