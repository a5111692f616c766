#include "worker/reference/moves.h"

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
    strided_copy(&simple, from, to);
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
