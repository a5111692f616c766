#include "worker/runtime/run/running.h"

#include <inttypes.h>
#include <pthread.h>

#include "shared/base/clock.h"
#include "shared/base/list.h"

enum { NAMED_MAX = 4 };

/* A reader that finds the same run before and after the other members has them of that run. */
typedef struct Running {
    ListLink link;
    const Run *run; /* atomic, as the following; NULL: nothing */
    uint64_t start_ns;
    uint32_t node;
    bool is_listed;
} Running;

static _Thread_local Running mine;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its destructor takes a thread that ends out of the list */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ListLink threads;

static void
thread_ends(void *running)
{
    pthread_mutex_lock(&lock);
    list_remove(&((Running *)running)->link);
    pthread_mutex_unlock(&lock);
}

static void
threads_init(void)
{
    list_init(&threads);
    (void)pthread_key_create(&key, thread_ends);
}

/* A thread that cannot be told when it ends is not listed. */
static void
thread_begins(void)
{
    (void)pthread_once(&once, threads_init);
    mine.is_listed = true;
    if (pthread_setspecific(key, &mine) == 0) {
        pthread_mutex_lock(&lock);
        list_append(&threads, &mine.link);
        pthread_mutex_unlock(&lock);
    }
}

void
running_begin(const Run *run, uint32_t node, uint64_t start_ns)
{
    if (!mine.is_listed) {
        thread_begins();
    }
    __atomic_store_n(&mine.node, node, __ATOMIC_RELAXED);
    __atomic_store_n(&mine.start_ns, start_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&mine.run, run, __ATOMIC_RELEASE);
}

void
running_end(void)
{
    __atomic_store_n(&mine.run, NULL, __ATOMIC_RELEASE);
}

/* --- The report ----------------------------------------------------------------------------------------- */

static bool
read_one(const Running *running, const Run *run, uint32_t *ret_node, uint64_t *ret_start_ns)
{
    if (__atomic_load_n(&running->run, __ATOMIC_ACQUIRE) != run) {
        return false;
    }
    *ret_node = __atomic_load_n(&running->node, __ATOMIC_RELAXED);
    *ret_start_ns = __atomic_load_n(&running->start_ns, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&running->run, __ATOMIC_RELAXED) == run && *ret_node < run->partition->node_count;
}

static void
append_node(const Run *run, uint32_t node, uint64_t start_ns, Buffer *text)
{
    const PartitionNode about = partition_node(run->partition, node);
    buffer_append_format(text, "'%.*s' (%.*s)", SLICE_PRINT(about.name), SLICE_PRINT(about.op));
    if (start_ns > 0) {
        buffer_append_format(
            text, " for %" PRIu64 " ms", (clock_monotonic_ns() - start_ns) / CLOCK_NS_PER_MS);
    }
}

uint32_t
running_describe(const Run *run, Buffer *text)
{
    uint32_t count = 0;
    (void)pthread_once(&once, threads_init);
    pthread_mutex_lock(&lock);
    LIST_EACH(&threads, link)
    {
        uint32_t node = 0;
        uint64_t start_ns = 0;
        if (read_one(LIST_ITEM(link, Running, link), run, &node, &start_ns) && count++ < NAMED_MAX) {
            buffer_append_string(text, count == 1 ? "; computing: " : ", ");
            append_node(run, node, start_ns, text);
        }
    }
    pthread_mutex_unlock(&lock);
    if (count > NAMED_MAX) {
        buffer_append_format(text, " and %" PRIu32 " more", count - NAMED_MAX);
    }
    return count;
}
