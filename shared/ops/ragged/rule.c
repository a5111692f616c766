#include "shared/ops/ragged/rule.h"

RaggedPartition
ragged_partition(const Node *node, uint32_t index)
{
    static const struct {
        const char *name;
        RaggedPartition partition;
    } kinds[] = {{"FIRST_DIM_SIZE", RAGGED_ROW_COUNT}, {"VALUE_ROWIDS", RAGGED_ROW_IDS},
        {"ROW_SPLITS", RAGGED_ROW_SPLITS}};
    const AttrValue *names = node_attr(node, "row_partition_types");
    bool is_named =
        names != NULL && names->is_list && names->kind == ATTR_STRING && index < names->value.list.count;
    for (size_t kind = 0; is_named && kind < COUNT_OF(kinds); kind++) {
        if (slice_equals_string(names->value.list.items[index].value.s, kinds[kind].name)) {
            return kinds[kind].partition;
        }
    }
    return RAGGED_OTHER;
}

/* Row ids do not tell how many rows there are: before the first of them stands their number. */
Status
ragged_check(Call *call, const Node *node, uint32_t *ret_ragged)
{
    uint32_t count = node->input_count - RAGGED_PARTITIONS;
    const AttrValue *names = node_attr(node, "row_partition_types");
    bool counts_rows = ragged_partition(node, 0) == RAGGED_ROW_COUNT;
    if (names == NULL || !names->is_list || names->value.list.count != count) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "row_partition_types does not name %u partitions", count);
    }
    for (uint32_t index = 0; index < count; index++) {
        RaggedPartition partition = ragged_partition(node, index);
        bool is_first_id = partition == RAGGED_ROW_IDS && index == 0;
        bool is_late_count = partition == RAGGED_ROW_COUNT && index > 0;
        if (partition == RAGGED_OTHER || is_first_id || is_late_count) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "row_partition_types are ROW_SPLITS, and VALUE_ROWIDS behind one FIRST_DIM_SIZE; number %u "
                "is not",
                index);
        }
    }
    *ret_ragged = count - (counts_rows ? 1 : 0);
    return *ret_ragged > 0 ? STATUS_OK
                           : call_fail(call, STATUS_INVALID_ARGUMENT, "no partition tells the rows");
}
