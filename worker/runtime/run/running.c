#include "worker/runtime/run/running.h"

#include <inttypes.h>
#include <pthread.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/list.h"
#include "shared/base/mutex.h"

enum { NAMED_MAX = 4 };

/* One thread's note. A reader that finds the same run before and after it has read the other members knows
 * that they belong to that run. */
typedef struct Running {
    ListLink link;
    const Run *run; /* atomic, as are the next two; NULL: the thread computes nothing */
    uint64_t start_ns;
    uint32_t node;
    bool is_listed;
} Running;

static _Thread_local Running my_note;

static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key; /* its destructor takes a thread that ends off the list */
static Mutex lock = MUTEX_INITIALIZER;
static ListLink listed_threads;

static void
unlist_thread(void *running)
{
    mutex_lock(&lock);
    list_remove(&((Running *)running)->link);
    mutex_unlock(&lock);
}

static void
init_threads(void)
{
    list_init(&listed_threads);
    (void)pthread_key_create(&exit_key, unlist_thread);
}

/* Lists this thread. When its end could not be noticed, it is not listed, and running_describe() misses
 * it. */
static void
list_this_thread(void)
{
    (void)pthread_once(&init_once, init_threads);
    my_note.is_listed = true;
    if (pthread_setspecific(exit_key, &my_note) == 0) {
        mutex_lock(&lock);
        list_append(&listed_threads, &my_note.link);
        mutex_unlock(&lock);
    }
}

void
running_begin(const Run *run, uint32_t node, uint64_t start_ns)
{
    if (!my_note.is_listed) {
        list_this_thread();
    }
    atomic_store_relaxed(&my_note.node, node);
    atomic_store_relaxed(&my_note.start_ns, start_ns);
    atomic_store_release(&my_note.run, run);
}

void
running_end(void)
{
    atomic_store_release(&my_note.run, NULL);
}

static bool
read_one(const Running *running, const Run *run, uint32_t *ret_node, uint64_t *ret_start_ns)
{
    if (atomic_load_acquire(&running->run) != run) {
        return false;
    }
    *ret_node = atomic_load_relaxed(&running->node);
    *ret_start_ns = atomic_load_acquire(&running->start_ns);
    return atomic_load_relaxed(&running->run) == run && *ret_node < run->partition->node_count;
}

static void
append_node(const Run *run, uint32_t node, uint64_t start_ns, Buffer *text)
{
    PartitionNode about = partition_node(run->partition, node);
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
    (void)pthread_once(&init_once, init_threads);
    mutex_lock(&lock);
    LIST_EACH(&listed_threads, link)
    {
        uint32_t node = 0;
        uint64_t start_ns = 0;
        if (read_one(LIST_ITEM(link, Running, link), run, &node, &start_ns) && count++ < NAMED_MAX) {
            buffer_append_string(text, count == 1 ? "; computing: " : ", ");
            append_node(run, node, start_ns, text);
        }
    }
    mutex_unlock(&lock);
    if (count > NAMED_MAX) {
        buffer_append_format(text, " and %" PRIu32 " more", count - NAMED_MAX);
    }
    return count;
}
