#include "shared/tensor/foreign_dtype.h"

#include <stddef.h>

#include "shared/base/compiler.h"

typedef struct ForeignDtype {
    uint8_t number;
    const char *name;
} ForeignDtype;

static const ForeignDtype of_onnx[] = {
    {17, "FLOAT8E4M3FN"},
    {18, "FLOAT8E4M3FNUZ"},
    {19, "FLOAT8E5M2"},
    {20, "FLOAT8E5M2FNUZ"},
    {21, "UINT4"},
    {22, "INT4"},
    {23, "FLOAT4E2M1"},
    {24, "FLOAT8E8M0"},
    {25, "UINT2"},
    {26, "INT2"},
};

static const ForeignDtype of_tensorflow[] = {
    {11, "DT_QINT8"},
    {12, "DT_QUINT8"},
    {13, "DT_QINT32"},
    {15, "DT_QINT16"},
    {16, "DT_QUINT16"},
    {24, "DT_FLOAT8_E5M2"},
    {25, "DT_FLOAT8_E4M3FN"},
    {26, "DT_FLOAT8_E4M3FNUZ"},
    {27, "DT_FLOAT8_E4M3B11FNUZ"},
    {28, "DT_FLOAT8_E5M2FNUZ"},
    {29, "DT_INT4"},
    {30, "DT_UINT4"},
    {31, "DT_INT2"},
    {32, "DT_UINT2"},
};

static const char *
find_name(const ForeignDtype *rows, size_t count, int64_t number)
{
    for (size_t index = 0; index < count; index++) {
        if (rows[index].number == number) {
            return rows[index].name;
        }
    }
    return NULL;
}

const char *
foreign_dtype_onnx(int64_t number)
{
    return find_name(of_onnx, COUNT_OF(of_onnx), number);
}

const char *
foreign_dtype_tensorflow(int64_t number)
{
    enum { REFERENCE = 100 };
    return find_name(
        of_tensorflow, COUNT_OF(of_tensorflow), number > REFERENCE ? number - REFERENCE : number);
}

uint8_t
foreign_dtype_from_tensorflow_name(Slice name)
{
    Slice suffix = SLICE("_REF");
    Slice base = slice_ends_with(name, suffix) ? slice_part(name, 0, name.size - suffix.size) : name;
    for (size_t index = 0; index < COUNT_OF(of_tensorflow); index++) {
        if (slice_equals_string(base, of_tensorflow[index].name)) {
            return of_tensorflow[index].number;
        }
    }
    return 0;
}
