#include "worker/cuda/kernels/suppression.h"

#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"

enum { LOW_Y, LOW_X, HIGH_Y, HIGH_X, AREA };

__device__ __forceinline__ float
smaller(float a, float b)
{
    return b < a ? b : a;
}

__device__ __forceinline__ float
larger(float a, float b)
{
    return a < b ? b : a;
}

/* Keys of scores: larger for larger ones, and for lower indices among equal ones; NaN stands below all
 * numbers. None is 0, since no index is the largest of 32 bits. */
__device__ __forceinline__ uint64_t
key_of(float score, uint32_t index)
{
    float number = score + 0.0F;
    uint32_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    uint32_t order = number != number ? 0 : (bits >> 31) != 0 ? ~bits : bits | (uint32_t)1 << 31;
    return (uint64_t)order << 32 | (UINT32_MAX - index);
}

__device__ __forceinline__ uint32_t
index_of(uint64_t key)
{
    return UINT32_MAX - (uint32_t)key;
}

__device__ __forceinline__ float
score_of(uint64_t key)
{
    uint32_t order = (uint32_t)(key >> 32);
    uint32_t bits = order == 0 ? ~order : (order >> 31) != 0 ? order ^ (uint32_t)1 << 31 : ~order;
    float score = 0;
    memcpy(&score, &bits, sizeof score);
    return score;
}

template <typename T>
__global__ void
sides_kernel(CudaSuppression all, int64_t total)
{
    for (int64_t i = index_first(); i < total; i += index_step()) {
        const T *boxes = (const T *)all.boxes;
        int64_t set = i / all.box_count;
        float *to = all.sides + set * CUDA_BOX_ARRAYS * all.box_count + (i - set * all.box_count);
        float box[CUDA_BOX_SIDES];
        for (int side = 0; side < CUDA_BOX_SIDES; side++) {
            box[side] = load(boxes, i * CUDA_BOX_SIDES + side);
        }
        float half_width = box[2] / 2;
        float half_height = box[3] / 2;
        float low_y = all.is_centre ? box[1] - half_height : smaller(box[0], box[2]);
        float low_x = all.is_centre ? box[0] - half_width : smaller(box[1], box[3]);
        float high_y = all.is_centre ? box[1] + half_height : larger(box[0], box[2]);
        float high_x = all.is_centre ? box[0] + half_width : larger(box[1], box[3]);
        to[LOW_Y * all.box_count] = low_y;
        to[LOW_X * all.box_count] = low_x;
        to[HIGH_Y * all.box_count] = high_y;
        to[HIGH_X * all.box_count] = high_x;
        to[AREA * all.box_count] = (high_y - low_y) * (high_x - low_x);
    }
}

struct BlockMost {
    static __device__ __forceinline__ uint64_t
    none()
    {
        return 0;
    }
    static __device__ __forceinline__ uint64_t
    join(uint64_t a, uint64_t b)
    {
        return a > b ? a : b;
    }
};

/* One search, of a block. */
struct Search {
    const float *sides;
    uint64_t *keys;
    uint64_t *chosen;
    int32_t *begins;
};

__device__ __forceinline__ Search
search_of(const CudaSuppression &all)
{
    int64_t number = blockIdx.x;
    int64_t set = number / all.classes;
    return {all.sides + set * CUDA_BOX_ARRAYS * all.box_count, all.keys + number * all.box_count,
        all.chosen + number * all.size_max, all.begins + number * all.box_count};
}

/* Writes the keys of the candidates, and 0 for other boxes. */
template <typename T>
__device__ __forceinline__ void
write_keys(const CudaSuppression &all, const Search &search)
{
    const T *scores = (const T *)all.scores + blockIdx.x * all.box_count;
    for (int64_t n = threadIdx.x; n < all.box_count; n += INDEX_THREADS) {
        float score = load(scores, n);
        bool is_candidate = all.takes_all || score > all.score_min;
        search.keys[n] = is_candidate ? key_of(score, (uint32_t)n) : 0;
        if (all.is_lazy) {
            search.begins[n] = 0;
        }
    }
    __syncthreads();
}

