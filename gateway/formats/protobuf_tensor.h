/* Reads the elements of TensorFlow's and ONNX's TensorProto, which both keep them as a repeated field of
 * numbers. */
#pragma once

#include "shared/formats/protobuf.h"
#include "shared/tensor/tensor.h"

/* Reads the numbers of one field of `message` into the tensor, as many as it has room for, packed or not;
 * a complex element is two numbers. *ret_given is how many elements the field has, including those without
 * room. Returns false when the bytes are damaged. */
MUST_USE bool protobuf_read_elements(
    Slice message, uint32_t field_number, const Tensor *tensor, int64_t *ret_given);
