/* An allocation takes the smallest block of the first bin that has one large enough; without one, a slab is
 * made, outside of the lock but in a turn of the lane; without room for a slab, those that lie idle go back
 * to the card, which may let one larger slab be made of them. Only then it fails.
 *
 * Work of the lane may use any free block, since it comes behind the last work that used it. A copy from the
 * host would have to wait for that: it gets a block that the lane has done with, if there is one, so that it
 * comes while the lane computes. So that such blocks stay, those that the lane may still use are not joined
 * with them before they are needed as one. */
#include "worker/cuda/allocator.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/rules.h"
#include "worker/cuda/shares.h"

enum {
    UNIT_SIZE = 256, /* also the alignment of blocks */
    BIN_STEPS = 8,   /* bins for each power of two */
    BIN_COUNT = 64 * BIN_STEPS,
    BIN_WORDS = BIN_COUNT / 64,
};
#define SLAB_SIZE_FIRST (UINT64_C(64) << 20)
#define SLAB_SIZE_MAX (UINT64_C(1) << 30)
#define SLAB_UNIT (UINT64_C(2) << 20) /* cudaMalloc() maps pages of this size */

#define NOBODY UINT64_MAX

typedef struct Block Block;
struct Block {
    TensorBuffer buffer;
    Block *before; /* neighbours in the slab, or NULL at its ends */
    Block *after;
    ListLink link; /* in its bin while it is free, or among the spare ones */
    char *data;
    uint64_t size;
    uint64_t position; /* of the lane when nobody used the bytes any more */
    uint64_t tenant;   /* whose bytes these may be; 0: anybody's; NOBODY: zeroes */
    uint64_t share;    /* bytes of what its tenant may hold */
    MemoryAccount *account;
    bool is_free;
};

struct CudaAllocator {
    CudaAllocatorOptions options;
    Mutex lock;
    ListLink bins[BIN_COUNT];
    uint64_t filled[BIN_WORDS]; /* bit i: bin i is not empty */
    ListLink spare;             /* Blocks without bytes */
    CudaShares shares;
    bool has_parted; /* free neighbours may have been left apart */
    uint64_t slab_bytes;
    uint64_t next_slab; /* bytes; changed in turns of the lane, as the number of slabs is */
    DeviceMemory memory;
};

static _Thread_local MemoryAccount *charged; /* by this thread */

MemoryAccount *
cuda_allocator_charge(MemoryAccount *account)
{
    MemoryAccount *before = charged;
    charged = account;
    return before;
}