__device__ __forceinline__ uint64_t
find_best(const CudaSuppression &all, const Search &search)
{
    uint64_t best = 0;
    for (int64_t n = threadIdx.x; n < all.box_count; n += INDEX_THREADS) {
        best = BlockMost::join(best, search.keys[n]);
    }
    return block_join<BlockMost>(best);
}

__device__ __forceinline__ void
read_box(const CudaSuppression &all, const Search &search, int64_t index, float *ret_box)
{
    for (int array = 0; array < CUDA_BOX_ARRAYS; array++) {
        ret_box[array] = search.sides[array * all.box_count + index];
    }
}

/* Returns the overlap of two boxes; 0 when one has no area. */
__device__ __forceinline__ float
overlap_of(const float *box, const float *other)
{
    if (!(box[AREA] > 0) || !(other[AREA] > 0)) {
        return 0;
    }
    float height = smaller(box[HIGH_Y], other[HIGH_Y]) - larger(box[LOW_Y], other[LOW_Y]);
    float width = smaller(box[HIGH_X], other[HIGH_X]) - larger(box[LOW_X], other[LOW_X]);
    float both = larger(height, 0) * larger(width, 0);
    return both / (box[AREA] + other[AREA] - both);
}

/* Takes the best candidate and drops all that overlap it too much, turn by turn. */
template <typename T>
__global__ void
suppress_kernel(CudaSuppression all)
{
    Search search = search_of(all);
    int64_t count = 0;
    write_keys<T>(all, search);
    uint64_t best = find_best(all, search);
    while (best != 0 && count < all.size_max) {
        float box[CUDA_BOX_ARRAYS];
        float other[CUDA_BOX_ARRAYS];
        read_box(all, search, index_of(best), box);
        for (int64_t n = threadIdx.x; n < all.box_count; n += INDEX_THREADS) {
            if (search.keys[n] != 0) {
                read_box(all, search, n, other);
                bool is_out = search.keys[n] == best || overlap_of(other, box) > all.overlap_max;
                search.keys[n] = is_out ? 0 : search.keys[n];
            }
        }
        if (threadIdx.x == 0) {
            search.chosen[count] = best;
        }
        count++;
        __syncthreads();
        best = find_best(all, search);
    }
    if (threadIdx.x == 0) {
        all.counts[blockIdx.x] = count;
    }
}

template <typename T>
__device__ __forceinline__ float
rounded(float number)
{
    T value;
    store(&value, 0, number);
    return load(&value, 0);
}

template <typename T>
__device__ __forceinline__ float
overlap_between(const CudaSuppression &all, const Search &search, uint32_t left, uint32_t right)
{
    if (all.overlaps != nullptr) {
        return load((const T *)all.overlaps, (int64_t)left * all.box_count + right);
    }
    float box[CUDA_BOX_ARRAYS];
    float other[CUDA_BOX_ARRAYS];
    read_box(all, search, left, box);
    read_box(all, search, right, other);
    return rounded<T>(overlap_of(box, other));
}

/* Lowers the score by what was chosen since the box was last looked at. Returns false when it is out, as a
 * box is whose overlap or score is no number: that would be looked at for ever. */
template <typename T>
__device__ __forceinline__ bool
lower_score(const CudaSuppression &all, const Search &search, uint32_t index, int64_t chosen, float *score)
{
    bool is_soft = all.sigma > 0;
    float scale = is_soft ? rounded<T>(-0.5F / all.sigma) : 0;
    for (int64_t n = chosen - 1; n >= search.begins[index]; n--) {
        float overlap = overlap_between<T>(all, search, index, index_of(search.chosen[n]));
        if (!is_soft && overlap > all.overlap_max) {
            return false;
        }
        *score = rounded<T>(*score * rounded<T>(expf(scale * overlap * overlap)));
        if (!(*score > all.score_min)) {
            return false;
        }
    }
    search.begins[index] = (int32_t)chosen;
    return true;
}

