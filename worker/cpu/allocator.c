/* Two levels. A freed block goes to the cache of the freeing thread; when the list of its class is full
 * there, half of it moves to the shared lists, under the lock; from there it goes back to the system when
 * the shared cache is full. An allocation takes the same way in the other direction. Blocks above
 * THREAD_SIZE_MAX skip the first level.
 *
 * The limit binds the footprint: every byte taken from the system, allocated or cached. Only taking from
 * the system can hit it, and before that fails, the caller's and the shared caches are emptied. */
#include "worker/cpu/allocator.h"

#include <assert.h>
#include <pthread.h>

#include "shared/base/atomic.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/cpu/size_class.h"
#include "worker/runtime/memory_account.h"

enum {
    HEADER_SIZE = 64, /* keeps the data behind it aligned to cache lines */
    THREAD_SIZE_MAX = 32 * 1024,
    THREAD_CLASS_COUNT = 32, /* the classes up to THREAD_SIZE_MAX */
    THREAD_BYTES_MAX = 64 * 1024,
    THREAD_BLOCKS_MAX = 64,
    DRIFT_MAX = 64 * 1024,
};

typedef struct Block {
    TensorBuffer buffer;
    union {
        struct Block *next;     /* of a cached block */
        MemoryAccount *account; /* of an allocated block: the account that it is counted to, or NULL */
    };
    uint32_t size_class;
} Block;

_Static_assert(sizeof(Block) <= HEADER_SIZE, "a block's header keeps its data aligned");

typedef struct BlockList {
    Block *first;
    uint32_t count;
} BlockList;

/* Written by its thread alone; allocator_memory() reads the counters. */
typedef struct ThreadCache {
    ListLink link;
    Allocator *allocator;
    int64_t drift; /* bytes allocated less bytes freed, not yet in allocator->in_use */
    uint64_t allocation_count;
    MemoryAccount *account; /* the account that this thread charges, and what has not been added to it yet */
    int64_t charged;
    int64_t charged_highest;
    BlockList lists[THREAD_CLASS_COUNT];
} ThreadCache;

struct Allocator {
    uint64_t limit;
    uint64_t cache_max;
    pthread_key_t key; /* the ThreadCache of the calling thread */
    Mutex lock;
    uint64_t footprint;
    uint64_t cached; /* bytes in `lists` */
    BlockList lists[SIZE_CLASS_COUNT];
    ListLink threads;
    uint64_t allocation_count; /* of threads that ended or had no cache */
    int64_t in_use;            /* atomic; without the threads' drift */
    int64_t peak;              /* atomic */
};

static void
block_push(BlockList *list, Block *block)
{
    block->next = list->first;
    list->first = block;
    list->count++;
}

static Block *
block_pop(BlockList *list)
{
    Block *block = list->first;
    if (block != NULL) {
        list->first = block->next;
        list->count--;
    }
    return block;
}

static uint32_t
thread_list_max(uint32_t size_class)
{
    size_t fitting = THREAD_BYTES_MAX / size_class_bytes(size_class);
    return fitting < THREAD_BLOCKS_MAX ? (uint32_t)fitting : THREAD_BLOCKS_MAX;
}

static void
shared_put(Allocator *allocator, Block *block)
{
    size_t bytes = size_class_bytes(block->size_class);
    if (allocator->cached + bytes > allocator->cache_max) {
        allocator->footprint -= bytes;
        memory_free(block);
        return;
    }
    allocator->cached += bytes;
    block_push(&allocator->lists[block->size_class], block);
}

static Block *
shared_take(Allocator *allocator, uint32_t size_class)
{
    Block *block = block_pop(&allocator->lists[size_class]);
    if (block != NULL) {
        allocator->cached -= size_class_bytes(size_class);
    }
    return block;
}

/* Frees large blocks first: they free the most with the fewest calls. */
static void
shared_trim(Allocator *allocator, uint64_t keep)
{
    for (uint32_t i = SIZE_CLASS_COUNT; i-- > 0 && allocator->cached > keep;) {
        Block *block = NULL;
        while (allocator->cached > keep && (block = shared_take(allocator, i)) != NULL) {
            allocator->footprint -= size_class_bytes(i);
            memory_free(block);
        }
    }
}

static void
thread_flush(ThreadCache *cache)
{
    for (uint32_t i = 0; i < THREAD_CLASS_COUNT; i++) {
        Block *block = NULL;
        while ((block = block_pop(&cache->lists[i])) != NULL) {
            shared_put(cache->allocator, block);
        }
    }
}

static Block *
system_take(Allocator *allocator, ThreadCache *cache, uint32_t size_class)
{
    size_t bytes = size_class_bytes(size_class);
    if (bytes > allocator->limit) {
        return NULL;
    }
    if (allocator->footprint + bytes > allocator->limit) {
        if (cache != NULL) {
            thread_flush(cache);
        }
        shared_trim(allocator, 0);
    }
    if (allocator->footprint + bytes > allocator->limit) {
        return NULL;
    }
    Block *block = memory_new_aligned(HEADER_SIZE + bytes);
    if (block != NULL) {
        allocator->footprint += bytes;
        block->size_class = size_class;
    }
    return block;
}

