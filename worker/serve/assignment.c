#include "worker/serve/assignment.h"

#include <assert.h>

#include "shared/base/text.h"
#include "shared/wire/messages.h"

/* The nodes of one device and one reason; reasons are compared by address, as they are texts of the program.
 */
typedef struct Group {
    const Device *device;
    const char *reason; /* NULL: none */
    Slice *names;
    size_t count;
} Group;

typedef struct Groups {
    Group groups[WIRE_NODE_GROUPS_MAX];
    size_t count;
    Slice *copies;
    size_t copy_count;
} Groups;

static bool
is_copy(const PartitionNode *node)
{
    return slice_equals_string(node->op, "_Copy");
}

/* Finds or adds the group of a node; NULL for one that no device computes. The last group takes what comes
 * when there are too many: there are far fewer reasons. */
static Group *
group_of(Groups *groups, const PartitionNode *node)
{
    if (node->device == NULL || is_copy(node)) {
        return NULL;
    }
    for (size_t index = 0; index < groups->count; index++) {
        Group *group = &groups->groups[index];
        if (group->device == node->device && group->reason == node->reason) {
            return group;
        }
    }
    if (groups->count == COUNT_OF(groups->groups)) {
        return &groups->groups[groups->count - 1];
    }
    Group *added = &groups->groups[groups->count++];
    *added = (Group){.device = node->device, .reason = node->reason};
    return added;
}

/* Counts the members of each group, then lists their names. */
static Status
list_nodes(Call *call, const Partition *partition, Groups *groups)
{
    uint32_t node_count = partition_node_count(partition);
    Slice *names = arena_alloc(call->arena, (node_count + 1) * sizeof *names);
    if (names == NULL) {
        return call_fail_memory(call, "the answer to a registration");
    }
    for (uint32_t index = 0; index < node_count; index++) {
        PartitionNode node = partition_node(partition, index);
        Group *group = group_of(groups, &node);
        groups->copy_count += is_copy(&node);
        if (group != NULL) {
            group->count++;
        }
    }
    for (size_t index = 0; index < groups->count; index++) {
        groups->groups[index].names = names;
        names += groups->groups[index].count;
        groups->groups[index].count = 0;
    }
    groups->copies = names;
    groups->copy_count = 0;
    for (uint32_t index = 0; index < node_count; index++) {
        PartitionNode node = partition_node(partition, index);
        Group *group = group_of(groups, &node);
        if (is_copy(&node)) {
            groups->copies[groups->copy_count++] = node.name;
        } else if (group != NULL) {
            assert(group->names != NULL); /* the first turn has found all groups */
            group->names[group->count++] = node.name;
        }
    }
    return STATUS_OK;
}

/* Without an accelerator there are no reasons against it. */
static bool
has_anything_to_tell(const Partition *partition, const Groups *groups)
{
    bool has_any = partition_uses_accelerator(partition);
    for (size_t index = 0; index < groups->count; index++) {
        has_any = has_any || groups->groups[index].reason != NULL;
    }
    return has_any;
}

Status
assignment_write(Call *call, Buffer *buffer, const Partition *partition)
{
    Groups groups = {.count = 0};
    WireNodes told[WIRE_NODE_GROUPS_MAX];
    WireAssignment assignment = {.groups = told};
    TRY(list_nodes(call, partition, &groups));
    if (!has_anything_to_tell(partition, &groups)) {
        buffer_append_string(buffer, "{}");
        return STATUS_OK;
    }
    for (size_t index = 0; index < groups.count; index++) {
        const Group *group = &groups.groups[index];
        const char *device =
            text_format(call->arena, "/device:%s:%d", group->device->type, group->device->id);
        if (device == NULL) {
            return call_fail_memory(call, "the answer to a registration");
        }
        told[index] = (WireNodes){
            .device = slice_from_string(device),
            .reason = slice_from_string(group->reason == NULL ? "" : group->reason),
            .count = (int64_t)group->count,
            .names = group->names,
            .name_count = group->count,
        };
    }
    assignment.group_count = groups.count;
    assignment.copy_count = (int64_t)groups.copy_count;
    assignment.copies = groups.copies;
    assignment.copy_name_count = groups.copy_count;
    wire_assignment_write(buffer, &assignment);
    return STATUS_OK;
}
