/* The kernels of each type of device in one array sorted by op, preferred ones first, so that a large
 * partition finds its kernels quickly. The host's array is built once, on first use, an accelerator's when
 * its plugin registers them. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "shared/base/memory.h"
#include "worker/runtime/kernel.h"

typedef struct KernelRow {
    const Kernel *kernel;
    size_t rank; /* the order of registration, which is the order of preference */
} KernelRow;

typedef struct KernelTable {
    const char *type; /* the devices' */
    KernelRow *rows;
    size_t count;
    size_t fast_count; /* ranks below this are fast kernels, the others reference kernels */
} KernelTable;

enum { HOST_ROWS_MAX = 4096 };

static KernelRow host_rows[HOST_ROWS_MAX];
static KernelTable host_table = {.type = "CPU", .rows = host_rows};
static KernelTable accelerator_table; /* of the worker's one accelerator; `type` NULL: it has none */
static pthread_once_t host_once = PTHREAD_ONCE_INIT;

static size_t
count_kernels(const KernelFamily *const *families, size_t family_count)
{
    size_t count = 0;
    for (size_t i = 0; i < family_count; i++) {
        count += families[i]->kernel_count;
    }
    return count;
}

/* The table must have room for them. */
static void
add_kernels(KernelTable *table, const KernelFamily *const *families, size_t family_count)
{
    for (size_t i = 0; i < family_count; i++) {
        for (size_t k = 0; k < families[i]->kernel_count; k++) {
            table->rows[table->count] = (KernelRow){.kernel = &families[i]->kernels[k], .rank = table->count};
            table->count++;
        }
    }
}

static int
compare_rows(const void *left, const void *right)
{
    const KernelRow *l = left;
    const KernelRow *r = right;
    int order = strcmp(l->kernel->op, r->kernel->op);
    return order != 0 ? order : (l->rank > r->rank) - (l->rank < r->rank);
}

static void
sort_table(KernelTable *table)
{
    qsort(table->rows, table->count, sizeof table->rows[0], compare_rows);
}

static void
build_host_table(void)
{
    assert(count_kernels(cpu_kernels_table, cpu_kernels_table_count) +
               count_kernels(reference_table, reference_table_count) <=
           HOST_ROWS_MAX);
    add_kernels(&host_table, cpu_kernels_table, cpu_kernels_table_count);
    host_table.fast_count = host_table.count;
    add_kernels(&host_table, reference_table, reference_table_count);
    sort_table(&host_table);
}

/* Returns the index of the op's first row, or of the row before which it would stand. */
static size_t
first_row(const KernelTable *table, Slice op)
{
    size_t low = 0;
    size_t high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_compare(slice_from_string(table->rows[middle].kernel->op), op) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Returns the first kernel of this rank or a later one that supports the node. */
static const Kernel *
find_from(const KernelTable *table, const Node *node, size_t rank)
{
    for (size_t i = first_row(table, node->def->op); i < table->count; i++) {
        const Kernel *kernel = table->rows[i].kernel;
        if (!slice_equals_string(node->def->op, kernel->op)) {
            return NULL;
        }
        if (table->rows[i].rank >= rank && (kernel->supports == NULL || kernel->supports(node))) {
            return kernel;
        }
    }
    return NULL;
}

const Kernel *
kernel_find(const Device *device, const Node *node)
{
    if (!device_is_host(device)) {
        assert(accelerator_table.type != NULL && strcmp(accelerator_table.type, device->type) == 0);
        return find_from(&accelerator_table, node, 0);
    }
    pthread_once(&host_once, build_host_table);
    return find_from(&host_table, node, 0);
}

const Kernel *
kernel_find_reference(const Node *node)
{
    pthread_once(&host_once, build_host_table);
    return find_from(&host_table, node, host_table.fast_count);
}

const Kernel *
kernel_find_fast(const Node *node)
{
    pthread_once(&host_once, build_host_table);
    const Kernel *kernel = find_from(&host_table, node, 0);
    return kernel == find_from(&host_table, node, host_table.fast_count) ? NULL : kernel;
}

const Kernel *
kernel_reference(Slice op)
{
    pthread_once(&host_once, build_host_table);
    for (size_t i = first_row(&host_table, op); i < host_table.count; i++) {
        const KernelRow *row = &host_table.rows[i];
        if (!slice_equals_string(op, row->kernel->op)) {
            return NULL;
        }
        if (row->rank >= host_table.fast_count) {
            return row->kernel;
        }
    }
    return NULL;
}

Status
kernel_register(Call *call, const char *type, const KernelFamily *const *families, size_t family_count)
{
    assert(accelerator_table.type == NULL);
    size_t count = count_kernels(families, family_count);
    KernelRow *rows = memory_new(count + 1, sizeof *rows);
    if (rows == NULL) {
        return call_fail_memory(call, "a device's kernels");
    }
    accelerator_table = (KernelTable){.type = type, .rows = rows};
    add_kernels(&accelerator_table, families, family_count);
    sort_table(&accelerator_table);
    return STATUS_OK;
}

void
kernel_unregister(const char *type)
{
    assert(accelerator_table.type != NULL && strcmp(accelerator_table.type, type) == 0);
    (void)type;
    memory_free(accelerator_table.rows);
    accelerator_table = (KernelTable){0};
}
