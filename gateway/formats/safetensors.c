#include "gateway/formats/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "shared/json/scanner.h"

enum { LENGTH_SIZE = 8, DEPTH_MAX = 4, NAME_SHOWN = 128 };

#define SHOWN(text) SLICE_PRINT(slice_part(text, 0, NAME_SHOWN))

static const struct {
    const char *name;
    Dtype dtype;
} types[] = {
    {"BOOL", DTYPE_BOOL},
    {"U8", DTYPE_UINT8},
    {"I8", DTYPE_INT8},
    {"U16", DTYPE_UINT16},
    {"I16", DTYPE_INT16},
    {"F16", DTYPE_FLOAT16},
    {"BF16", DTYPE_BFLOAT16},
    {"U32", DTYPE_UINT32},
    {"I32", DTYPE_INT32},
    {"F32", DTYPE_FLOAT32},
    {"U64", DTYPE_UINT64},
    {"I64", DTYPE_INT64},
    {"F64", DTYPE_FLOAT64},
    {"C64", DTYPE_COMPLEX64},
};

/* A file whose head is being read. */
typedef struct Head {
    Call *call;
    Slice name;
    ByteSpan data; /* what follows the head */
    JsonScanner *scanner;
    Buffer tensors; /* SafeTensor[] */
} Head;

static Dtype
find_dtype(Slice name)
{
    for (size_t index = 0; index < COUNT_OF(types); index++) {
        if (slice_equals_string(name, types[index].name)) {
            return types[index].dtype;
        }
    }
    return DTYPE_INVALID;
}

static bool
read_shape(JsonScanner *scanner, Shape *shape)
{
    uint64_t dim = 0;
    *shape = (Shape){.rank = 0};
    if (!json_array_begin(scanner)) {
        return false;
    }
    while (json_array_next(scanner)) {
        if (!json_uint64(scanner, &dim)) {
            return false;
        }
        if (shape->rank == SHAPE_RANK_MAX || dim > INT64_MAX) {
            json_fault(scanner, "a shape has too many dimensions, or one that is too large");
            return false;
        }
        shape->dims[shape->rank++] = (int64_t)dim;
    }
    return scanner->fault == NULL;
}

static bool
read_offsets(JsonScanner *scanner, uint64_t offsets[2])
{
    size_t count = 0;
    if (!json_array_begin(scanner)) {
        return false;
    }
    while (json_array_next(scanner)) {
        uint64_t offset = 0;
        if (!json_uint64(scanner, &offset)) {
            return false;
        }
        if (count < 2) {
            offsets[count] = offset;
        }
        count++;
    }
    if (scanner->fault == NULL && count != 2) {
        json_fault(scanner, "'data_offsets' must be a begin and an end");
    }
    return scanner->fault == NULL;
}