static size_t
bin_of(uint64_t size)
{
    uint64_t units = size / UNIT_SIZE;
    if (units < BIN_STEPS) {
        return units;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(units);
    return (size_t)(power - 2) * BIN_STEPS + ((units >> (power - 3)) & (BIN_STEPS - 1));
}

static void
put_free(CudaAllocator *allocator, Block *block)
{
    size_t bin = bin_of(block->size);
    block->is_free = true;
    list_append(&allocator->bins[bin], &block->link);
    allocator->filled[bin / 64] |= UINT64_C(1) << bin % 64;
}

static void
take_free(CudaAllocator *allocator, Block *block)
{
    size_t bin = bin_of(block->size);
    block->is_free = false;
    list_remove(&block->link);
    if (list_is_empty(&allocator->bins[bin])) {
        allocator->filled[bin / 64] &= ~(UINT64_C(1) << bin % 64);
    }
}

/* Returns the first bin from `bin` on that has blocks, or BIN_COUNT. */
static size_t
filled_from(const CudaAllocator *allocator, size_t bin)
{
    for (size_t word = bin / 64; word < BIN_WORDS; word++) {
        uint64_t bits = allocator->filled[word];
        bits = word == bin / 64 ? bits & (UINT64_MAX << bin % 64) : bits;
        if (bits != 0) {
            return word * 64 + (size_t)__builtin_ctzll(bits);
        }
    }
    return BIN_COUNT;
}

/* Returns the smallest block that is large enough and that nobody used after this position of the lane; NULL:
 * there is none. */
static Block *
smallest_of(const ListLink *bin, uint64_t size, uint64_t position)
{
    Block *best = NULL;
    LIST_EACH(bin, link)
    {
        Block *block = LIST_ITEM(link, Block, link);
        if (block->size >= size && block->position <= position &&
            (best == NULL || block->size < best->size)) {
            best = block;
        }
    }
    return best;
}

/* The bin of `size` itself may have smaller blocks only; any later one has none. */
static Block *
find_free(const CudaAllocator *allocator, uint64_t size, uint64_t position)
{
    Block *block = NULL;
    size_t bin = filled_from(allocator, bin_of(size));
    while (block == NULL && bin < BIN_COUNT) {
        block = smallest_of(&allocator->bins[bin], size, position);
        bin = filled_from(allocator, bin + 1);
    }
    return block;
}

static Block *
new_block(CudaAllocator *allocator)
{
    ListLink *link = list_first(&allocator->spare);
    if (link == NULL) {
        return memory_new(1, sizeof(Block));
    }
    list_remove(link);
    return LIST_ITEM(link, Block, link);
}

static void
spare_block(CudaAllocator *allocator, Block *block)
{
    list_append(&allocator->spare, &block->link);
}

/* Cuts what is more than `size` off a block. Without memory for the rest's description the block stays
 * whole. */
static void
cut_block(CudaAllocator *allocator, Block *block, uint64_t size)
{
    Block *rest = block->size > size ? new_block(allocator) : NULL;
    if (rest == NULL) {
        return;
    }
    *rest = (Block){.before = block,
        .after = block->after,
        .data = block->data + size,
        .size = block->size - size,
        .position = block->position,
        .tenant = block->tenant};
    if (rest->after != NULL) {
        rest->after->before = rest;
    }
    block->after = rest;
    block->size = size;
    put_free(allocator, rest);
}

static uint64_t
common_tenant(uint64_t left, uint64_t right)
{
    if (left == right || right == NOBODY) {
        return left;
    }
    return left == NOBODY ? right : 0;
}

/* Makes one block of two free neighbours, neither of them in a bin. */
static Block *
join_blocks(CudaAllocator *allocator, Block *left, Block *right)
{
    left->size += right->size;
    left->after = right->after;
    if (left->after != NULL) {
        left->after->before = left;
    }
    left->position = left->position > right->position ? left->position : right->position;
    left->tenant = common_tenant(left->tenant, right->tenant);
    spare_block(allocator, right);
    return left;
}

/* Returns whether the lane has done with both blocks, or with neither. */
static bool
are_alike(const CudaAllocator *allocator, const Block *left, const Block *right)
{
    uint64_t passed = atomic_load_acquire(&allocator->options.lane->passed);
    return (left->position <= passed) == (right->position <= passed);
}

static bool
may_join(CudaAllocator *allocator, const Block *block, const Block *neighbour, bool joins_all)
{
    if (neighbour == NULL || !neighbour->is_free) {
        return false;
    }
    bool may = joins_all || are_alike(allocator, block, neighbour);
    allocator->has_parted = allocator->has_parted || !may;
    return may;
}

static void
join_neighbours(CudaAllocator *allocator, Block *block, bool joins_all)
{
    if (may_join(allocator, block, block->after, joins_all)) {
        take_free(allocator, block->after);
        block = join_blocks(allocator, block, block->after);
    }
    if (may_join(allocator, block, block->before, joins_all)) {
        take_free(allocator, block->before);
        block = join_blocks(allocator, block->before, block);
    }
    put_free(allocator, block);
}

/* Returns a free block behind which another lies, or NULL. */
static Block *
find_parted(const CudaAllocator *allocator)
{
    for (size_t bin = filled_from(allocator, 0); bin < BIN_COUNT; bin = filled_from(allocator, bin + 1)) {
        LIST_EACH(&allocator->bins[bin], link)
        {
            Block *block = LIST_ITEM(link, Block, link);
            if (block->after != NULL && block->after->is_free) {
                return block;
            }
        }
    }
    return NULL;
}

/* Joins the neighbours that were left apart. Returns whether there may have been any. */
static bool
join_parted(CudaAllocator *allocator)
{
    bool has_parted = allocator->has_parted;
    Block *block = NULL;
    while (allocator->has_parted && (block = find_parted(allocator)) != NULL) {
        take_free(allocator, block);
        join_neighbours(allocator, block, true);
    }
    allocator->has_parted = false;
    return has_parted;
}

/* Called under no lock of the lane's: a turn under way may have enqueued the last use, and its position is
 * told already. */
static void
release_block(TensorBuffer *buffer)
{
    CudaAllocator *allocator = buffer->owner;
    Block *block = (Block *)(void *)buffer;
    MemoryAccount *account = block->account;
    int64_t size = (int64_t)block->size;
    mutex_lock(&allocator->lock);
    block->position = atomic_load_relaxed(&allocator->options.lane->position);
    allocator->memory.in_use -= block->size;
    cuda_shares_give(&allocator->shares, block->tenant, block->share);
    join_neighbours(allocator, block, false);
    mutex_unlock(&allocator->lock);
    if (account != NULL) {
        memory_account_count(account, -size, 0);
    }
}

#define ANY_POSITION UINT64_MAX

/* Takes a block that nobody used after this position of the lane; NULL: there is none. */
static Block *
take_block(CudaAllocator *allocator, uint64_t size, uint64_t position)
{
    mutex_lock(&allocator->lock);
    Block *block = find_free(allocator, size, position);
    if (block == NULL && position == ANY_POSITION && join_parted(allocator)) {
        block = find_free(allocator, size, position);
    }
    if (block != NULL) {
        take_free(allocator, block);
        cut_block(allocator, block, size);
        DeviceMemory *memory = &allocator->memory;
        memory->in_use += block->size;
        memory->peak = memory->in_use > memory->peak ? memory->in_use : memory->peak;
        memory->allocation_count++;
    }
    mutex_unlock(&allocator->lock);
    return block;
}

static cudaError_t
new_slab(CudaLane *lane, uint64_t size, void **ret_data)
{
    cudaError_t error = cudaMalloc(ret_data, size);
    if (error != cudaSuccess) {
        return error;
    }
    error = cudaMemsetAsync(*ret_data, 0, size, cuda_lane_stream(lane));
    if (error != cudaSuccess) {
        (void)cudaFree(*ret_data);
    }
    return error;
}

/* Makes a slab of zeroes, in a turn of the lane: other tenants may have had these bytes. Returns false when
 * the card has none; that is no error of the thread's then. */
static bool
make_slab(CudaAllocator *allocator, uint64_t size)
{
    CudaLane *lane = allocator->options.lane;
    void *data = NULL;
    Block *block = memory_new(1, sizeof *block);
    if (block == NULL) {
        return false;
    }
    cudaError_t error = new_slab(lane, size, &data);
    if (error != cudaSuccess) {
        (void)cuda_failure((int)error, "cudaMalloc", (Slice){0});
        memory_free(block);
        return false;
    }
    *block = (Block){.data = data, .size = size, .position = lane->position, .tenant = NOBODY};
    mutex_lock(&allocator->lock);
    allocator->slab_bytes += size;
    put_free(allocator, block);
    mutex_unlock(&allocator->lock);
    return true;
}

/* Takes a slab that lies idle from the bins; NULL: there is none. */
static Block *
take_idle_slab(CudaAllocator *allocator)
{
    mutex_lock(&allocator->lock);
    Block *idle = NULL;
    (void)join_parted(allocator);
    for (size_t bin = 0; bin < BIN_COUNT && idle == NULL; bin++) {
        LIST_EACH(&allocator->bins[bin], link)
        {
            Block *block = LIST_ITEM(link, Block, link);
            idle = block->before == NULL && block->after == NULL ? block : idle;
        }
    }
    if (idle != NULL) {
        take_free(allocator, idle);
        allocator->slab_bytes -= idle->size;
    }
    mutex_unlock(&allocator->lock);
    return idle;
}

/* Gives idle slabs back to the card. cudaFree() waits for all that the card computes, also in a turn of the
 * lane, so this is done only where the step would fail. */
static void
give_slabs_back(CudaAllocator *allocator)
{
    Block *idle = NULL;
    while ((idle = take_idle_slab(allocator)) != NULL) {
        cudaError_t error = cudaFree(idle->data);
        if (error != cudaSuccess) {
            (void)cuda_failure((int)error, "cudaFree", (Slice){0});
        }
        memory_free(idle);
    }
}

static uint64_t
round_up(uint64_t size, uint64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static bool
grow_within_limit(CudaAllocator *allocator, uint64_t size)
{
    uint64_t room = allocator->options.limit - allocator->slab_bytes;
    uint64_t wanted = round_up(size > allocator->next_slab ? size : allocator->next_slab, SLAB_UNIT);
    wanted = wanted < room ? wanted : room / UNIT_SIZE * UNIT_SIZE;
    if (wanted >= size && make_slab(allocator, wanted)) {
        allocator->next_slab =
            allocator->next_slab * 2 < SLAB_SIZE_MAX ? allocator->next_slab * 2 : SLAB_SIZE_MAX;
        return true;
    }
    return size < wanted && make_slab(allocator, size);
}

/* Somebody else may have grown the memory, or freed some, while this thread waited. */
static Block *
grow_in_turn(CudaAllocator *allocator, uint64_t size)
{
    Block *block = take_block(allocator, size, ANY_POSITION);
    if (block == NULL && !allocator->options.is_reserved) {
        if (!grow_within_limit(allocator, size)) {
            give_slabs_back(allocator);
            (void)grow_within_limit(allocator, size);
        }
        block = take_block(allocator, size, ANY_POSITION);
    }
    return block;
}

/* Begins a turn of the lane, unless it is this thread's already. Returns whether it has. */
static bool
begin_turn(CudaLane *lane)
{
    bool is_new = !cuda_lane_is_mine(lane);
    if (is_new) {
        cuda_lane_enter(lane);
    }
    return is_new;
}

static int
end_turn(CudaLane *lane, bool is_new)
{
    return is_new ? cuda_lane_leave(lane) : cudaSuccess;
}

static Block *
grow_and_take(CudaAllocator *allocator, uint64_t size)
{
    CudaLane *lane = allocator->options.lane;
    bool is_new = begin_turn(lane);
    Block *block = grow_in_turn(allocator, size);
    int error = end_turn(lane, is_new);
    if (error != cudaSuccess) {
        (void)cuda_failure(error, "making room on the card", (Slice){0});
    }
    return block;
}

/* Zeroes a block in the lane, in this thread's turn or in one of its own. */
static int
zero_block(CudaLane *lane, Block *block)
{
    bool is_new = begin_turn(lane);
    int error = (int)cudaMemsetAsync(block->data, 0, block->size, cuda_lane_stream(lane));
    block->position = lane->position;
    int left = end_turn(lane, is_new);
    return error != cudaSuccess ? error : left;
}

static uint64_t
charged_tenant(void)
{
    return charged == NULL ? 0 : charged->tenant;
}

/* Takes of what this thread's tenant may hold, or notes in its account that it may not. */
static bool
take_share(CudaAllocator *allocator, uint64_t size)
{
    mutex_lock(&allocator->lock);
    bool may = cuda_shares_take(&allocator->shares, charged_tenant(), size);
    mutex_unlock(&allocator->lock);
    if (!may) {
        assert(charged != NULL); /* nobody has no limit */
        memory_account_refuse_tenant(charged, allocator->shares.limit);
    }
    return may;
}

static void
give_share(CudaAllocator *allocator, uint64_t size)
{
    mutex_lock(&allocator->lock);
    cuda_shares_give(&allocator->shares, charged_tenant(), size);
    mutex_unlock(&allocator->lock);
}

/* Charges this thread's account and makes the bytes its tenant's, whose share has been taken. */
static bool
hand_out(CudaAllocator *allocator, Block *block, size_t size, uint64_t share)
{
    uint64_t tenant = charged_tenant();
    bool is_strange = block->tenant != NOBODY && (tenant == 0 || block->tenant != tenant);
    block->buffer = (TensorBuffer){
        .reference_count = 1,
        .size = size,
        .data = block->data,
        .release = release_block,
        .owner = allocator,
        .memory = CUDA_MEMORY_NUMBER,
    };
    block->account = charged;
    block->tenant = tenant;
    block->share = share;
    if (charged != NULL) {
        memory_account_count(charged, (int64_t)block->size, (int64_t)block->size);
    }
    if (is_strange && CUDA_KEEPS(CUDA_ZEROES_FOR_STRANGERS)) {
        int error = zero_block(allocator->options.lane, block);
        if (error != cudaSuccess) {
            (void)cuda_failure(error, "zeroing memory of the card", (Slice){0});
            give_share(allocator, share);
            block->tenant = 0; /* the bytes are still a stranger's */
            release_block(&block->buffer);
            return false;
        }
    }
    return true;
}

/* Outside of a turn of the lane, bytes are wanted for a copy from the host. */
static Block *
find_block(CudaAllocator *allocator, uint64_t size)
{
    const CudaLane *lane = allocator->options.lane;
    Block *block = NULL;
    if (!cuda_lane_is_mine(lane)) {
        block = take_block(allocator, size, atomic_load_acquire(&lane->passed));
    }
    if (block == NULL) {
        block = take_block(allocator, size, ANY_POSITION);
    }
    return block == NULL ? grow_and_take(allocator, size) : block;
}

TensorBuffer *
cuda_allocator_allocate(CudaAllocator *allocator, size_t size)
{
    if (size > allocator->options.limit) {
        return NULL;
    }
    uint64_t rounded = size == 0 ? UNIT_SIZE : round_up(size, UNIT_SIZE);
    if (charged != NULL && charged->limit != 0 && !memory_account_admits(charged, (int64_t)rounded)) {
        return NULL;
    }
    if (!take_share(allocator, rounded)) {
        return NULL;
    }
    Block *block = find_block(allocator, rounded);
    if (block == NULL) {
        give_share(allocator, rounded);
        return NULL;
    }
    return hand_out(allocator, block, size, rounded) ? &block->buffer : NULL;
}

/* A view may be of bytes that were used since they were allocated. */
uint64_t
cuda_allocator_position(const CudaAllocator *allocator, const TensorBuffer *buffer)
{
    if (buffer->release != release_block) {
        return atomic_load_relaxed(&allocator->options.lane->position);
    }
    const Block *block = (const Block *)(const void *)buffer;
    return block->position;
}

/* Returns the bytes of this free block and of the free ones behind it, which become one where they are
 * needed. */
static uint64_t
joined_size(const Block *block)
{
    uint64_t size = 0;
    for (; block != NULL && block->is_free; block = block->after) {
        size += block->size;
    }
    return size;
}

static uint64_t
largest_free(const CudaAllocator *allocator)
{
    uint64_t largest = 0;
    for (size_t bin = filled_from(allocator, 0); bin < BIN_COUNT; bin = filled_from(allocator, bin + 1)) {
        LIST_EACH(&allocator->bins[bin], link)
        {
            uint64_t size = joined_size(LIST_ITEM(link, Block, link));
            largest = size > largest ? size : largest;
        }
    }
    return largest;
}

void
cuda_allocator_memory(CudaAllocator *allocator, DeviceMemory *ret_memory)
{
    mutex_lock(&allocator->lock);
    *ret_memory = allocator->memory;
    ret_memory->limit = allocator->options.limit;
    ret_memory->cached = allocator->slab_bytes - allocator->memory.in_use;
    ret_memory->largest_free = largest_free(allocator);
    mutex_unlock(&allocator->lock);
}

static bool
reserve_slab(CudaAllocator *allocator)
{
    CudaLane *lane = allocator->options.lane;
    cuda_lane_enter(lane);
    bool is_made = make_slab(allocator, allocator->options.limit);
    return cuda_lane_leave(lane) == cudaSuccess && is_made;
}

Status
cuda_allocator_new(Call *call, const CudaAllocatorOptions *options, CudaAllocator **ret_allocator)
{
    CudaAllocator *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return call_fail_memory(call, "the card's allocator");
    }
    made->options = *options;
    made->options.limit = options->limit / UNIT_SIZE * UNIT_SIZE;
    made->next_slab = SLAB_SIZE_FIRST;
    mutex_init(&made->lock);
    list_init(&made->spare);
    for (size_t bin = 0; bin < BIN_COUNT; bin++) {
        list_init(&made->bins[bin]);
    }
    if (!cuda_shares_init(&made->shares, options->tenant_limit)) {
        cuda_allocator_free(made);
        return call_fail_memory(call, "the card's allocator");
    }
    if (options->is_reserved && !reserve_slab(made)) {
        cuda_allocator_free(made);
        size_t available = 0;
        size_t all = 0;
        TRY(cuda_check(call, (int)cudaMemGetInfo(&available, &all), "asking for the card's memory"));
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "the card cannot give %llu bytes: %zu of its %zu bytes are free",
            (unsigned long long)options->limit, available, all);
    }
    *ret_allocator = made;
    return STATUS_OK;
}

void
cuda_allocator_free(CudaAllocator *allocator)
{
    if (allocator == NULL) {
        return;
    }
    assert(allocator->memory.in_use == 0);
    give_slabs_back(allocator);
    LIST_EACH(&allocator->spare, link)
    {
        memory_free(LIST_ITEM(link, Block, link));
    }
    cuda_shares_done(&allocator->shares);
    mutex_done(&allocator->lock);
    memory_free(allocator);
}
