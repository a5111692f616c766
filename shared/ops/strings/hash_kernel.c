/* Strings assigned to buckets by hash. */
#include "shared/ops/strings/hash.h"

#include "worker/reference/outputs.h"
#include "worker/reference/texts.h"

typedef uint64_t (*HashString)(const Node *node, Slice string);

static Status
hash_strings(KernelContext *context, HashString hash)
{
    int64_t buckets = node_attr_int(context->node, "num_buckets");
    Tensor *output = NULL;
    if (buckets < 1) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "num_buckets is %lld, not at least 1",
            (long long)buckets);
    }
    TRY(output_new(context, &output));
    for (int64_t n = 0; n < tensor_element_count(output); n++) {
        uint64_t number = hash(context->node, string_at(&context->inputs[0], n));
        ((int64_t *)output->data)[n] = (int64_t)(number % (uint64_t)buckets);
    }
    return STATUS_OK;
}

static uint64_t
farm(const Node *node, Slice string)
{
    (void)node;
    return hash_farm(string);
}

static uint64_t
murmur(const Node *node, Slice string)
{
    (void)node;
    return hash_murmur(string, 0xdecafcaffe);
}

static uint64_t
sip(const Node *node, Slice string)
{
    int64_t key[2] = {0};
    (void)node_attr_ints(node, "key", key, 2);
    return hash_sip(string, (const uint64_t[2]){(uint64_t)key[0], (uint64_t)key[1]});
}

static Status
fast_compute(KernelContext *context)
{
    return hash_strings(context, farm);
}

static Status
plain_compute(KernelContext *context)
{
    return hash_strings(context, murmur);
}

static bool
strong_supports(const Node *node)
{
    return node_attr_ints(node, "key", NULL, 0) == 2;
}

static Status
strong_compute(KernelContext *context)
{
    return hash_strings(context, sip);
}

static const Kernel hash_kernels[] = {
    {.op = "StringToHashBucket", .compute = plain_compute},
    {.op = "StringToHashBucketFast", .compute = fast_compute},
    {.op = "StringToHashBucketStrong", .supports = strong_supports, .compute = strong_compute},
};

KERNEL_FAMILY(reference, strings_hash, hash_kernels);
