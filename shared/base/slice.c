#include "shared/base/slice.h"

#include <assert.h>

static char
lower_case(char byte)
{
    return (char)(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte);
}

bool
slice_equal_ignoring_case(Slice left, Slice right)
{
    if (left.size != right.size) {
        return false;
    }
    for (size_t index = 0; index < left.size; index++) {
        if (lower_case(left.data[index]) != lower_case(right.data[index])) {
            return false;
        }
    }
    return true;
}

bool
slice_starts_with(Slice slice, Slice prefix)
{
    return slice.size >= prefix.size && slice_equal(slice_part(slice, 0, prefix.size), prefix);
}

bool
slice_ends_with(Slice slice, Slice suffix)
{
    return slice.size >= suffix.size &&
           slice_equal(slice_part(slice, slice.size - suffix.size, suffix.size), suffix);
}

int
slice_compare(Slice left, Slice right)
{
    size_t common = left.size < right.size ? left.size : right.size;
    int order = common == 0 ? 0 : memcmp(left.data, right.data, common);
    if (order != 0) {
        return order;
    }
    return (left.size > right.size) - (left.size < right.size);
}

size_t
slice_find(Slice slice, char byte)
{
    const char *found = slice.size == 0 ? NULL : memchr(slice.data, byte, slice.size);
    return found == NULL ? slice.size : (size_t)(found - slice.data);
}

size_t
slice_find_last(Slice slice, char byte)
{
    for (size_t index = slice.size; index > 0; index--) {
        if (slice.data[index - 1] == byte) {
            return index - 1;
        }
    }
    return slice.size;
}

Slice
slice_folder(Slice path)
{
    size_t slash = slice_find_last(path, '/');
    return slash == path.size ? SLICE("") : slice_part(path, 0, slash + 1);
}

Slice
slice_part(Slice slice, size_t start, size_t size)
{
    assert(slice.data != NULL || slice.size == 0);

    size_t begin = start < slice.size ? start : slice.size;
    size_t rest = slice.size - begin;
    return slice_of(slice.data == NULL ? NULL : slice.data + begin, size < rest ? size : rest);
}

Slice
slice_trim(Slice slice)
{
    assert(slice.data != NULL || slice.size == 0);

    while (slice.size > 0 && (slice.data[0] == ' ' || slice.data[0] == '\t')) {
        slice = slice_part(slice, 1, slice.size);
    }
    while (slice.size > 0 && (slice.data[slice.size - 1] == ' ' || slice.data[slice.size - 1] == '\t')) {
        slice.size--;
    }
    return slice;
}

bool
slice_split(Slice *rest, char separator, Slice *ret_part)
{
    if (rest->data == NULL) {
        return false;
    }
    size_t end = slice_find(*rest, separator);
    *ret_part = slice_part(*rest, 0, end);
    *rest = end == rest->size ? slice_of(NULL, 0) : slice_part(*rest, end + 1, rest->size);
    return true;
}

bool
slice_to_uint64(Slice slice, uint64_t *ret_value)
{
    assert(slice.data != NULL || slice.size == 0);

    uint64_t value = 0;
    for (size_t index = 0; index < slice.size; index++) {
        char digit = slice.data[index];
        if (digit < '0' || digit > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(digit - '0'), &value)) {
            return false;
        }
    }
    if (slice.size == 0) {
        return false;
    }
    *ret_value = value;
    return true;
}

bool
slice_to_int64(Slice slice, int64_t *ret_value)
{
    bool is_negative = slice.size > 0 && slice.data[0] == '-';
    uint64_t magnitude_max = (uint64_t)INT64_MAX + (is_negative ? 1 : 0);
    uint64_t magnitude = 0;
    if (!slice_to_uint64(slice_part(slice, is_negative ? 1 : 0, slice.size), &magnitude) ||
        magnitude > magnitude_max) {
        return false;
    }
    *ret_value = is_negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}