enum { HAS_TYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

/* Reads a member and returns which it was; one that we do not know may be of a newer release. */
static unsigned
read_member(Head *head, Slice member, SafeTensor *tensor, uint64_t offsets[2])
{
    JsonScanner *scanner = head->scanner;
    Slice skipped;
    if (slice_equals_string(member, "dtype")) {
        return json_string(scanner, head->call->arena, &tensor->type) ? HAS_TYPE : 0;
    }
    if (slice_equals_string(member, "shape")) {
        return read_shape(scanner, &tensor->shape) ? HAS_SHAPE : 0;
    }
    if (slice_equals_string(member, "data_offsets")) {
        return read_offsets(scanner, offsets) ? HAS_OFFSETS : 0;
    }
    (void)json_skip(scanner, &skipped);
    return 0;
}

/* Reads one tensor's object. */
static void
read_members(Head *head, SafeTensor *tensor, uint64_t offsets[2])
{
    JsonScanner *scanner = head->scanner;
    Slice member;
    unsigned seen = 0;
    if (!json_object_begin(scanner)) {
        return;
    }
    while (json_object_next(scanner, &member)) {
        seen |= read_member(head, member, tensor, offsets);
    }
    if (scanner->fault == NULL && seen != HAS_ALL) {
        json_fault(scanner, "a tensor needs 'dtype', 'shape' and 'data_offsets'");
    }
}

static Status
fail_tensor(const Head *head, const SafeTensor *tensor, const char *reason)
{
    return call_fail(head->call, STATUS_INVALID_ARGUMENT, "'%.*s' is no safetensors file: tensor '%.*s' %s",
        SHOWN(head->name), SHOWN(tensor->name), reason);
}

/* Checks the range of a tensor, and that it is as long as its shape asks. */
static Status
place_tensor(const Head *head, SafeTensor *tensor, const uint64_t offsets[2])
{
    size_t expected = 0;
    if (offsets[0] > offsets[1] || offsets[1] > head->data.size) {
        return fail_tensor(head, tensor, "does not lie in the file");
    }
    tensor->span = byte_span_part(head->data, offsets[0], offsets[1] - offsets[0]);
    tensor->dtype = find_dtype(tensor->type);
    if (tensor->dtype == DTYPE_INVALID) {
        return STATUS_OK;
    }
    bool is_known = shape_byte_size(&tensor->shape, tensor->dtype, &expected);
    return is_known && expected == tensor->span.size
               ? STATUS_OK
               : fail_tensor(head, tensor, "has not as many bytes as its shape and type ask for");
}

/* Says which file's head the scanner complains about. */
static Status
wrap_fault(const Head *head, Status status)
{
    return status == STATUS_OK ? STATUS_OK : call_wrap(head->call, "the head of '%.*s'", SHOWN(head->name));
}

static Status
read_tensor(Head *head, Slice name)
{
    uint64_t offsets[2] = {0, 0};
    SafeTensor tensor = {.name = name};
    if (!json_name_keep(head->scanner, head->call->arena, &tensor.name)) {
        return call_fail_memory(head->call, "a file's tensors");
    }
    read_members(head, &tensor, offsets);
    TRY(wrap_fault(head, json_scan_check(head->call, head->scanner)));
    TRY(place_tensor(head, &tensor, offsets));
    buffer_append(&head->tensors, &tensor, sizeof tensor);
    return buffer_is_ok(&head->tensors) ? STATUS_OK : call_fail_memory(head->call, "a file's tensors");
}

static Status
read_tensors(Head *head)
{
    Slice name;
    Slice metadata;
    if (!json_object_begin(head->scanner)) {
        return STATUS_OK; /* the end of the scan tells why */
    }
    while (json_object_next(head->scanner, &name)) {
        if (slice_equals_string(name, "__metadata__")) {
            (void)json_skip(head->scanner, &metadata);
        } else {
            TRY(read_tensor(head, name));
        }
    }
    return STATUS_OK;
}

static int
by_offset(const void *left, const void *right)
{
    const SafeTensor *a = left;
    const SafeTensor *b = right;
    if (a->span.offset != b->span.offset) {
        return a->span.offset < b->span.offset ? -1 : 1;
    }
    return (a->span.size > b->span.size) - (a->span.size < b->span.size);
}

static int
by_name(const void *left, const void *right)
{
    return slice_compare(((const SafeTensor *)left)->name, ((const SafeTensor *)right)->name);
}

/* Checks that the tensors, in the order of their offsets, fill the data without gaps and overlaps. */
static Status
check_filled(const Head *head, const SafeTensor *tensors, size_t count)
{
    uint64_t end = head->data.offset;
    for (size_t index = 0; index < count; index++) {
        if (tensors[index].span.offset != end) {
            return fail_tensor(head, &tensors[index],
                tensors[index].span.offset < end ? "overlaps another one" : "has a gap in front");
        }
        end += tensors[index].span.size;
    }
    return end == head->data.offset + head->data.size
               ? STATUS_OK
               : call_fail(head->call, STATUS_INVALID_ARGUMENT,
                     "'%.*s' is no safetensors file: %llu bytes behind the last tensor belong to none",
                     SHOWN(head->name), (unsigned long long)(head->data.offset + head->data.size - end));
}

static Status
take_tensors(const Head *head, SafeTensors *ret_tensors)
{
    size_t count = head->tensors.size / sizeof(SafeTensor);
    SafeTensor *tensors = arena_alloc(head->call->arena, (count + 1) * sizeof *tensors);
    if (tensors == NULL) {
        return call_fail_memory(head->call, "a file's tensors");
    }
    if (count > 0) {
        memcpy(tensors, head->tensors.data, head->tensors.size);
    }
    qsort(tensors, count, sizeof *tensors, by_offset);
    TRY(check_filled(head, tensors, count));
    qsort(tensors, count, sizeof *tensors, by_name);
    for (size_t index = 1; index < count; index++) {
        if (slice_equal(tensors[index - 1].name, tensors[index].name)) {
            return fail_tensor(head, &tensors[index], "is there twice");
        }
    }
    *ret_tensors = (SafeTensors){tensors, count};
    return STATUS_OK;
}

static void
head_done(Head *head)
{
    buffer_done(&head->tensors);
}

/* Finds the text of the head, and what is behind it. */
static Status
split_file(Call *call, Slice name, ByteSpan file, Slice *ret_text, ByteSpan *ret_data)
{
    Slice length;
    uint64_t size = 0;
    TRY(byte_span_get(
        call, call->arena, byte_span_part(file, 0, LENGTH_SIZE), LENGTH_SIZE, "a length", &length));
    for (size_t index = length.size; index-- > 0;) {
        size = size << 8 | (unsigned char)length.data[index];
    }
    if (length.size < LENGTH_SIZE || size > file.size - LENGTH_SIZE) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "'%.*s' is no safetensors file: its head does not fit into its %llu bytes", SHOWN(name),
            (unsigned long long)file.size);
    }
    *ret_data = byte_span_part(file, LENGTH_SIZE + size, UINT64_MAX);
    return byte_span_get(call, call->arena, byte_span_part(file, LENGTH_SIZE, size),
        SAFETENSORS_HEAD_SIZE_MAX, "the head of a safetensors file", ret_text);
}

