#include "shared/ops/registry.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/ops/signature.h"

enum { REGISTRY_SIZE_MAX = 16 << 20 };

static pthread_once_t registry_once = PTHREAD_ONCE_INIT;
static Arena *registry_arena;
static Op *registry_ops;
static size_t registry_count;

/* A signature is part of the program: one that cannot be parsed is a defect, not an input error. */
static void
parse_definition(const OpDefinition *definition, Op *op)
{
    Slice error;
    assert(definition->signature != NULL && definition->infer_shapes != NULL);
    if (!signature_parse(registry_arena, definition, op, &error)) {
        (void)fprintf(stderr, "op signature '%s' does not parse at '%.*s'\n", definition->signature,
            SLICE_PRINT(error));
        abort();
    }
}

static int
compare_ops(const void *left, const void *right)
{
    return slice_compare(((const Op *)left)->name, ((const Op *)right)->name);
}

static int
compare_name(const void *name, const void *op)
{
    return slice_compare(*(const Slice *)name, ((const Op *)op)->name);
}

static size_t
count_definitions(void)
{
    size_t count = 0;
    for (size_t family = 0; family < op_family_table_count; family++) {
        count += op_family_table[family]->definition_count;
    }
    return count;
}

static void
fill_registry(void)
{
    size_t count = count_definitions();
    registry_arena = arena_new(REGISTRY_SIZE_MAX);
    assert(registry_arena != NULL);
    registry_ops = arena_alloc(registry_arena, (count + 1) * sizeof *registry_ops);
    assert(registry_ops != NULL);
    for (size_t family = 0; family < op_family_table_count; family++) {
        for (size_t index = 0; index < op_family_table[family]->definition_count; index++) {
            parse_definition(&op_family_table[family]->definitions[index], &registry_ops[registry_count++]);
        }
    }
    assert(registry_count == count);
    qsort(registry_ops, registry_count, sizeof *registry_ops, compare_ops);
    for (size_t index = 1; index < registry_count; index++) {
        assert(compare_ops(&registry_ops[index - 1], &registry_ops[index]) < 0); /* no op is defined twice */
    }
}

const Op *
op_find(Slice name)
{
    (void)pthread_once(&registry_once, fill_registry);
    return bsearch(&name, registry_ops, registry_count, sizeof *registry_ops, compare_name);
}

size_t
op_count(void)
{
    (void)pthread_once(&registry_once, fill_registry);
    return registry_count;
}

const Op *
op_at(size_t index)
{
    assert(index < op_count());
    return &registry_ops[index];
}
