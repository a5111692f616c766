/* Strings that hold bytes: as base64 in the URL-safe alphabet, and as the elements of tensors. */
#include "shared/base/base64.h"
#include "shared/base/clock.h"
#include "worker/reference/outputs.h"
#include "worker/reference/texts.h"

/* Appends `size` bytes and returns where they stand; NULL without memory. */
static char *
append_room(Buffer *buffer, size_t size)
{
    static const char zeros[64];
    size_t start = buffer->size;
    for (size_t left = size; left > 0 && buffer_is_ok(buffer);) {
        size_t part = left < sizeof zeros ? left : sizeof zeros;
        buffer_append(buffer, zeros, part);
        left -= part;
    }
    return buffer_is_ok(buffer) ? buffer->data + start : NULL;
}

/* Without padding the '=' at the end are left out. */
static void
append_base64(Buffer *buffer, Slice bytes, bool pads)
{
    size_t size = base64_encoded_size(bytes.size);
    char *text = size == 0 ? NULL : append_room(buffer, size);
    if (text == NULL) {
        return;
    }
    base64_encode(bytes, text);
    for (size_t n = 0; n < size; n++) {
        text[n] = (char)(text[n] == '+' ? '-' : text[n] == '/' ? '_' : text[n]);
    }
    for (; !pads && buffer->size > 0 && buffer->data[buffer->size - 1] == '='; buffer->size--) {}
}

static Status
encode_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    bool pads = node_attr_bool(context->node, "pad");
    AUTO_TEXTS texts = {0};
    TRY(texts_begin(context, &input->shape, &texts));
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        TRY(call_check(context->call, clock_monotonic_ns()));
        append_base64(&texts.bytes, string_at(input, n), pads);
        texts_next(&texts);
    }
    return texts_finish(context, 0, &texts);
}

static bool
is_url_safe(Slice text)
{
    return slice_find(text, '+') >= text.size && slice_find(text, '/') >= text.size;
}

static Status
decode_string(KernelContext *context, int64_t n, Buffer *bytes)
{
    Slice text = string_at(&context->inputs[0], n);
    size_t size = 0;
    bool is_valid = is_url_safe(text) && base64_decoded_size(text, &size);
    char *room = is_valid && size > 0 ? append_room(bytes, size) : NULL;
    if (!is_valid || (room != NULL && !base64_decode(text, room))) {
        return call_fail(
            context->call, STATUS_INVALID_ARGUMENT, "string %lld is no URL-safe base64", (long long)n);
    }
    return STATUS_OK;
}

static Status
decode_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    AUTO_TEXTS texts = {0};
    TRY(texts_begin(context, &input->shape, &texts));
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        TRY(call_check(context->call, clock_monotonic_ns()));
        TRY(decode_string(context, n, &texts.bytes));
        texts_next(&texts);
    }
    return texts_finish(context, 0, &texts);
}

static bool
raw_supports(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]);
}

/* Returns the size of what is stored as one number: a complex element is two. */
static size_t
number_size(Dtype dtype)
{
    return dtype_size(dtype) / (dtype_is_complex(dtype) ? 2 : 1);
}

/* Turns the bytes of each number around where they come in big-endian order; a bool is any byte but 0. */
static void
settle_elements(const Node *node, const Tensor *output)
{
    char *bytes = output->data;
    size_t size = number_size(output->dtype);
    size_t total = tensor_byte_size(output);
    bool is_little = node_attr_bool(node, "little_endian");
    for (size_t first = 0; !is_little && size > 1 && first < total; first += size) {
        for (size_t n = 0; n < size / 2; n++) {
            char byte = bytes[first + n];
            bytes[first + n] = bytes[first + size - 1 - n];
            bytes[first + size - 1 - n] = byte;
        }
    }
    for (size_t n = 0; output->dtype == DTYPE_BOOL && n < total; n++) {
        bytes[n] = bytes[n] != 0;
    }
}

/* Checks that all strings have one length, a multiple of an element's. */
static Status
check_lengths(KernelContext *context, size_t size, size_t *ret_length)
{
    const Tensor *input = &context->inputs[0];
    int64_t count = tensor_element_count(input);
    size_t length = count > 0 ? string_at(input, 0).size : 0;
    for (int64_t n = 1; n < count; n++) {
        if (string_at(input, n).size != length) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "string %lld has %zu bytes, the first one %zu", (long long)n, string_at(input, n).size,
                length);
        }
    }
    *ret_length = length;
    return length % size == 0 ? STATUS_OK
                              : call_fail(context->call, STATUS_INVALID_ARGUMENT,
                                    "strings of %zu bytes are no elements of %zu", length, size);
}

static Status
decode_raw_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Dtype dtype = context->node->output_dtypes[0];
    Tensor *output = NULL;
    Shape shape;
    size_t length = 0;
    TRY(output_rule(context, &shape));
    TRY(check_lengths(context, dtype_size(dtype), &length));
    shape.dims[shape.rank - 1] = (int64_t)(length / dtype_size(dtype));
    TRY(kernel_output(context, 0, dtype, &shape, &output));
    for (int64_t n = 0; length > 0 && n < tensor_element_count(input); n++) {
        memcpy((char *)output->data + (size_t)n * length, string_at(input, n).data, length);
    }
    settle_elements(context->node, output);
    return STATUS_OK;
}

/* A shorter string is followed by zeros, a longer one cut. */
static Status
decode_padded_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    size_t length = (size_t)output->shape.dims[output->shape.rank - 1] * dtype_size(output->dtype);
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        Slice string = slice_part(string_at(input, n), 0, length);
        char *to = (char *)output->data + (size_t)n * length;
        TRY(call_check(context->call, clock_monotonic_ns()));
        memset(to, 0, length);
        if (string.size > 0) {
            memcpy(to, string.data, string.size);
        }
    }
    settle_elements(context->node, output);
    return STATUS_OK;
}

static const Kernel codec_kernels[] = {
    {.op = "EncodeBase64", .compute = encode_compute},
    {.op = "DecodeBase64", .compute = decode_compute},
    {.op = "DecodeRaw", .supports = raw_supports, .compute = decode_raw_compute},
    {.op = "DecodePaddedRaw",
        .supports = raw_supports,
        .compute = decode_padded_compute,
        .host_inputs = 1 << 1},
};

KERNEL_FAMILY(reference, strings_codec, codec_kernels);
