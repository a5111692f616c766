/* Writes frames and reads them. A frame arrives in four stages: the fixed header, the rest of the head, the
 * payload and its padding. Each stage has a target and a size; when it is full, the stage's function checks
 * it and sets up the next one. Between the head and the elements of a large tensor lies a stage without
 * bytes, in which the caller says whether it wants them whole or in pieces; pieces have no target. */
#include "shared/wire/frame.h"

#include <assert.h>
#include <string.h>

#include "shared/base/memory.h"

/* Elements travel as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire is little-endian");

#define FRAME_MAGIC UINT32_C(0x31464c53) /* "SLF1" */

typedef struct FrameFixed {
    unsigned char magic[4];
    uint8_t kind;
    uint8_t dtype;
    uint16_t name_size;
    uint8_t rank;
    uint8_t flags;
    uint8_t reserved[6];
    uint64_t payload_size;
} FrameFixed;
_Static_assert(sizeof(FrameFixed) == FRAME_FIXED_SIZE, "the fixed header has no holes");

static inline size_t
frame_head_used(size_t rank, size_t name_size)
{
    return FRAME_FIXED_SIZE + rank * sizeof(int64_t) + name_size;
}

static inline size_t
frame_head_size(size_t rank, size_t name_size)
{
    size_t used = frame_head_used(rank, name_size);
    return (used + FRAME_ALIGNMENT - 1) / FRAME_ALIGNMENT * FRAME_ALIGNMENT;
}

size_t
frame_padding(size_t payload_size)
{
    return (FRAME_PAYLOAD_ALIGNMENT - payload_size % FRAME_PAYLOAD_ALIGNMENT) % FRAME_PAYLOAD_ALIGNMENT;
}

static void
zeros_append(Buffer *buffer, size_t size)
{
    static const char zeros[FRAME_ALIGNMENT];
    buffer_append(buffer, zeros, size);
}

/* Writes the head: all that comes before the payload. */
static void
head_write(Buffer *buffer, FrameFixed fixed, const int64_t *dims, Slice name)
{
    if (name.size > FRAME_NAME_SIZE_MAX) {
        buffer->has_failed = true;
        return;
    }
    uint32_t magic = FRAME_MAGIC;
    memcpy(fixed.magic, &magic, sizeof magic);
    fixed.name_size = (uint16_t)name.size;
    buffer_append(buffer, &fixed, sizeof fixed);
    buffer_append(buffer, dims, fixed.rank * sizeof *dims);
    buffer_append_slice(buffer, name);
    zeros_append(buffer, frame_head_size(fixed.rank, name.size) - frame_head_used(fixed.rank, name.size));
}

static void
strings_write(Buffer *buffer, const Tensor *tensor)
{
    int64_t count = tensor_element_count(tensor);
    const Slice *elements = tensor->data;
    for (int64_t index = 0; index < count; index++) {
        uint64_t size = elements[index].size;
        buffer_append(buffer, &size, sizeof size);
    }
    for (int64_t index = 0; index < count; index++) {
        buffer_append_slice(buffer, elements[index]);
    }
    zeros_append(buffer, frame_padding(tensor_byte_size(tensor)));
}

void
frame_write_head(Buffer *buffer, Slice name, const Tensor *described, uint64_t payload_size)
{
    assert(described->shape.rank >= 0 && described->shape.rank <= SHAPE_RANK_MAX);
    FrameFixed fixed = {
        .kind = FRAME_TENSOR,
        .dtype = (uint8_t)described->dtype,
        .rank = (uint8_t)described->shape.rank,
        .payload_size = payload_size,
    };
    head_write(buffer, fixed, described->shape.dims, name);
}

void
frame_write_tensor_head(Buffer *buffer, Slice name, const Tensor *tensor)
{
    frame_write_head(buffer, name, tensor, tensor_byte_size(tensor));
    if (tensor->dtype == DTYPE_STRING) {
        strings_write(buffer, tensor);
    }
}

Slice
frame_tensor_payload(const Tensor *tensor)
{
    return tensor->dtype == DTYPE_STRING ? slice_of(NULL, 0)
                                         : slice_of(tensor->data, tensor_byte_size(tensor));
}

