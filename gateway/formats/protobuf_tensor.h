/* What TensorFlow's and ONNX's TensorProto share: the elements as a repeated field of numbers. */
#pragma once

#include "shared/formats/protobuf.h"
#include "shared/tensor/tensor.h"

/* Reads the numbers of `message`'s field into the tensor, as many as it has room for, wherever they stand
 * and packed or not; complex elements are two numbers. *ret_given: how many elements the field has, those
 * beyond the tensor's room included. False when the bytes are damaged. */
MUST_USE bool protobuf_read_elements(
    Slice message, uint32_t field_number, const Tensor *tensor, int64_t *ret_given);
