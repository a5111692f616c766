#include "gateway/blobs/byte_range.h"

/* Splits "a-b" at its hyphen. */
static bool
split_hyphen(Slice text, Slice *ret_first, Slice *ret_last)
{
    size_t hyphen = slice_find(text, '-');
    *ret_first = slice_trim(slice_part(text, 0, hyphen));
    *ret_last = slice_trim(slice_part(text, hyphen + 1, text.size));
    return hyphen < text.size;
}

/* Reads "-5": the last five bytes. */
static RangeAnswer
read_suffix(Slice last, uint64_t size, ByteRange *ret_range)
{
    uint64_t count = 0;
    if (!slice_to_uint64(last, &count)) {
        return RANGE_WHOLE;
    }
    if (count == 0 || size == 0) {
        return RANGE_UNSATISFIABLE;
    }
    count = count < size ? count : size;
    *ret_range = (ByteRange){.offset = size - count, .size = count};
    return RANGE_PART;
}

RangeAnswer
range_read(Slice header, uint64_t size, ByteRange *ret_range)
{
    static const char unit[] = "bytes=";
    Slice first;
    Slice last;
    uint64_t begin = 0;
    uint64_t end = UINT64_MAX;
    Slice text = slice_part(header, sizeof unit - 1, header.size);
    if (!slice_starts_with(header, slice_from_string(unit)) || slice_find(text, ',') < text.size ||
        !split_hyphen(text, &first, &last)) {
        return RANGE_WHOLE;
    }
    if (first.size == 0) {
        return read_suffix(last, size, ret_range);
    }
    if (!slice_to_uint64(first, &begin) || (last.size > 0 && !slice_to_uint64(last, &end)) || end < begin) {
        return RANGE_WHOLE;
    }
    if (begin >= size) {
        return RANGE_UNSATISFIABLE;
    }
    end = end < size ? end : size - 1;
    *ret_range = (ByteRange){.offset = begin, .size = end - begin + 1};
    return RANGE_PART;
}

static bool
read_content_range(Slice header, ContentRange *ret_range)
{
    static const char unit[] = "bytes ";
    Slice first;
    Slice last;
    uint64_t end = 0;
    ContentRange range = {0};
    Slice text = slice_part(header, sizeof unit - 1, header.size);
    size_t slash = slice_find(text, '/');
    Slice part = slice_trim(slice_part(text, 0, slash));
    if (!slice_starts_with(header, slice_from_string(unit)) ||
        !slice_to_uint64(slice_trim(slice_part(text, slash + 1, text.size)), &range.total)) {
        return false;
    }
    range.is_empty = slice_equal(part, SLICE("*"));
    if (!range.is_empty) {
        if (!split_hyphen(part, &first, &last) || !slice_to_uint64(first, &range.offset) ||
            !slice_to_uint64(last, &end) || end < range.offset || end >= range.total) {
            return false;
        }
        range.size = end - range.offset + 1;
    }
    *ret_range = range;
    return true;
}

Status
content_range_read(Call *call, Slice header, ContentRange *ret_range)
{
    return read_content_range(header, ret_range)
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "Content-Range is '%.*s', expected 'bytes first-last/total' or 'bytes */total'",
                     SLICE_PRINT(slice_part(header, 0, 80)));
}