size_t
frame_tensor_size(Slice name, const Tensor *tensor)
{
    assert(tensor->shape.rank >= 0 && tensor->shape.rank <= SHAPE_RANK_MAX);
    size_t payload_size = tensor_byte_size(tensor);
    return frame_head_size((size_t)tensor->shape.rank, name.size) + payload_size +
           frame_padding(payload_size);
}

/* Writes a frame without dimensions, payload included. */
static void
plain_write(Buffer *buffer, FrameKind kind, Slice name, Slice payload)
{
    FrameFixed fixed = {.kind = (uint8_t)kind, .payload_size = payload.size};
    head_write(buffer, fixed, NULL, name);
    buffer_append_slice(buffer, payload);
    zeros_append(buffer, frame_padding(payload.size));
}

void
frame_write_json(Buffer *buffer, FrameKind kind, Slice json)
{
    assert(kind == FRAME_HEADER || kind == FRAME_STATUS || kind == FRAME_STATS);
    plain_write(buffer, kind, slice_of(NULL, 0), json);
}

void
frame_write_dead(Buffer *buffer, Slice name)
{
    plain_write(buffer, FRAME_DEAD, name, slice_of(NULL, 0));
}

void
frame_write_announce(Buffer *buffer, Slice name, uint64_t byte_size)
{
    plain_write(buffer, FRAME_ANNOUNCE, name, slice_of(&byte_size, sizeof byte_size));
}

void
frame_write_heartbeat(Buffer *buffer)
{
    plain_write(buffer, FRAME_HEARTBEAT, slice_of(NULL, 0), slice_of(NULL, 0));
}

enum { HEAD_SIZE_MAX = FRAME_FIXED_SIZE + SHAPE_RANK_MAX * 8 + FRAME_NAME_SIZE_MAX + FRAME_ALIGNMENT };
/* Twice this is still a size of memory, which strings need. */
#define PAYLOAD_SIZE_MAX ((uint64_t)PTRDIFF_MAX / 4)

typedef struct KindRow KindRow;

typedef enum Stage {
    STAGE_FIXED,
    STAGE_HEAD,
    STAGE_ANNOUNCED,
    STAGE_PIECES,
    STAGE_PAYLOAD,
    STAGE_PADDING,
} Stage;

struct FrameReader {
    FrameLimits limits;
    uint64_t total_size;
    bool is_broken;
    bool passes; /* the tensor whose head was the last frame is handed on in pieces */

    Stage stage;
    char *target;
    size_t size;
    size_t used;

    FrameFixed fixed;
    const KindRow *kind;
    Shape shape;
    TensorBuffer *buffer; /* for a tensor's payload */
    Buffer json;
    uint64_t announced_size;
    char padding[FRAME_PAYLOAD_ALIGNMENT];
    char head[HEAD_SIZE_MAX];
};

static void
stage_begin(FrameReader *reader, Stage stage, void *target, size_t size)
{
    reader->stage = stage;
    reader->target = target;
    reader->size = size;
    reader->used = 0;
}

FrameReader *
frame_reader_new(const FrameLimits *limits)
{
    FrameReader *reader = memory_new(1, sizeof *reader);
    if (reader != NULL) {
        frame_reader_reset(reader, limits);
    }
    return reader;
}

void
frame_reader_end(FrameReader *reader)
{
    enum { JSON_KEPT_MAX = 64 * 1024 };
    if (reader == NULL) {
        return;
    }
    tensor_buffer_unref(TAKE(reader->buffer));
    if (reader->json.capacity > JSON_KEPT_MAX) {
        buffer_done(&reader->json);
    }
}

void
frame_reader_reset(FrameReader *reader, const FrameLimits *limits)
{
    assert(reader != NULL && limits != NULL);

    frame_reader_end(reader);
    reader->limits = *limits;
    reader->total_size = 0;
    reader->is_broken = false;
    reader->passes = false;
    stage_begin(reader, STAGE_FIXED, reader->head, FRAME_FIXED_SIZE);
}