/* A box whose score was lowered stays among the candidates. One thread lowers, all look for the best. */
template <typename T>
__global__ void
suppress_lazily_kernel(CudaSuppression all)
{
    __shared__ int64_t count;
    Search search = search_of(all);
    write_keys<T>(all, search);
    if (threadIdx.x == 0) {
        count = 0;
    }
    __syncthreads();
    uint64_t best = find_best(all, search);
    while (best != 0 && count < all.size_max) {
        __syncthreads();
        if (threadIdx.x == 0) {
            uint32_t index = index_of(best);
            float given = score_of(best);
            float score = given;
            bool is_in = lower_score<T>(all, search, index, count, &score);
            bool is_chosen = is_in && score == given;
            search.keys[index] = is_in && !is_chosen ? key_of(score, index) : 0;
            if (is_chosen) {
                search.chosen[count++] = best;
            }
        }
        __syncthreads();
        best = find_best(all, search);
    }
    if (threadIdx.x == 0) {
        all.counts[blockIdx.x] = count;
    }
}

/* The rows of a search stand behind those of all searches before. */
__global__ void
suppression_rows_kernel(CudaSuppression all, int64_t *rows)
{
    int64_t before = 0;
    for (int64_t n = threadIdx.x; n < (int64_t)blockIdx.x; n += INDEX_THREADS) {
        before += all.counts[n];
    }
    before = block_join<BlockSum<int64_t>>(before);
    Search search = search_of(all);
    for (int64_t n = threadIdx.x; n < all.counts[blockIdx.x]; n += INDEX_THREADS) {
        int64_t *row = rows + (before + n) * 3;
        row[0] = (int64_t)blockIdx.x / all.classes;
        row[1] = (int64_t)blockIdx.x % all.classes;
        row[2] = index_of(search.chosen[n]);
    }
}

template <typename T>
__global__ void
chosen_boxes_kernel(CudaChosenBoxes boxes)
{
    for (int64_t n = index_first(); n < boxes.size; n += index_step()) {
        bool is_chosen = n < boxes.count;
        boxes.indices[n] = is_chosen ? (int32_t)index_of(boxes.chosen[n]) : 0;
        if (boxes.scores != nullptr) {
            store((T *)boxes.scores, n, is_chosen ? score_of(boxes.chosen[n]) : 0.0F);
        }
    }
    if (boxes.valid != nullptr && index_first() == 0) {
        *boxes.valid = (int32_t)boxes.count;
    }
}

template <typename T>
static cudaError_t
suppress(const CudaSuppression *all, cudaStream_t stream)
{
    int64_t total = all->search_count / all->classes * all->box_count;
    cudaError_t error = all->boxes == nullptr ? cudaSuccess
                                              : cuda_launch(sides_kernel<T>, index_grid(total),
                                                    dim3(INDEX_THREADS), 0, stream, *all, total);
    return error != cudaSuccess
               ? error
               : cuda_launch(all->is_lazy ? suppress_lazily_kernel<T> : suppress_kernel<T>,
                     dim3((unsigned)all->search_count), dim3(INDEX_THREADS), 0, stream, *all);
}

template <typename T>
static cudaError_t
write_chosen_boxes(const CudaChosenBoxes *boxes, cudaStream_t stream)
{
    return boxes->size == 0 && boxes->valid == nullptr
               ? cudaSuccess
               : cuda_launch(chosen_boxes_kernel<T>, index_grid(boxes->size > 0 ? boxes->size : 1),
                     dim3(INDEX_THREADS), 0, stream, *boxes);
}

extern "C" int
cuda_suppress(const CudaSuppression *suppression, cudaStream_t stream)
{
    TYPE_SWITCH(suppression->type, TYPE_CASE(CUDA_FLOAT32, float, suppress<T>(suppression, stream))
                                       TYPE_CASE(CUDA_FLOAT16, __half, suppress<T>(suppression, stream)));
}

extern "C" int
cuda_suppression_rows(const CudaSuppression *suppression, int64_t *ret_rows, cudaStream_t stream)
{
    return (int)cuda_launch(suppression_rows_kernel, dim3((unsigned)suppression->search_count),
        dim3(INDEX_THREADS), 0, stream, *suppression, ret_rows);
}

extern "C" int
cuda_chosen_boxes(const CudaChosenBoxes *boxes, cudaStream_t stream)
{
    TYPE_SWITCH(boxes->type, TYPE_CASE(CUDA_FLOAT32, float, write_chosen_boxes<T>(boxes, stream))
                                 TYPE_CASE(CUDA_FLOAT16, __half, write_chosen_boxes<T>(boxes, stream)));
}
