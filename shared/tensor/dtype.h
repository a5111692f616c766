/* Element types: one enum, mapped to TensorFlow's DataType and ONNX's TensorProto.DataType, which
 * disagree. Sources: types.proto of TensorFlow 1.15; onnx.proto of ONNX 1.22; NumPy's format (NEP 1). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/slice.h"

/*    name        bytes  TensorFlow (name, number)   ONNX  .npy descr */
#define DTYPES(X)                                                                                            \
    X(BOOL, bool, 1, "DT_BOOL", 10, 9, "|b1")                                                                \
    X(INT8, int8, 1, "DT_INT8", 6, 3, "|i1")                                                                 \
    X(INT16, int16, 2, "DT_INT16", 5, 5, "<i2")                                                              \
    X(INT32, int32, 4, "DT_INT32", 3, 6, "<i4")                                                              \
    X(INT64, int64, 8, "DT_INT64", 9, 7, "<i8")                                                              \
    X(UINT8, uint8, 1, "DT_UINT8", 4, 2, "|u1")                                                              \
    X(UINT16, uint16, 2, "DT_UINT16", 17, 4, "<u2")                                                          \
    X(UINT32, uint32, 4, "DT_UINT32", 22, 12, "<u4")                                                         \
    X(UINT64, uint64, 8, "DT_UINT64", 23, 13, "<u8")                                                         \
    X(FLOAT16, float16, 2, "DT_HALF", 19, 10, "<f2")                                                         \
    X(BFLOAT16, bfloat16, 2, "DT_BFLOAT16", 14, 16, "")                                                      \
    X(FLOAT32, float32, 4, "DT_FLOAT", 1, 1, "<f4")                                                          \
    X(FLOAT64, float64, 8, "DT_DOUBLE", 2, 11, "<f8")                                                        \
    X(COMPLEX64, complex64, 8, "DT_COMPLEX64", 8, 14, "<c8")                                                 \
    X(COMPLEX128, complex128, 16, "DT_COMPLEX128", 18, 15, "<c16")                                           \
    X(STRING, string, 0, "DT_STRING", 7, 8, "")                                                              \
    X(RESOURCE, resource, 0, "DT_RESOURCE", 20, 0, "")                                                       \
    X(VARIANT, variant, 0, "DT_VARIANT", 21, 0, "")

#define X(upper, lower, size, tf_name, tf_number, onnx_number, npy) DTYPE_##upper,
typedef enum Dtype { DTYPE_INVALID, DTYPES(X) DTYPE_COUNT } Dtype;
#undef X

const char *dtype_name(Dtype dtype);            /* "float32"; "invalid" */
size_t dtype_size(Dtype dtype);                 /* bytes of one element; 0 for string, resource, variant */
const char *dtype_tensorflow_name(Dtype dtype); /* "DT_FLOAT" */
int dtype_tensorflow_number(Dtype dtype);
int dtype_onnx_number(Dtype dtype);
const char *dtype_npy(Dtype dtype); /* "" when .npy cannot hold it */

/* DTYPE_INVALID when there is no such type. */
Dtype dtype_from_name(Slice name);                  /* "float32" */
Dtype dtype_from_tensorflow_name(Slice name);       /* "DT_FLOAT", "DT_FLOAT_REF" gives the base type */
Dtype dtype_from_tensorflow_number(int64_t number); /* 101 (a reference) gives the base type */
Dtype dtype_from_onnx_number(int64_t number);
Dtype dtype_from_npy(Slice descr);

bool dtype_is_floating(Dtype dtype); /* float16, bfloat16, float32, float64 */
bool dtype_is_integer(Dtype dtype);  /* signed or not; not bool */
bool dtype_is_complex(Dtype dtype);
bool dtype_is_copyable(Dtype dtype); /* an element is its bytes, with no pointers in it */
