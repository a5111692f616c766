/* All kernels in one array sorted by op, fast ones before reference ones, so that a large partition finds
 * its kernels quickly. Built once, on first use. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "worker/runtime/kernel.h"

enum { KERNEL_COUNT_MAX = 4096 };

typedef struct KernelRow {
    const Kernel *kernel;
    size_t rank; /* the order of registration, which is the order of preference */
} KernelRow;

static KernelRow kernel_rows[KERNEL_COUNT_MAX];
static size_t kernel_row_count;
static size_t kernel_fast_count; /* ranks below this are fast kernels */
static pthread_once_t kernel_once = PTHREAD_ONCE_INIT;

static void
kernel_collect(const KernelFamily *const *table, size_t family_count)
{
    for (size_t i = 0; i < family_count; i++) {
        for (size_t k = 0; k < table[i]->kernel_count; k++) {
            assert(kernel_row_count < KERNEL_COUNT_MAX);
            kernel_rows[kernel_row_count].kernel = &table[i]->kernels[k];
            kernel_rows[kernel_row_count].rank = kernel_row_count;
            kernel_row_count++;
        }
    }
}

static int
kernel_row_compare(const void *left, const void *right)
{
    const KernelRow *l = left;
    const KernelRow *r = right;
    int order = strcmp(l->kernel->op, r->kernel->op);
    return order != 0 ? order : (l->rank > r->rank) - (l->rank < r->rank);
}

static void
kernel_sort(void)
{
    kernel_collect(cpu_kernels_table, cpu_kernels_table_count);
    kernel_fast_count = kernel_row_count;
    kernel_collect(reference_table, reference_table_count);
    qsort(kernel_rows, kernel_row_count, sizeof kernel_rows[0], kernel_row_compare);
}

static size_t
kernel_first(Slice op)
{
    size_t low = 0;
    size_t high = kernel_row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_compare(slice_from_string(kernel_rows[middle].kernel->op), op) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Returns the first kernel of this rank or a later one that supports the node. */
static const Kernel *
find_from(const Node *node, size_t rank)
{
    pthread_once(&kernel_once, kernel_sort);
    for (size_t i = kernel_first(node->def->op); i < kernel_row_count; i++) {
        const Kernel *kernel = kernel_rows[i].kernel;
        if (!slice_equals_string(node->def->op, kernel->op)) {
            return NULL;
        }
        if (kernel_rows[i].rank >= rank && (kernel->supports == NULL || kernel->supports(node))) {
            return kernel;
        }
    }
    return NULL;
}

const Kernel *
kernel_find(const Node *node)
{
    return find_from(node, 0);
}

const Kernel *
kernel_find_reference(const Node *node)
{
    pthread_once(&kernel_once, kernel_sort);
    return find_from(node, kernel_fast_count);
}