Status
safetensors_read(Call *call, Slice name, ByteSpan file, SafeTensors *ret_tensors)
{
    JsonScanner scanner;
    Slice text;
    CLEANUP(head_done) Head head = {.call = call, .name = name, .scanner = &scanner};
    TRY(split_file(call, name, file, &text, &head.data));
    json_scan_begin(&scanner, text, DEPTH_MAX);
    TRY(read_tensors(&head));
    TRY(wrap_fault(&head, json_scan_end(call, &scanner)));
    return take_tensors(&head, ret_tensors);
}

Status
safetensors_open(Call *call, SkeletonFile *files, size_t count, bool *ret_has_some)
{
    *ret_has_some = false;
    for (size_t index = 1; index < count; index++) {
        if (slice_ends_with(files[index].name, SLICE(".safetensors"))) {
            SafeTensors *tensors = arena_alloc(call->arena, sizeof *tensors);
            if (tensors == NULL) {
                return call_fail_memory(call, "a file's tensors");
            }
            TRY(safetensors_read(call, files[index].name, files[index].span, tensors));
            files[index].tensors = tensors;
            *ret_has_some = true;
        }
    }
    return STATUS_OK;
}

static const SafeTensor *
find_in(const SafeTensors *tensors, Slice name)
{
    SafeTensor wanted = {.name = name};
    return tensors->count == 0
               ? NULL
               : bsearch(&wanted, tensors->items, tensors->count, sizeof *tensors->items, by_name);
}

Status
safetensors_find(Call *call, const SkeletonRequest *request, Slice name, const SafeTensor **ret_tensor,
    const SkeletonFile **ret_file)
{
    *ret_tensor = NULL;
    for (size_t index = 1; index < request->file_count; index++) {
        const SkeletonFile *file = &request->files[index];
        const SafeTensor *found = file->tensors == NULL ? NULL : find_in(file->tensors, name);
        if (found != NULL && *ret_tensor != NULL) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "tensor '%.*s' is both in '%.*s' and in '%.*s'",
                SHOWN(name), SHOWN((*ret_file)->name), SHOWN(file->name));
        }
        if (found != NULL) {
            *ret_tensor = found;
            *ret_file = file;
        }
    }
    return STATUS_OK;
}

Status
safetensors_check(Call *call, const SafeTensor *tensor, Dtype dtype)
{
    if (tensor->dtype == DTYPE_INVALID) {
        return call_fail(call, STATUS_UNIMPLEMENTED, "tensor '%.*s' has the type '%.*s', which we have not",
            SHOWN(tensor->name), SHOWN(tensor->type));
    }
    return tensor->dtype == dtype ? STATUS_OK
                                  : call_fail(call, STATUS_INVALID_ARGUMENT,
                                        "tensor '%.*s' is %s in its file, and %s in the model",
                                        SHOWN(tensor->name), dtype_name(tensor->dtype), dtype_name(dtype));
}