/* Updates the peak only when a thread hands in its drift, so that the common path touches no shared cache
 * line. */
static void
count_in_use(Allocator *allocator, int64_t change)
{
    int64_t now = atomic_add_relaxed(&allocator->in_use, change);
    int64_t peak = atomic_load_relaxed(&allocator->peak);
    while (now > peak && !atomic_compare_exchange_weak_relaxed(&allocator->peak, &peak, now)) {}
}

static void
count_drift(Allocator *allocator, ThreadCache *cache, int64_t change)
{
    if (cache == NULL) {
        count_in_use(allocator, change);
        return;
    }
    int64_t drift = cache->drift + change;
    bool is_large = drift > DRIFT_MAX || drift < -DRIFT_MAX;
    atomic_store_relaxed(&cache->drift, is_large ? 0 : drift);
    if (is_large) {
        count_in_use(allocator, drift);
    }
}

static int64_t
charged_bytes(const TensorBuffer *buffer)
{
    return (int64_t)((buffer->size + MEMORY_CACHE_LINE - 1) / MEMORY_CACHE_LINE * MEMORY_CACHE_LINE);
}

static __attribute__((noinline)) void
tell_account(ThreadCache *cache)
{
    if (cache->account != NULL && (cache->charged != 0 || cache->charged_highest != 0)) {
        memory_account_count(cache->account, cache->charged, cache->charged_highest);
    }
    cache->charged = 0;
    cache->charged_highest = 0;
}

static inline void
charge_block(ThreadCache *cache, Block *block)
{
    block->account = cache == NULL ? NULL : cache->account;
    if (block->account == NULL) {
        return;
    }
    int64_t charged = cache->charged + charged_bytes(&block->buffer);
    cache->charged = charged;
    if (charged > cache->charged_highest) {
        cache->charged_highest = charged;
        if (charged > DRIFT_MAX) {
            tell_account(cache);
        }
    }
}

static inline void
discharge_block(ThreadCache *cache, const Block *block)
{
    if (block->account == NULL) {
        return;
    }
    int64_t bytes = charged_bytes(&block->buffer);
    if (cache == NULL || cache->account != block->account) {
        memory_account_count(block->account, -bytes, 0);
        return;
    }
    cache->charged -= bytes;
    if (cache->charged < -DRIFT_MAX) {
        tell_account(cache);
    }
}

static bool
account_admits(const ThreadCache *cache, size_t size)
{
    return cache == NULL || cache->account == NULL || cache->account->limit == 0 ||
           memory_account_admits(cache->account, cache->charged + (int64_t)size);
}

static void
thread_cache_end(void *value)
{
    ThreadCache *cache = value;
    Allocator *allocator = cache->allocator;
    tell_account(cache);
    mutex_lock(&allocator->lock);
    thread_flush(cache);
    list_remove(&cache->link);
    allocator->allocation_count += cache->allocation_count;
    mutex_unlock(&allocator->lock);
    count_in_use(allocator, cache->drift);
    memory_free(cache);
}

static ThreadCache *
thread_cache_new(Allocator *allocator)
{
    ThreadCache *cache = memory_new(1, sizeof *cache);
    if (cache == NULL) {
        return NULL;
    }
    if (pthread_setspecific(allocator->key, cache) != 0) {
        memory_free(cache);
        return NULL;
    }
    cache->allocator = allocator;
    mutex_lock(&allocator->lock);
    list_append(&allocator->threads, &cache->link);
    mutex_unlock(&allocator->lock);
    return cache;
}

/* Returns the thread's cache; NULL without memory, when the shared level serves alone. */
static ThreadCache *
thread_cache(Allocator *allocator)
{
    ThreadCache *cache = pthread_getspecific(allocator->key);
    return cache != NULL ? cache : thread_cache_new(allocator);
}

/* Moves half a list from the shared level, so that a thread that only allocates or only frees does not
 * lock for each block. */
static Block *
refill_cache(Allocator *allocator, ThreadCache *cache, uint32_t size_class)
{
    mutex_lock(&allocator->lock);
    Block *block = shared_take(allocator, size_class);
    if (block == NULL) {
        block = system_take(allocator, cache, size_class);
    } else if (cache != NULL && size_class < THREAD_CLASS_COUNT) {
        Block *more = NULL;
        for (uint32_t i = thread_list_max(size_class) / 2;
             i > 0 && (more = shared_take(allocator, size_class)) != NULL; i--) {
            block_push(&cache->lists[size_class], more);
        }
    }
    if (cache == NULL) {
        allocator->allocation_count += block != NULL;
    }
    mutex_unlock(&allocator->lock);
    return block;
}

static void
spill_blocks(Allocator *allocator, ThreadCache *cache, Block *block)
{
    mutex_lock(&allocator->lock);
    if (cache != NULL && block->size_class < THREAD_CLASS_COUNT) {
        BlockList *list = &cache->lists[block->size_class];
        for (uint32_t i = list->count / 2; i > 0; i--) {
            shared_put(allocator, block_pop(list));
        }
    }
    shared_put(allocator, block);
    mutex_unlock(&allocator->lock);
}

