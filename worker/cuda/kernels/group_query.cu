/* A thread takes a number of a head. What does not fit is refused once, by cuda_group_check(); the other
 * kernels go on as if nothing was in the past, or nothing was rotated. */
#include "worker/cuda/kernels/group_query.h"

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/index.cuh"

#define EACH_GROUP_TYPE(type, call)                                                                          \
    TYPE_SWITCH(type, TYPE_CASE(CUDA_FLOAT32, float, call) TYPE_CASE(CUDA_FLOAT16, __half, call)             \
                          TYPE_CASE(CUDA_BFLOAT16, __nv_bfloat16, call))

/* Returns how many tokens are in the past of an example; -1 when the query's do not fit behind them. */
__device__ __forceinline__ int64_t
told_past(const CudaGroupQuery &group, int64_t example)
{
    int64_t total = (int64_t)group.lengths[example] + 1;
    int64_t past = group.is_prompt ? 0 : total - group.length;
    bool fits = past >= 0 && past <= group.past && past + group.length <= group.present && total >= 1;
    return fits ? past : -1;
}

__device__ __forceinline__ int64_t
past_of(const CudaGroupQuery &group, int64_t example)
{
    int64_t past = told_past(group, example);
    return past < 0 ? 0 : past;
}

/* The positions of padding, which nobody reads, are 1. */
__device__ __forceinline__ int64_t
position_of(const CudaGroupQuery &group, int64_t example, int64_t token)
{
    if (group.positions != nullptr) {
        return group.positions[example * group.length + token];
    }
    int64_t position = past_of(group, example) + token;
    return position <= group.lengths[example] ? position : 1;
}

/* Elements of refusals are numbered in the order in which the host looks: lengths, positions, biases. */
static __global__ void
group_check_kernel(const CudaGroupQuery group)
{
    int64_t tokens = group.batch * group.length;
    for (int64_t i = index_first(); i < group.batch + tokens; i += index_step()) {
        if (i < group.batch) {
            int64_t keys = past_of(group, i) + group.length;
            group.totals[i] = keys;
            if (told_past(group, i) < 0) {
                refuse(group.for_tokens, i, group.lengths[i], group.past);
            }
            if (group.bias_keys >= 0 && keys > group.bias_keys) {
                refuse(group.for_bias, group.batch + tokens + i, keys, group.bias_keys);
            }
        } else if (group.turned > 0) {
            int64_t row = i - group.batch;
            int64_t position = position_of(group, row / group.length, row % group.length);
            if (position < 0 || position >= group.angles) {
                refuse(group.for_angle, i, position, group.angles);
            }
        }
    }
}

extern "C" int
cuda_group_check(const CudaGroupQuery *group, cudaStream_t stream)
{
    int64_t count = group->batch + group->batch * group->length;
    return (int)(count == 0 ? cudaSuccess
                            : cuda_launch(group_check_kernel, index_grid(count), dim3(INDEX_THREADS), 0,
                                  stream, *group));
}

enum GroupPart { GROUP_QUERIES, GROUP_KEYS, GROUP_VALUES };

/* Returns a head of a token of the inputs. */
template <typename T>
__device__ __forceinline__ const T *
head_of(const CudaGroupQuery &group, GroupPart part, int64_t row, int64_t head)
{
    if (group.key != nullptr) {
        int64_t heads = part == GROUP_QUERIES ? group.heads : group.key_heads;
        const void *inputs[] = {group.query, group.key, group.value};
        return (const T *)inputs[part] + (row * heads + head) * group.size;
    }
    int64_t first = part == GROUP_QUERIES ? 0 : group.heads + (part - GROUP_KEYS) * group.key_heads;
    return (const T *)group.query + (row * (group.heads + 2 * group.key_heads) + first + head) * group.size;
}

