#include "worker/reference/random_sequence.h"

#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "worker/runtime/resource.h"

enum { KEY_EXTRA_SIZE = 64 }; /* two seeds in decimal, and the separators */

/* The position in its random sequence at which a node continues. A node with seeds continues where the
 * session's last run of it stopped, whatever the signature (TensorFlow keeps its kernel for the session
 * and the node's name). Without seeds, or without a session, it continues after this partition's last run. */
typedef struct Sequence {
    Resource resource;
    Philox start;
    uint64_t used; /* atomic; counters handed out */
} Sequence;

/* The state of a kernel. */
typedef struct RandomNode {
    Sequence *own; /* for runs whose session keeps none */
    bool is_seeded;
    size_t key_size;
    char key[]; /* its name in the session, where no variable's has a ':'; nodes of other graphs have other
                 * seeds */
} RandomNode;

static void
sequence_free(Resource *resource)
{
    memory_free(resource);
}

static const ResourceType sequence_type = {.name = "a random sequence", .free = sequence_free};

static Status
sequence_make(Call *call, const void *context, Resource **ret_resource)
{
    const Philox *start = context;
    Sequence *sequence = memory_new(1, sizeof *sequence);
    if (sequence == NULL) {
        return call_fail_memory(call, "a random sequence");
    }
    resource_init(&sequence->resource, &sequence_type);
    sequence->start = *start;
    *ret_resource = &sequence->resource;
    return STATUS_OK;
}

static RandomNode *
random_node_new(const Node *node, const uint64_t seeds[2])
{
    size_t capacity = node->name.size + KEY_EXTRA_SIZE;
    RandomNode *random = memory_new(1, sizeof *random + capacity);
    if (random != NULL) {
        random->is_seeded = seeds[0] != 0 || seeds[1] != 0;
        random->key_size = (size_t)snprintf(random->key, capacity, "%.*s:%llu:%llu", SLICE_PRINT(node->name),
            (unsigned long long)seeds[0], (unsigned long long)seeds[1]);
    }
    return random;
}

Status
random_sequence_create(Call *call, const Node *node, void **ret_state)
{
    uint64_t seeds[2] = {(uint64_t)node_attr_int(node, "seed"), (uint64_t)node_attr_int(node, "seed2")};
    Resource *own = NULL;
    RandomNode *random = random_node_new(node, seeds);
    if (random == NULL) {
        return call_fail_memory(call, "a random sequence");
    }
    if (!random->is_seeded) {
        random_bytes(seeds, sizeof seeds);
    }
    Philox start = philox_seeded(seeds[0], seeds[1]);
    Status status = sequence_make(call, &start, &own);
    if (status != STATUS_OK) {
        memory_free(random);
        return status;
    }
    random->own = (Sequence *)(void *)own;
    *ret_state = random;
    return STATUS_OK;
}

void
random_sequence_destroy(void *state)
{
    RandomNode *random = state;
    if (random != NULL) {
        resource_unref(&random->own->resource);
        memory_free(random);
    }
}

/* Returns a new reference. */
static Status
sequence_of(KernelContext *context, Sequence **ret_sequence)
{
    const RandomNode *random = context->state;
    Resource *resource = NULL;
    if (!random->is_seeded || context->container == NULL) {
        *ret_sequence = random->own;
        (void)resource_ref(&random->own->resource);
        return STATUS_OK;
    }
    ContainerEntry entry = {
        .name = slice_of(random->key, random->key_size),
        .type = &sequence_type,
        .make = sequence_make,
        .context = &random->own->start,
    };
    TRY(container_obtain(context->call, context->container, &entry, &resource));
    *ret_sequence = (Sequence *)(void *)resource;
    return STATUS_OK;
}

Status
random_sequence_reserve(KernelContext *context, uint64_t counters, Philox *ret_start)
{
    Sequence *sequence = NULL;
    TRY(sequence_of(context, &sequence));
    *ret_start = sequence->start;
    philox_skip(ret_start, atomic_fetch_add_relaxed(&sequence->used, counters));
    resource_unref(&sequence->resource);
    return STATUS_OK;
}

Status
random_sequence_reserve_outputs(KernelContext *context, int64_t outputs, Philox *ret_start)
{
    return random_sequence_reserve(context, (uint64_t)outputs * RANDOM_WORDS_PER_OUTPUT, ret_start);
}

Status
random_stateless(KernelContext *context, Philox *ret_start)
{
    int64_t seeds[2] = {0};
    size_t count = 0;
    TRY(kernel_input_ints(context, 1, seeds, 2, &count));
    *ret_start = philox_scrambled((uint64_t)seeds[0], (uint64_t)seeds[1]);
    return STATUS_OK;
}

enum { ALGORITHM_PHILOX = 1, ALGORITHM_ANY = 3 };

Status
random_keyed(KernelContext *context, Philox *ret_start)
{
    const uint64_t *key = context->inputs[1].data;
    const uint64_t *counter = context->inputs[2].data;
    int64_t algorithm = 0;
    size_t count = 0;
    TRY(kernel_input_ints(context, 3, &algorithm, 1, &count));
    if (algorithm != ALGORITHM_PHILOX && algorithm != ALGORITHM_ANY) {
        return call_fail(context->call, STATUS_UNIMPLEMENTED,
            "generator %lld is not known; Philox is 1, and 3 leaves the choice", (long long)algorithm);
    }
    *ret_start = (Philox){
        .counter = {(uint32_t)counter[0], (uint32_t)(counter[0] >> 32), (uint32_t)counter[1],
            (uint32_t)(counter[1] >> 32)},
        .key = {(uint32_t)key[0], (uint32_t)(key[0] >> 32)},
    };
    return STATUS_OK;
}

Status
random_range(KernelContext *context, uint32_t low, int64_t *ret_minimum, uint64_t *ret_range)
{
    int64_t maximum = 0;
    size_t counts[2];
    TRY(kernel_input_ints(context, low, ret_minimum, 1, &counts[0]));
    TRY(kernel_input_ints(context, low + 1, &maximum, 1, &counts[1]));
    if (counts[0] != 1 || counts[1] != 1 || *ret_minimum >= maximum) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "minval is %lld, not below maxval, %lld",
            (long long)*ret_minimum, (long long)maximum);
    }
    *ret_range = (uint64_t)maximum - (uint64_t)*ret_minimum;
    return STATUS_OK;
}