static void
block_release(TensorBuffer *buffer)
{
    Allocator *allocator = buffer->owner;
    Block *block = (Block *)(void *)buffer;
    ThreadCache *cache = thread_cache(allocator);
    count_drift(allocator, cache, -(int64_t)size_class_bytes(block->size_class));
    discharge_block(cache, block);
    if (cache != NULL && block->size_class < THREAD_CLASS_COUNT &&
        cache->lists[block->size_class].count < thread_list_max(block->size_class)) {
        block_push(&cache->lists[block->size_class], block);
    } else {
        spill_blocks(allocator, cache, block);
    }
}

TensorBuffer *
allocator_allocate(Allocator *allocator, size_t size)
{
    uint32_t size_class = 0;
    if (!size_class_find(size, &size_class)) {
        return NULL;
    }
    ThreadCache *cache = thread_cache(allocator);
    Block *block = NULL;
    if (!account_admits(cache, size)) {
        return NULL;
    }
    if (cache != NULL && size_class < THREAD_CLASS_COUNT) {
        block = block_pop(&cache->lists[size_class]);
    }
    if (block == NULL) {
        block = refill_cache(allocator, cache, size_class);
    }
    if (block == NULL) {
        return NULL;
    }
    if (cache != NULL) {
        atomic_store_relaxed(&cache->allocation_count, cache->allocation_count + 1);
    }
    count_drift(allocator, cache, (int64_t)size_class_bytes(size_class));
    block->buffer = (TensorBuffer){
        .reference_count = 1,
        .size = size,
        .data = (char *)block + HEADER_SIZE,
        .release = block_release,
        .owner = allocator,
    };
    charge_block(cache, block);
    return &block->buffer;
}

MemoryAccount *
allocator_charged(Allocator *allocator)
{
    const ThreadCache *cache = pthread_getspecific(allocator->key);
    return cache == NULL ? NULL : cache->account;
}

MemoryAccount *
allocator_charge(Allocator *allocator, MemoryAccount *account)
{
    ThreadCache *cache = thread_cache(allocator);
    MemoryAccount *before = cache == NULL ? NULL : cache->account;
    if (cache != NULL && before != account) {
        tell_account(cache);
        cache->account = account;
    }
    return before;
}

bool
allocator_adopt(Allocator *allocator, TensorBuffer *buffer)
{
    ThreadCache *cache = thread_cache(allocator);
    Block *block = (Block *)(void *)buffer;
    bool is_ours = buffer->release == block_release && buffer->owner == allocator;
    bool may_be = is_ours && cache != NULL && cache->account != NULL && block->account == NULL &&
                  atomic_load_acquire(&buffer->reference_count) == 1;
    if (may_be) {
        charge_block(cache, block);
    }
    return may_be;
}

Allocator *
allocator_new(uint64_t limit, uint64_t cache_max)
{
    Allocator *allocator = memory_new(1, sizeof *allocator);
    if (allocator == NULL) {
        return NULL;
    }
    if (pthread_key_create(&allocator->key, thread_cache_end) != 0) {
        memory_free(allocator);
        return NULL;
    }
    assert(size_class_bytes(THREAD_CLASS_COUNT - 1) == THREAD_SIZE_MAX);
    allocator->limit = limit;
    allocator->cache_max = cache_max;
    mutex_init(&allocator->lock);
    list_init(&allocator->threads);
    return allocator;
}

void
allocator_free(Allocator *allocator)
{
    if (allocator == NULL) {
        return;
    }
    pthread_key_delete(allocator->key);
    LIST_EACH(&allocator->threads, link)
    {
        thread_cache_end(LIST_ITEM(link, ThreadCache, link));
    }
    assert(allocator->in_use == 0);
    shared_trim(allocator, 0);
    mutex_done(&allocator->lock);
    memory_free(allocator);
}

void
allocator_memory(Allocator *allocator, DeviceMemory *ret_memory)
{
    mutex_lock(&allocator->lock);
    int64_t in_use = atomic_load_relaxed(&allocator->in_use);
    uint64_t allocation_count = allocator->allocation_count;
    LIST_EACH(&allocator->threads, link)
    {
        const ThreadCache *cache = LIST_ITEM(link, ThreadCache, link);
        in_use += atomic_load_relaxed(&cache->drift);
        allocation_count += atomic_load_relaxed(&cache->allocation_count);
    }
    mutex_unlock(&allocator->lock);
    int64_t peak = atomic_load_relaxed(&allocator->peak);
    *ret_memory = (DeviceMemory){
        .limit = allocator->limit,
        .in_use = in_use < 0 ? 0 : (uint64_t)in_use,
        .peak = (uint64_t)(peak < in_use ? in_use : peak),
        .allocation_count = allocation_count,
    };
}

void
allocator_trim(Allocator *allocator, uint64_t keep)
{
    ThreadCache *cache = pthread_getspecific(allocator->key);
    mutex_lock(&allocator->lock);
    if (cache != NULL) {
        thread_flush(cache);
    }
    shared_trim(allocator, keep);
    mutex_unlock(&allocator->lock);
}
