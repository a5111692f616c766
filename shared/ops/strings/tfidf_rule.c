#include "shared/ops/strings/tfidf_rule.h"

Status
tfidf_size(Call *call, const Node *node, int64_t *ret_size)
{
    const AttrValue *indexes = node_attr(node, "ngram_indexes");
    int64_t size = 0;
    for (size_t n = 0; n < indexes->value.list.count; n++) {
        int64_t index = indexes->value.list.items[n].value.i;
        if (index < 0 || index >= INT32_MAX) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "index %lld of n-gram %zu is not from 0 to %d",
                (long long)index, n, INT32_MAX - 1);
        }
        size = index >= size ? index + 1 : size;
    }
    *ret_size = size;
    return STATUS_OK;
}
