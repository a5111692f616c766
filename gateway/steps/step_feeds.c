#include "gateway/steps/step_feeds.h"

#include <assert.h>

#include "gateway/jobs/job_context.h"
#include "gateway/tensors/tensor_blob.h"
#include "shared/json/reader.h"
#include "shared/tensor/tensor_json.h"

void
step_feeds_release(StepCall *step)
{
    for (size_t index = 0; step->given != NULL && index < step->body.feed_count; index++) {
        tensor_unref(&step->given[index]);
    }
}

static Status
read_reference(StepCall *step, Slice ref, JobContext *context, Tensor *ret_tensor)
{
    Sha256 digest;
    Store *store = NULL;
    TRY(tensor_blob_parse(step->call, ref, &digest));
    TRY(job_store(step->call, context, STORE_ROLE_APP, &store));
    return tensor_blob_read(step->call, store, step->tenant, &digest, ret_tensor);
}

static Status
read_json(StepCall *step, Slice json, Dtype dtype, Tensor *ret_tensor, Slice *ret_ref)
{
    JsonScanner scanner;
    json_scan_begin(&scanner, json, (int)step->loop->steps->limits->json_depth);
    const TensorJsonOptions options = {
        .expected = dtype,
        .byte_size_max = (size_t)step->loop->steps->limits->json_body_bytes,
    };
    return tensor_json_read(step->call, &scanner, options, ret_tensor, ret_ref);
}

/* Checks the dtype, which a tensor may say itself, against the graph's, and the rank against its limit. */
static Status
check_feed(StepCall *step, Dtype expected, const Tensor *tensor)
{
    const uint64_t rank_max = step->loop->steps->limits->tensor_rank;
    if (expected != DTYPE_INVALID && expected != tensor->dtype) {
        return call_fail(step->call, STATUS_INVALID_ARGUMENT, "the graph takes %s here, not %s",
            dtype_name(expected), dtype_name(tensor->dtype));
    }
    if ((uint64_t)tensor->shape.rank > rank_max) {
        return call_fail(step->call, STATUS_OUT_OF_RANGE, "rank %d is above the limit tensor_rank, %llu",
            tensor->shape.rank, (unsigned long long)rank_max);
    }
    return STATUS_OK;
}

/* Sets *ret_tensor, unless that needs a job thread. */
static Status
read_feed(StepCall *step, const StepFeedText *text, JobContext *context, Tensor *ret_tensor)
{
    Slice ref = {0};
    Shape shape;
    Dtype dtype = DTYPE_INVALID;
    TRY(plan_describe_feed(step->call, step->graph->graph, text->name, &dtype, &shape));
    if (text->tensor.dtype != DTYPE_INVALID) {
        *ret_tensor = tensor_ref(&text->tensor);
    } else {
        TRY(read_json(step, text->json, dtype, ret_tensor, &ref));
    }
    if (ref.size > 0 && context != NULL) {
        TRY(read_reference(step, ref, context, ret_tensor));
    }
    return ret_tensor->dtype == DTYPE_INVALID ? STATUS_OK : check_feed(step, dtype, ret_tensor);
}

/* Allocates room for the feeds, once. */
static Status
make_room(StepCall *step)
{
    if (step->given == NULL) {
        step->given = arena_alloc(step->call->arena, (step->body.feed_count + 1) * sizeof *step->given);
    }
    return step->given == NULL ? call_fail_memory(step->call, "the feeds of a step") : STATUS_OK;
}

/* Checks the feeds' size in memory: the body's limit does not bound it, as references are short and may be
 * repeated. */
static Status
check_size(const StepCall *step, uint64_t size)
{
    const uint64_t size_max = step->loop->steps->limits->step_body_bytes;
    return size <= size_max ? STATUS_OK
                            : call_fail(step->call, STATUS_OUT_OF_RANGE,
                                  "the limit step_body_bytes is %llu bytes: the step's feeds have more",
                                  (unsigned long long)size_max);
}

Status
step_feeds_take(StepCall *step, JobContext *context, bool *ret_needs_job)
{
    assert(step->graph != NULL);

    const size_t count = step->body.feed_count;
    uint64_t size = 0;
    TRY(make_room(step));
    for (size_t index = 0; index < count; index++) {
        const StepFeedText *const text = &step->body.feeds[index];
        Tensor *const tensor = &step->given[index];
        if (tensor->dtype == DTYPE_INVALID && read_feed(step, text, context, tensor) != STATUS_OK) {
            return call_wrap(step->call, "feed '%.*s'", SLICE_PRINT(slice_part(text->name, 0, 128)));
        }
        *ret_needs_job = *ret_needs_job || tensor->dtype == DTYPE_INVALID;
        size += tensor->dtype == DTYPE_INVALID ? 0 : tensor_byte_size(tensor);
        TRY(check_size(step, size));
    }
    return STATUS_OK;
}

typedef struct Description {
    const char *dtype;
    Slice shape;
    Slice values; /* any form of values; they are not read */
} Description;

/* Reads the dtype that a JSON object says; a bare number, string or array has the graph's. */
static Status
read_dtype(StepCall *step, Slice json, Dtype *ret_dtype)
{
    static const JsonMember members[] = {
        {"dtype", JSON_STRING_COPY, .offset = offsetof(Description, dtype)},
        {"shape", JSON_TEXT, .offset = offsetof(Description, shape)},
        {"data", JSON_TEXT, .offset = offsetof(Description, values)},
        {"b64", JSON_TEXT, .offset = offsetof(Description, values)},
        {"npy", JSON_TEXT, .offset = offsetof(Description, values)},
        {"ref", JSON_TEXT, .offset = offsetof(Description, values)},
    };
    static const JsonTable table = JSON_TABLE("a tensor", members);
    Description description = {0};
    if (!slice_starts_with(json, SLICE("{"))) {
        return STATUS_OK;
    }
    TRY(json_document_read(step->call, json, &table, &description));
    if (description.dtype == NULL) {
        return STATUS_OK;
    }
    *ret_dtype = dtype_from_name(slice_from_string(description.dtype));
    return *ret_dtype != DTYPE_INVALID
               ? STATUS_OK
               : call_fail(step->call, STATUS_INVALID_ARGUMENT, "'%.32s' is no dtype", description.dtype);
}

static Status
describe_feed(StepCall *step, const StepFeedText *text, Tensor *ret_tensor)
{
    Shape shape;
    Dtype dtype = DTYPE_INVALID;
    Tensor described = {.data = NULL};
    TRY(plan_describe_feed(step->call, step->graph->graph, text->name, &dtype, &shape));
    described.dtype = dtype;
    TRY(read_dtype(step, text->json, &described.dtype));
    TRY(check_feed(step, dtype, &described));
    *ret_tensor = described;
    return STATUS_OK;
}

Status
step_feeds_describe(StepCall *step)
{
    assert(step->graph != NULL);

    TRY(make_room(step));
    for (size_t index = 0; index < step->body.feed_count; index++) {
        const StepFeedText *const text = &step->body.feeds[index];
        if (describe_feed(step, text, &step->given[index]) != STATUS_OK) {
            return call_wrap(step->call, "feed '%.*s'", SLICE_PRINT(slice_part(text->name, 0, 128)));
        }
    }
    return STATUS_OK;
}
