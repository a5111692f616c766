/* The keys of slices, in TensorFlow's ordered code: a zero; the tensor's name, ended by "\0\1"; the number of
 * dimensions; of each, where the slice starts and how long it is. */
#include "gateway/formats/checkpoint.h"

static bool
read_byte(Slice *rest, unsigned char *ret_byte)
{
    if (rest->size == 0) {
        return false;
    }
    *ret_byte = (unsigned char)rest->data[0];
    *rest = slice_part(*rest, 1, SIZE_MAX);
    return true;
}

/* No name of a tensor has bytes that would have to be escaped. */
static bool
read_name(Slice *rest, Slice *ret_name)
{
    const size_t end = slice_find(*rest, '\0');
    unsigned char mark = 0;
    *ret_name = slice_part(*rest, 0, end);
    *rest = slice_part(*rest, end + 1, SIZE_MAX);
    return read_byte(rest, &mark) && mark == 1;
}

/* Its size in bytes, then its bytes, the highest first. */
static bool
read_rank(Slice *rest, int *ret_rank)
{
    unsigned char size = 0;
    unsigned char rank = 0;
    const bool is_read = read_byte(rest, &size) && (size == 0 || (size == 1 && read_byte(rest, &rank)));
    *ret_rank = rank;
    return is_read && rank <= SHAPE_RANK_MAX;
}

/* As many ones as the number has bytes, a zero, then the number, the highest bits first; -1 is 0x7f. */
static bool
read_signed(Slice *rest, int64_t *ret_number)
{
    enum { SIZE_MOST = 8 };
    unsigned char byte = 0;
    if (!read_byte(rest, &byte) || byte < 0x7f) {
        return false;
    }
    if (byte == 0x7f) {
        *ret_number = -1;
        return true;
    }
    int size = 1;
    while (size < SIZE_MOST && (byte & (0x80 >> size)) != 0) {
        size++;
    }
    uint64_t number = byte & (0x7fU >> size);
    for (int index = 1; index < size; index++) {
        if (!read_byte(rest, &byte)) {
            return false;
        }
        number = number << 8 | byte;
    }
    *ret_number = (int64_t)number;
    return number >> (7 * size - 1) == 0;
}

bool
checkpoint_slice_name(Slice key, Buffer *name)
{
    unsigned char zero = 0;
    Slice tensor;
    int rank = 0;
    if (!read_byte(&key, &zero) || zero != 0 || !read_name(&key, &tensor) || !read_rank(&key, &rank)) {
        return false;
    }
    buffer_append_format(name, "%.*s ", SLICE_PRINT(tensor));
    for (int dimension = 0; dimension < rank; dimension++) {
        int64_t start = 0;
        int64_t length = 0;
        if (!read_signed(&key, &start) || !read_signed(&key, &length) || start < 0) {
            return false;
        }
        buffer_append_format(name, "%s", dimension == 0 ? "" : ":");
        if (length < 0) {
            buffer_append_format(name, "-");
        } else {
            buffer_append_format(name, "%lld,%lld", (long long)start, (long long)length);
        }
    }
    return key.size == 0;
}