void
frame_reader_free(FrameReader *reader)
{
    if (reader != NULL) {
        tensor_buffer_unref(reader->buffer);
        buffer_done(&reader->json);
        memory_free(reader);
    }
}

bool
frame_reader_is_between(const FrameReader *reader)
{
    return reader->stage == STAGE_FIXED && reader->used == 0 && !reader->is_broken;
}

struct KindRow {
    const char *name; /* NULL: there is no such kind */
    bool has_name;
    bool has_elements; /* has dtype and shape */
    bool is_json;
    size_t payload_size; /* of kinds that have neither elements nor JSON */
};

static const KindRow kinds[] = {
    [FRAME_HEADER] = {.name = "header", .is_json = true},
    [FRAME_TENSOR] = {.name = "tensor", .has_name = true, .has_elements = true},
    [FRAME_DEAD] = {.name = "dead", .has_name = true},
    [FRAME_ANNOUNCE] = {.name = "announce", .has_name = true, .payload_size = sizeof(uint64_t)},
    [FRAME_HEARTBEAT] = {.name = "heartbeat"},
    [FRAME_STATUS] = {.name = "status", .is_json = true},
    [FRAME_STATS] = {.name = "stats", .is_json = true},
};

static const KindRow *
kind_of(const FrameFixed *fixed)
{
    return fixed->kind < COUNT_OF(kinds) && kinds[fixed->kind].name != NULL ? &kinds[fixed->kind] : NULL;
}

static bool
is_zero(const void *bytes, size_t size)
{
    unsigned char seen = 0;
    for (size_t index = 0; index < size; index++) {
        seen |= ((const unsigned char *)bytes)[index];
    }
    return seen == 0;
}

static Status
kind_check(Call *call, const FrameFixed *fixed, const KindRow *kind)
{
    if (!kind->has_name && fixed->name_size > 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a %s frame has a name", kind->name);
    }
    if (!kind->has_elements && (fixed->dtype != 0 || fixed->rank != 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a %s frame has a dtype or a shape", kind->name);
    }
    if (!kind->has_elements && !kind->is_json && fixed->payload_size != kind->payload_size) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a %s frame has a payload of %zu bytes, not %zu",
            kind->name, (size_t)fixed->payload_size, kind->payload_size);
    }
    if (kind->is_json && fixed->payload_size > FRAME_JSON_SIZE_MAX) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "a %s frame has %zu bytes, more than %d",
            kind->name, (size_t)fixed->payload_size, FRAME_JSON_SIZE_MAX);
    }
    return STATUS_OK;
}

static Status
limits_check(Call *call, FrameReader *reader, const KindRow *kind)
{
    uint64_t size = reader->fixed.payload_size;
    const FrameLimits *limits = &reader->limits;
    uint64_t tensor_size_max =
        limits->tensor_size_max < PAYLOAD_SIZE_MAX ? limits->tensor_size_max : PAYLOAD_SIZE_MAX;
    if (kind->has_elements && size > tensor_size_max) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "a tensor frame has %zu bytes, more than %zu",
            (size_t)size, (size_t)tensor_size_max);
    }
    if (limits->total_size_max != 0 && size > limits->total_size_max - reader->total_size) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "the frames have more than %zu bytes", limits->total_size_max);
    }
    reader->total_size += size;
    return STATUS_OK;
}

static Status
fixed_finish(Call *call, FrameReader *reader)
{
    FrameFixed *fixed = &reader->fixed;
    uint32_t magic = FRAME_MAGIC;
    memcpy(fixed, reader->head, sizeof *fixed);
    if (memcmp(fixed->magic, &magic, sizeof magic) != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the bytes are no frame: the magic is missing");
    }
    const KindRow *kind = kind_of(fixed);
    if (kind == NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no kind %d of frames", fixed->kind);
    }
    if (fixed->flags != 0 || !is_zero(fixed->reserved, sizeof fixed->reserved)) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the reserved bytes of a %s frame are not 0", kind->name);
    }
    if (fixed->name_size > FRAME_NAME_SIZE_MAX || fixed->rank > SHAPE_RANK_MAX) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "a frame's name of %d bytes or its rank of %d is over the limits of %d and %d", fixed->name_size,
            fixed->rank, FRAME_NAME_SIZE_MAX, SHAPE_RANK_MAX);
    }
    reader->kind = kind;
    TRY(kind_check(call, fixed, kind));
    TRY(limits_check(call, reader, kind));
    size_t head_size = frame_head_size(fixed->rank, fixed->name_size);
    stage_begin(reader, STAGE_HEAD, reader->head + FRAME_FIXED_SIZE, head_size - FRAME_FIXED_SIZE);
    return STATUS_OK;
}

