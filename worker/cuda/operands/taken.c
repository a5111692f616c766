#include "worker/cuda/operands/taken.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/gather.h"
#include "worker/cuda/operands/pieces.h"
#include "worker/cuda/run.h"

Status
cuda_take_rows(const KernelContext *context, const Tensor *from, const Lines *lines, const Tensor *indices,
    int64_t count, const Tensor *to)
{
    CudaGatherRows gather = {
        .indices = {.data = indices->data, .type = CUDA_INT64},
        .from = from->data,
        .to = to->data,
        .outer = lines->outer,
        .lines = lines->outer,
        .count = count,
        .size = lines->size,
        .inner = lines->inner,
    };
    if (tensor_byte_size(to) == 0) {
        return STATUS_OK;
    }
    size_t piece = cuda_cut_rows(dtype_size(from->dtype), &gather.inner, gather.from, gather.to);
    CudaBlame blame;
    TRY(cuda_blame(context, CUDA_REFUSES_INDEX, &blame));
    int error = cuda_gather_rows(piece, &gather, &blame, cuda_stream(context));
    return cuda_check(context->call, error, "a kernel that takes rows");
}
