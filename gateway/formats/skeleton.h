/* Skeletons: models without the bytes of their large tensors. A skeleton is a file of the same format, which
 * the format's reader reads as any other; where the bytes of a weight were, it names their SHA-256, and the
 * weight becomes an absent tensor. The model is read in windows and never in memory whole.
 *
 *     skeleton_scan.c       what the formats share: the walk through protobuf, weights, files
 *     onnx_skeleton.c       ONNX, also with external data in other files: TensorProto.external_data has the
 *                           location "sha256:<64 hex digits>" (so that a skeleton is ONNX)
 *     graphdef_skeleton.c   GraphDef and saved_model.pb: TensorProto has the field PROTO_TENSOR_REF
 *     saved_model_skeleton.c  the tar of a SavedModel: its checkpoint becomes a file of TensorProtos
 *     named_weights.c       GraphDef, as protobuf or JSON, whose placeholders get the tensors of .safetensors
 *                           files: its skeleton is JSON, in which they are constants
 *
 * Ownership: skeleton_done() frees what a skeleton holds. Sources are borrowed.
 * Threads:   any.
 * Errors:    INVALID_ARGUMENT for damaged files, names that lead out of the model's folder, and files that
 *            are missing; OUT_OF_RANGE when what is left without weights is larger than `size_max`. */
#pragma once

#include "gateway/formats/byte_source.h"

typedef struct SafeTensors SafeTensors; /* safetensors.h */

/* A file that the model consists of. */
typedef struct SkeletonFile {
    Slice name; /* as the model refers to it: a path relative to its folder */
    ByteSpan span;
    size_t blob;                /* the caller's number of what the span lies in */
    const SafeTensors *tensors; /* of a .safetensors file; NULL: it is none */
} SkeletonFile;

typedef struct SkeletonRequest {
    const SkeletonFile *files; /* the first is the model */
    size_t file_count;
    size_t weight_size_min; /* smaller tensors stay; SIZE_MAX: all do, wherever they were */
    size_t size_max;
} SkeletonRequest;

/* A weight: a range of a blob. */
typedef struct SkeletonWeight {
    Sha256 digest;
    size_t blob;
    uint64_t offset;
    uint64_t size;
} SkeletonWeight;

typedef struct Skeleton {
    Buffer bytes;
    Buffer weights; /* SkeletonWeight[] */
} Skeleton;

static inline void
skeleton_done(Skeleton *skeleton)
{
    buffer_done(&skeleton->bytes);
    buffer_done(&skeleton->weights);
}
#define AUTO_SKELETON CLEANUP(skeleton_done) Skeleton

static inline size_t
skeleton_weight_count(const Skeleton *skeleton)
{
    return skeleton->weights.size / sizeof(SkeletonWeight);
}

static inline const SkeletonWeight *
skeleton_weights(const Skeleton *skeleton)
{
    return (const SkeletonWeight *)(const void *)skeleton->weights.data;
}

/* Make skeletons. `ret_skeleton` is zeroed before. */
MUST_USE Status onnx_skeleton(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton);
MUST_USE Status graphdef_skeleton(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton);
MUST_USE Status saved_model_skeleton(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton);
MUST_USE Status named_weights_of_json(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton);
MUST_USE Status named_weights_of_graphdef(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton);