static Status
shape_read(Call *call, FrameReader *reader)
{
    const FrameFixed *fixed = &reader->fixed;
    reader->shape = (Shape){.rank = fixed->rank};
    memcpy(reader->shape.dims, reader->head + FRAME_FIXED_SIZE, fixed->rank * sizeof(int64_t));
    Dtype dtype = (Dtype)fixed->dtype;
    int64_t count = 0;
    size_t size = 0;
    if (dtype != DTYPE_STRING && !dtype_is_copyable(dtype)) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "a tensor frame cannot hold the dtype %d", fixed->dtype);
    }
    if (!shape_element_count(&reader->shape, &count) ||
        (dtype != DTYPE_STRING && !shape_byte_size(&reader->shape, dtype, &size))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a tensor frame's shape is negative or too large");
    }
    bool has_room_for_sizes = (uint64_t)count <= fixed->payload_size / sizeof(uint64_t);
    bool fits = dtype == DTYPE_STRING ? has_room_for_sizes && (count > 0 || fixed->payload_size == 0)
                                      : fixed->payload_size == size;
    if (!fits) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a tensor frame of shape %s and %s has %zu bytes",
            shape_text(&reader->shape, text), dtype_name(dtype), (size_t)fixed->payload_size);
    }
    return STATUS_OK;
}

/* Returns how far behind the buffer's start the sizes of strings are read. Their table takes 16 bytes an
 * element, 8 more than the sizes that arrive: these go behind its first half, so that the bytes land where
 * they stay. */
static size_t
strings_shift(const FrameReader *reader)
{
    int64_t count = 0;
    bool is_counted = reader->fixed.dtype == DTYPE_STRING && shape_element_count(&reader->shape, &count);
    return is_counted ? (size_t)count * (sizeof(Slice) - sizeof(uint64_t)) : 0;
}

static Status
elements_begin(Call *call, FrameReader *reader)
{
    const FrameLimits *limits = &reader->limits;
    size_t shift = strings_shift(reader);
    size_t size = reader->fixed.payload_size;
    if (size == 0) {
        stage_begin(reader, STAGE_PAYLOAD, NULL, 0);
        return STATUS_OK;
    }
    bool is_heap = limits->allocate == NULL || reader->fixed.dtype == DTYPE_STRING;
    reader->buffer =
        is_heap ? tensor_buffer_new(shift + size) : limits->allocate(limits->allocate_context, size);
    if (reader->buffer == NULL) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "no memory for the %zu bytes of a tensor that comes in", shift + size);
    }
    stage_begin(reader, STAGE_PAYLOAD, (char *)reader->buffer->data + shift, size);
    return STATUS_OK;
}

static Status
tensor_begin(Call *call, FrameReader *reader)
{
    size_t head_size_min = reader->limits.head_size_min;
    TRY(shape_read(call, reader));
    if (head_size_min == 0 || reader->fixed.payload_size < head_size_min) {
        return elements_begin(call, reader);
    }
    reader->passes = false;
    stage_begin(reader, STAGE_ANNOUNCED, NULL, 0);
    return STATUS_OK;
}

static Status
announced_finish(Call *call, FrameReader *reader)
{
    if (!reader->passes) {
        return elements_begin(call, reader);
    }
    stage_begin(reader, STAGE_PIECES, NULL, reader->fixed.payload_size);
    return STATUS_OK;
}

