#include "shared/tensor/dtype.h"

typedef struct DtypeRow {
    const char *name;
    size_t size;
    const char *tensorflow_name;
    int tensorflow_number;
    int onnx_number;
    const char *npy;
} DtypeRow;

#define X(upper, lower, size, tf_name, tf_number, onnx_number, npy)                                          \
    [DTYPE_##upper] = {#lower, size, tf_name, tf_number, onnx_number, npy},
static const DtypeRow rows[DTYPE_COUNT] = {
    [DTYPE_INVALID] = {"invalid", 0, "DT_INVALID", 0, 0, ""}, DTYPES(X)};
#undef X

/* TensorFlow numbers the reference to a type as the type + 100 (types.proto). */
enum { TENSORFLOW_REFERENCE = 100 };

static const DtypeRow *
row_of(Dtype dtype)
{
    return &rows[(unsigned)dtype < DTYPE_COUNT ? dtype : DTYPE_INVALID];
}

const char *
dtype_name(Dtype dtype)
{
    return row_of(dtype)->name;
}

size_t
dtype_size(Dtype dtype)
{
    return row_of(dtype)->size;
}

const char *
dtype_tensorflow_name(Dtype dtype)
{
    return row_of(dtype)->tensorflow_name;
}

int
dtype_tensorflow_number(Dtype dtype)
{
    return row_of(dtype)->tensorflow_number;
}

int
dtype_onnx_number(Dtype dtype)
{
    return row_of(dtype)->onnx_number;
}

const char *
dtype_npy(Dtype dtype)
{
    return row_of(dtype)->npy;
}

Dtype
dtype_from_name(Slice name)
{
    for (Dtype dtype = DTYPE_INVALID + 1; dtype < DTYPE_COUNT; dtype++) {
        if (slice_equals_string(name, rows[dtype].name)) {
            return dtype;
        }
    }
    return DTYPE_INVALID;
}

Dtype
dtype_from_tensorflow_name(Slice name)
{
    Slice suffix = SLICE("_REF");
    Slice base = slice_ends_with(name, suffix) ? slice_part(name, 0, name.size - suffix.size) : name;
    for (Dtype dtype = DTYPE_INVALID + 1; dtype < DTYPE_COUNT; dtype++) {
        if (slice_equals_string(base, rows[dtype].tensorflow_name)) {
            return dtype;
        }
    }
    return DTYPE_INVALID;
}

Dtype
dtype_from_tensorflow_number(int64_t number)
{
    int64_t base = number > TENSORFLOW_REFERENCE ? number - TENSORFLOW_REFERENCE : number;
    for (Dtype dtype = DTYPE_INVALID + 1; dtype < DTYPE_COUNT; dtype++) {
        if (rows[dtype].tensorflow_number == base) {
            return dtype;
        }
    }
    return DTYPE_INVALID;
}

Dtype
dtype_from_onnx_number(int64_t number)
{
    for (Dtype dtype = DTYPE_INVALID + 1; dtype < DTYPE_COUNT; dtype++) {
        if (number != 0 && rows[dtype].onnx_number == number) {
            return dtype;
        }
    }
    return DTYPE_INVALID;
}

Dtype
dtype_from_npy(Slice descr)
{
    for (Dtype dtype = DTYPE_INVALID + 1; dtype < DTYPE_COUNT; dtype++) {
        if (descr.size > 0 && slice_equals_string(descr, rows[dtype].npy)) {
            return dtype;
        }
    }
    return DTYPE_INVALID;
}

bool
dtype_is_floating(Dtype dtype)
{
    return dtype >= DTYPE_FLOAT16 && dtype <= DTYPE_FLOAT64;
}

bool
dtype_is_integer(Dtype dtype)
{
    return dtype >= DTYPE_INT8 && dtype <= DTYPE_UINT64;
}

bool
dtype_is_complex(Dtype dtype)
{
    return dtype == DTYPE_COMPLEX64 || dtype == DTYPE_COMPLEX128;
}

bool
dtype_is_copyable(Dtype dtype)
{
    return dtype_size(dtype) > 0;
}
