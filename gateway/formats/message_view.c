#include "gateway/formats/message_view.h"

#include <assert.h>

static Status
fail_damaged(Call *call, const char *message, const char *fault)
{
    return call_fail(call, STATUS_INVALID_ARGUMENT, "%s is damaged: %s", message, fault);
}

static const KeptField *
find_kept(const KeptField *kept, size_t kept_count, const ProtobufField *field)
{
    static const ProtobufWire wires[] = {[KEEP_SLICE] = PROTOBUF_BYTES,
        [KEEP_LIST] = PROTOBUF_BYTES,
        [KEEP_INT] = PROTOBUF_VARINT,
        [KEEP_FLOAT] = PROTOBUF_FIXED32,
        [KEEP_BITS] = PROTOBUF_FIXED32};
    for (size_t index = 0; index < kept_count; index++) {
        if (kept[index].number == field->number && wires[kept[index].as] == field->wire) {
            return &kept[index];
        }
    }
    return NULL;
}

static void
keep_field(const KeptField *kept, const ProtobufField *field, void *target)
{
    void *member = (char *)target + kept->offset;
    if (kept->as == KEEP_SLICE) {
        *(Slice *)member = field->bytes;
    } else if (kept->as == KEEP_INT) {
        *(int64_t *)member = (int64_t)field->value;
    } else if (kept->as == KEEP_FLOAT) {
        *(float *)member = protobuf_float(field->value);
    } else if (kept->as == KEEP_BITS) {
        *(uint32_t *)member = (uint32_t)field->value;
    } else {
        SliceList *list = member;
        if (list->items != NULL) {
            list->items[list->count] = field->bytes;
        }
        list->count++;
    }
}

static Status
alloc_lists(Call *call, Arena *arena, const KeptField *kept, size_t kept_count, void *target)
{
    for (size_t index = 0; index < kept_count; index++) {
        if (kept[index].as != KEEP_LIST) {
            continue;
        }
        SliceList *list = (SliceList *)(void *)((char *)target + kept[index].offset);
        list->items = arena_alloc(arena, list->count * sizeof *list->items);
        if (list->items == NULL) {
            return call_fail_memory(call, "the model");
        }
        list->count = 0;
    }
    return STATUS_OK;
}

Status
message_collect(Call *call, Arena *arena, Slice bytes, const MessageView *message, void *target)
{
    assert(arena != NULL && message->kept_count > 0 && target != NULL);
    for (int turn = 0; turn < 2; turn++) {
        ProtobufReader reader = protobuf_reader(bytes);
        ProtobufField field;
        while (protobuf_next(&reader, &field)) {
            const KeptField *kept = find_kept(message->kept, message->kept_count, &field);
            if (kept != NULL) {
                keep_field(kept, &field, target);
            }
        }
        if (reader.fault != NULL) {
            return fail_damaged(call, message->name, reader.fault);
        }
        if (turn == 0) {
            TRY(alloc_lists(call, arena, message->kept, message->kept_count, target));
        }
    }
    return STATUS_OK;
}
