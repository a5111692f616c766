#include "shared/ops/quantize/blocks_rule.h"

Status
weight_blocks_read(Call *call, const Node *node, int64_t row, WeightBlocks *ret_blocks)
{
    enum { SIZE_MIN = 16, SIZE_MAX_BITS = 20 };
    int64_t bits = node_attr_int(node, "bits");
    int64_t size = node_attr_int(node, "block_size");
    if (bits != 2 && bits != 4 && bits != 8) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "bits is %lld, not 2, 4 or 8", (long long)bits);
    }
    if (size < SIZE_MIN || size > 1 << SIZE_MAX_BITS || (size & (size - 1)) != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "block_size is %lld, not a power of two of at least %d", (long long)size, SIZE_MIN);
    }
    *ret_blocks = (WeightBlocks){
        .bits = bits, .size = size, .row = row, .count = row < 0 ? -1 : row / size + (row % size != 0)};
    return STATUS_OK;
}
