#include "worker/cuda/kernels/scatter_onnx.h"

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/integers.cuh"

static __global__ void
place_elements_kernel(CudaGatherElements gather, int64_t *places, CudaBlame blame)
{
    for (int64_t i = index_first(); i < gather.count; i += index_step()) {
        int64_t place[1] = {0};
        int64_t given = 0;
        index_offsets<1>(i, gather.rank, gather.sizes, gather.strides, place);
        bool is_read = load_integer(gather.indices.type, gather.indices.data, i, &given);
        int64_t index = given < 0 ? given + gather.size : given;
        bool is_there = is_read && index >= 0 && index < gather.size;
        if (!is_there) {
            refuse(blame, i, given, gather.size);
        }
        places[i] = is_there ? place[0] + index * gather.along : -1;
    }
}

extern "C" int
cuda_place_elements(
    const CudaGatherElements *gather, int64_t *places, const CudaBlame *blame, cudaStream_t stream)
{
    return (int)(gather->count == 0 ? cudaSuccess
                                    : cuda_launch(place_elements_kernel, index_grid(gather->count),
                                          dim3(INDEX_THREADS), 0, stream, *gather, places, *blame));
}