static Status
head_finish(Call *call, FrameReader *reader)
{
    const FrameFixed *fixed = &reader->fixed;
    const KindRow *kind = reader->kind;
    size_t used = frame_head_used(fixed->rank, fixed->name_size);
    if (!is_zero(reader->head + used, frame_head_size(fixed->rank, fixed->name_size) - used)) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the padding of a %s frame's head is not 0", kind->name);
    }
    if (kind->has_elements) {
        return tensor_begin(call, reader);
    }
    if (!kind->is_json) {
        stage_begin(reader, STAGE_PAYLOAD, &reader->announced_size, fixed->payload_size);
        return STATUS_OK;
    }
    buffer_clear(&reader->json);
    char *room = buffer_reserve(&reader->json, fixed->payload_size);
    if (room == NULL) {
        return call_fail_memory(call, "a frame's JSON");
    }
    stage_begin(reader, STAGE_PAYLOAD, room, fixed->payload_size);
    return STATUS_OK;
}

/* Turns sizes into Slices in place, forwards: a size is read before its Slice is written over it, and no
 * Slice ends behind the next size. */
static Status
strings_finish(Call *call, FrameReader *reader)
{
    int64_t count = 0;
    if (!shape_element_count(&reader->shape, &count) || count == 0) {
        return STATUS_OK;
    }
    char *data = reader->buffer->data;
    const char *sizes = data + strings_shift(reader);
    const char *bytes = data + (size_t)count * sizeof(Slice);
    size_t left = reader->fixed.payload_size - (size_t)count * sizeof(uint64_t);
    for (int64_t index = 0; index < count; index++) {
        uint64_t size = 0;
        memcpy(&size, sizes + (size_t)index * sizeof size, sizeof size);
        if (size > left) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "string %lld of a tensor frame has %zu bytes, but %zu are left", (long long)index,
                (size_t)size, left);
        }
        ((Slice *)(void *)data)[index] = slice_of(bytes, size);
        bytes += size;
        left -= size;
    }
    if (left > 0) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "a tensor frame has %zu bytes behind its last string", left);
    }
    return STATUS_OK;
}

static Status
payload_finish(Call *call, FrameReader *reader)
{
    if (reader->fixed.dtype == DTYPE_STRING && !reader->passes) {
        TRY(strings_finish(call, reader));
    }
    stage_begin(reader, STAGE_PADDING, reader->padding, frame_padding(reader->fixed.payload_size));
    return STATUS_OK;
}

static Status
bools_fail(Call *call)
{
    return call_fail(call, STATUS_INVALID_ARGUMENT, "a bool of a tensor frame is neither 0 nor 1");
}

static Status
bools_check(Call *call, Slice bytes)
{
    unsigned char seen = 0;
    for (size_t index = 0; index < bytes.size; index++) {
        seen |= (unsigned char)bytes.data[index];
    }
    return seen <= 1 ? STATUS_OK : bools_fail(call);
}

static Status
padding_finish(Call *call, FrameReader *reader)
{
    if (!is_zero(reader->padding, reader->size)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the padding of a frame's payload is not 0");
    }
    Tensor tensor = {
        .dtype = (Dtype)reader->fixed.dtype,
        .shape = reader->shape,
        .data = reader->buffer == NULL ? NULL : reader->buffer->data,
    };
    if (reader->fixed.kind == FRAME_TENSOR && !reader->passes && !tensor_is_valid(&tensor)) {
        return bools_fail(call);
    }
    stage_begin(reader, STAGE_FIXED, reader->head, FRAME_FIXED_SIZE);
    return STATUS_OK;
}

static Frame
frame_take(FrameReader *reader)
{
    const FrameFixed *fixed = &reader->fixed;
    const KindRow *kind = reader->kind;
    Frame frame = {
        .kind = (FrameKind)fixed->kind,
        .part = reader->passes ? FRAME_END : FRAME_WHOLE,
        .payload_size = fixed->payload_size,
    };
    reader->passes = false;
    frame.name = slice_of(reader->head + FRAME_FIXED_SIZE + fixed->rank * sizeof(int64_t), fixed->name_size);
    if (kind->is_json) {
        frame.json = slice_of(reader->json.data, fixed->payload_size);
    } else if (kind->has_elements) {
        TensorBuffer *buffer = TAKE(reader->buffer);
        frame.tensor = (Tensor){
            .dtype = (Dtype)fixed->dtype,
            .shape = reader->shape,
            .data = buffer == NULL ? NULL : buffer->data,
            .buffer = buffer,
        };
    } else {
        frame.announced_size = fixed->kind == FRAME_ANNOUNCE ? reader->announced_size : 0;
    }
    return frame;
}

