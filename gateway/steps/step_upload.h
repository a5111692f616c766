/* A step's request as multipart/form-data: the part `request` is the JSON, each further part is one feed
 * as .npy, named by the feed. The parts are read as they arrive, in any order; a feed's elements go
 * straight into its tensor.
 *
 *     curl -F request=@step.json -F 'x:0=@x.npy;type=application/x-npy' …
 *
 * Ownership: the call's arena gives it back.
 * Threads:   the loop thread while the body arrives, then the step's.
 * Errors:    INVALID_ARGUMENT naming the part or the feed; OUT_OF_RANGE above step_feeds, step_body_bytes
 * or json_body_bytes. */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/http/handler.h"
#include "gateway/http/multipart.h"
#include "gateway/steps/step_body.h"
#include "shared/crypto/digest.h"
#include "shared/tensor/npy.h"

typedef struct UploadedFeed {
    Slice name;
    Tensor tensor; /* no dtype: it comes, or has been taken */
} UploadedFeed;

typedef struct StepUpload StepUpload;

/* Takes large feeds as they come, instead of having them collected (step_passing.h). */
typedef struct StepFeedTaker {
    /* Asks, when the header of the last feed has come, whether to take it. */
    Status (*begin)(StepUpload *upload, const NpyHead *head, bool *ret_takes);
    Status (*piece)(StepUpload *upload, Slice elements);
    Status (*end)(StepUpload *upload); /* of a feed that it took; all of it has come */
    Status (*whole)(StepUpload *upload, const UploadedFeed *feed); /* one has come that it did not take */
} StepFeedTaker;

struct StepUpload {
    const Limits *limits;
    uint64_t size;    /* bytes so far */
    size_t kept_size; /* those of them that have not been taken */
    Multipart *multipart;
    Buffer request;
    bool has_request;
    bool is_in_request; /* the current part is `request` */
    Slice boundary;
    UploadedFeed *feeds;
    size_t feed_count;
    NpyReader reader;       /* of the last feed */
    Sha256State *digesting; /* NULL unless the request has an Idempotency-Key */
    uint64_t part_size;
    Sha256 digest; /* of names and contents, whatever the boundary is: the same request sent again has the
                    * same */
    const StepFeedTaker *taker; /* NULL: all feeds are collected */
    void *taker_owner;
    NpyCheck check;   /* of the feed that it takes */
    size_t rest_size; /* bytes behind the header in the piece that completed it */
    bool is_taken;
};

#define STEP_UPLOAD_SIZE_MAX ((size_t)2 << 30) /* bytes; the largest that step_body_bytes may be */

/* Begins and continues reading, as a BodySink does: the state is a StepUpload, and `limits` outlives it. */
MUST_USE Status step_upload_begin(
    Call *call, const Request *request, const Limits *limits, void **ret_upload);
MUST_USE Status step_upload_write(Call *call, void *upload, Slice piece);

/* Returns how many bytes of the form are kept, for BodySink. */
size_t step_upload_kept_size(const void *state);

/* Checks, after the body has ended, that it was whole and had the part `request`. */
MUST_USE Status step_upload_end(Call *call, StepUpload *upload);

/* Compares the parts that have come with body->parts, if it names any: the names of all parts when the form
 * `is_whole`. INVALID_ARGUMENT. */
MUST_USE Status step_upload_check_parts(
    Call *call, const StepUpload *upload, const StepBody *body, bool is_whole);

/* Adds the uploaded feeds, and those of `body->parts` that are still to come, to those of the JSON. */
MUST_USE Status step_upload_add_feeds(Call *call, const StepUpload *upload, StepBody *body);
