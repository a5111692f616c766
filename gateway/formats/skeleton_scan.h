/* The walk through a protobuf message that makes its skeleton: messages that may hold weights are opened, all
 * else is copied as it stands. Private to gateway/formats.
 *
 * A message's length is written as five bytes, so that it can be set once the message is complete: protobuf
 * allows numbers to be longer than they need. */
#pragma once

#include "gateway/formats/skeleton.h"
#include "shared/formats/protobuf.h"

typedef struct SkeletonScan {
    Call *call;
    const SkeletonRequest *request;
    Skeleton *skeleton;
    SkeletonFile file; /* the file that is being read */
    ByteReader reader;
    int depth;
} SkeletonScan;

typedef struct ScanMessage ScanMessage;

typedef enum ScanAs {
    SCAN_MESSAGE, /* holds weights somewhere inside */
    SCAN_NAME,    /* the name of an attribute */
    SCAN_TENSOR,
} ScanAs;

typedef struct ScanField {
    uint32_t number;
    ScanAs as;
    const ScanMessage *message; /* of SCAN_MESSAGE */
} ScanField;

/* The rule that says whether tensors in a message may be weights: an attribute other than "value" must keep
 * its elements, as it may belong to another node than a constant. */
typedef enum ScanWeights {
    WEIGHTS_AS_AROUND,
    WEIGHTS_ALLOWED,
    WEIGHTS_BY_NAME, /* the field SCAN_NAME comes first and decides */
} ScanWeights;

struct ScanMessage {
    ScanWeights weights;
    const ScanField *fields;
    size_t field_count;
};

#define SCAN_FIELDS(table) .fields = (table), .field_count = COUNT_OF(table)

extern const ScanMessage onnx_scan_model; /* onnx_skeleton.c */

/* Copies a TensorProto that ends at `end`; `may_leave` says whether its elements may be left out. */
typedef Status (*ScanTensor)(SkeletonScan *scan, uint64_t end, bool may_leave);

/* Writes the skeleton of the request's first file, a message of this kind. */
MUST_USE Status skeleton_scan(Call *call, const SkeletonRequest *request, const ScanMessage *root,
    ScanTensor tensor, Skeleton *skeleton);

/* The same for a message that lies in any span. */
MUST_USE Status skeleton_scan_file(Call *call, const SkeletonRequest *request, const SkeletonFile *file,
    const ScanMessage *root, ScanTensor tensor, Skeleton *skeleton);

/* Writes the skeleton of a SavedModel's saved_model.pb, which lies in this file (graphdef_skeleton.c). */
MUST_USE Status graphdef_skeleton_model(
    Call *call, const SkeletonRequest *request, const SkeletonFile *file, Skeleton *skeleton);

/* A field whose key has been read. */
typedef struct ScanKey {
    uint32_t number;
    ProtobufWire wire;
    uint64_t size;  /* of PROTOBUF_BYTES */
    uint64_t value; /* of PROTOBUF_VARINT */
} ScanKey;

/* Reads the next key, with a number or a length, of a message that ends at `end`. Of fixed-size fields the
 * bytes follow as well. */
MUST_USE Status scan_key(SkeletonScan *scan, uint64_t end, ScanKey *ret_key);
/* Returns the row of the field; NULL: it is of no interest. */
const ScanField *scan_field_of(const ScanMessage *message, const ScanKey *key);
/* Goes one message deeper, which `depth` counts. INVALID_ARGUMENT when messages nest too deep. */
MUST_USE Status scan_enter(SkeletonScan *scan);
/* Copies the field as it stands. */
MUST_USE Status scan_copy(SkeletonScan *scan, const ScanKey *key);
/* Reads a field's bytes, of which there may be at most `size_max`, into the call's arena. */
MUST_USE Status scan_text(SkeletonScan *scan, const ScanKey *key, size_t size_max, Slice *ret_text);

/* Leaves out the next `size` bytes, which are a weight, and notes where they lie. */
MUST_USE Status scan_weight(SkeletonScan *scan, uint64_t size, Sha256 *ret_digest);
/* Notes a weight that lies anywhere in a file. */
MUST_USE Status skeleton_weight(
    Call *call, const SkeletonFile *file, ByteSpan span, Skeleton *skeleton, Sha256 *ret_digest);
MUST_USE Status skeleton_note(
    Call *call, const SkeletonFile *file, ByteSpan span, const Sha256 *digest, Skeleton *skeleton);

/* Fails with OUT_OF_RANGE or RESOURCE_EXHAUSTED when the skeleton could not grow. */
MUST_USE Status skeleton_check(Call *call, const SkeletonRequest *request, const Skeleton *skeleton);

/* Write fields. A message lasts from skeleton_open() to skeleton_close(), which takes what it returned. */
void skeleton_put_varint(Buffer *bytes, uint32_t field, uint64_t value);
void skeleton_put_bytes(Buffer *bytes, uint32_t field, Slice value);
size_t skeleton_open(Buffer *bytes, uint32_t field);
void skeleton_close(Buffer *bytes, size_t start);