static Status (*const stage_finishes[])(Call *call, FrameReader *reader) = {
    [STAGE_FIXED] = fixed_finish,
    [STAGE_HEAD] = head_finish,
    [STAGE_ANNOUNCED] = announced_finish,
    [STAGE_PIECES] = payload_finish,
    [STAGE_PAYLOAD] = payload_finish,
    [STAGE_PADDING] = padding_finish,
};

void
frame_reader_pass(FrameReader *reader)
{
    assert(reader->stage == STAGE_ANNOUNCED);

    reader->passes = true;
}

static Frame
head_tell(const FrameReader *reader)
{
    const FrameFixed *fixed = &reader->fixed;
    return (Frame){
        .kind = FRAME_TENSOR,
        .part = FRAME_HEAD,
        .payload_size = fixed->payload_size,
        .name = slice_of(reader->head + FRAME_FIXED_SIZE + fixed->rank * sizeof(int64_t), fixed->name_size),
        .tensor = {.dtype = (Dtype)fixed->dtype, .shape = reader->shape},
    };
}

static Status
piece_take(Call *call, FrameReader *reader, Slice *data, Frame *ret_frame)
{
    size_t wanted = reader->size - reader->used;
    size_t taken = wanted < data->size ? wanted : data->size;
    *ret_frame = head_tell(reader);
    ret_frame->part = FRAME_PIECE;
    ret_frame->piece = slice_part(*data, 0, taken);
    reader->used += taken;
    *data = slice_part(*data, taken, data->size);
    return reader->fixed.dtype == DTYPE_BOOL ? bools_check(call, ret_frame->piece) : STATUS_OK;
}

static void
bytes_take(FrameReader *reader, Slice *data)
{
    size_t wanted = reader->size - reader->used;
    size_t taken = wanted < data->size ? wanted : data->size;
    if (taken > 0) {
        memcpy(reader->target + reader->used, data->data, taken);
        reader->used += taken;
        *data = slice_part(*data, taken, data->size);
    }
}

/* Takes what the stage wants and finishes it when it is full. *ret_is_told: *ret_frame is for the caller. */
static Status
stage_read(Call *call, FrameReader *reader, Slice *data, Frame *ret_frame, bool *ret_is_told)
{
    Stage stage = reader->stage;
    if (stage == STAGE_PIECES && reader->used < reader->size) {
        *ret_is_told = data->size > 0;
        return data->size > 0 ? piece_take(call, reader, data, ret_frame) : STATUS_OK;
    }
    bytes_take(reader, data);
    if (reader->used < reader->size) {
        return STATUS_OK;
    }
    TRY(stage_finishes[stage](call, reader));
    if (stage == STAGE_PADDING) {
        *ret_frame = frame_take(reader);
    } else if (reader->stage == STAGE_ANNOUNCED) {
        *ret_frame = head_tell(reader);
    }
    *ret_is_told = stage == STAGE_PADDING || reader->stage == STAGE_ANNOUNCED;
    return STATUS_OK;
}

Status
frame_read(Call *call, FrameReader *reader, Slice *data, Frame *ret_frame, bool *ret_is_complete)
{
    assert(data != NULL && ret_frame != NULL && ret_is_complete != NULL);
    if (reader->is_broken) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "nothing can follow a broken frame");
    }
    bool is_told = false;
    for (bool goes_on = true; goes_on && !is_told;) {
        Stage stage = reader->stage;
        Status status = stage_read(call, reader, data, ret_frame, &is_told);
        if (status != STATUS_OK) {
            reader->is_broken = true;
            return status;
        }
        goes_on = reader->stage != stage || data->size > 0;
    }
    *ret_is_complete = is_told;
    return STATUS_OK;
}