/* Returns number n of a head that is rotated to a position. */
template <typename T>
__device__ __forceinline__ float
rotated(const CudaGroupQuery &group, const T *head, int64_t position, int64_t n)
{
    if (n >= group.turned || position < 0 || position >= group.angles) {
        return load(head, n);
    }
    int64_t pairs = group.turned / 2;
    bool is_real = group.is_interleaved ? n % 2 == 0 : n < pairs;
    int64_t pair = group.is_interleaved ? n / 2 : is_real ? n : n - pairs;
    int64_t by = group.is_interleaved ? 1 : pairs;
    float cosine = load((const T *)group.cosines, position * pairs + pair);
    float sine = load((const T *)group.sines, position * pairs + pair);
    return is_real ? load(head, n) * cosine - load(head, n + by) * sine
                   : load(head, n - by) * sine + load(head, n) * cosine;
}

/* Number n at a place of the present of a head, head × example of the keys. */
template <typename T>
__device__ __forceinline__ void
lay_number(const CudaGroupQuery &group, int64_t index, int64_t place, int64_t n)
{
    int64_t example = index_quotient(index, group.key_heads);
    int64_t head = index - example * group.key_heads;
    int64_t past = past_of(group, example);
    int64_t to = (index * group.present + place) * group.size + n;
    float key = 0;
    float value = 0;
    if (place < past) {
        int64_t from = (index * group.past + place) * group.size + n;
        key = load((const T *)group.past_key, from);
        value = load((const T *)group.past_value, from);
    } else if (place < past + group.length) {
        int64_t token = place - past;
        int64_t row = example * group.length + token;
        int64_t position = group.turned == 0 ? 0 : position_of(group, example, token);
        key = rotated(group, head_of<T>(group, GROUP_KEYS, row, head), position, n);
        value = load(head_of<T>(group, GROUP_VALUES, row, head), n);
    }
    store((T *)group.keys, to, key);
    store((T *)group.values, to, value);
}

template <typename T>
__global__ void
group_lay_kernel(const CudaGroupQuery group, int64_t count)
{
    for (int64_t i = index_first(); i < count; i += index_step()) {
        int64_t vector = index_quotient(i, group.size);
        int64_t index = index_quotient(vector, group.present);
        lay_number<T>(group, index, vector - index * group.present, i - vector * group.size);
    }
}

template <typename T>
static cudaError_t
lay(const CudaGroupQuery *group, cudaStream_t stream)
{
    int64_t count = group->batch * group->key_heads * group->present * group->size;
    return count == 0 ? cudaSuccess
                      : cuda_launch(group_lay_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream,
                            *group, count);
}

extern "C" int
cuda_group_lay(CudaType type, const CudaGroupQuery *group, cudaStream_t stream)
{
    EACH_GROUP_TYPE(type, lay<T>(group, stream));
}

template <typename T>
__global__ void
group_rotate_kernel(const CudaGroupQuery group, int64_t count)
{
    for (int64_t i = index_first(); i < count; i += index_step()) {
        int64_t vector = index_quotient(i, group.size);
        int64_t line = index_quotient(vector, group.length);
        int64_t token = vector - line * group.length;
        int64_t example = index_quotient(line, group.heads);
        int64_t row = example * group.length + token;
        int64_t position = group.turned == 0 ? 0 : position_of(group, example, token);
        const T *head = head_of<T>(group, GROUP_QUERIES, row, line - example * group.heads);
        store((T *)group.queries, i, rotated(group, head, position, i - vector * group.size));
    }
}

template <typename T>
static cudaError_t
rotate(const CudaGroupQuery *group, cudaStream_t stream)
{
    int64_t count = group->batch * group->heads * group->length * group->size;
    return count == 0 ? cudaSuccess
                      : cuda_launch(group_rotate_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream,
                            *group, count);
}

extern "C" int
cuda_group_rotate(CudaType type, const CudaGroupQuery *group, cudaStream_t stream)
{
    EACH_GROUP_TYPE(type, rotate<T>(group, stream));
}
