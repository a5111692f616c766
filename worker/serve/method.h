/* One method of the worker service: a request comes in on an HTTP/2 stream, an answer goes out. One file in
 * worker/serve/methods defines one of these; the build collects them.
 *
 * Happy path: the server checks version, credential and incarnation, finds the method, makes a WorkerRequest
 * → begin() → the body, by its kind → finish() answers, now or later → closed() gives back what is left.
 *
 * Ownership: a WorkerRequest belongs to the server; it is valid until closed() has returned. Methods whose
 * work goes on elsewhere hang it on request->context.
 * Threads:   everything on the stream's loop thread; what takes long goes to the device's threads and comes
 *            back through the loop's mailbox.
 * Errors:    begin() and finish() return a Status; the server answers with it and its message. */
#pragma once

#include "shared/base/call.h"
#include "shared/h2/h2.h"
#include "shared/wire/frame.h"
#include "shared/wire/messages.h"

typedef struct Worker Worker;
typedef struct WorkerLoop WorkerLoop;
typedef struct WorkerMethod WorkerMethod;

enum { WORKER_PARAMETERS_MAX = 2, WORKER_ARENA_SIZE_MAX = 64 << 20 };

typedef struct WorkerRequest {
    ListLink link; /* in the loop's list of requests */
    Worker *worker;
    WorkerLoop *loop;
    const WorkerMethod *method;
    H2Stream *stream; /* NULL once closed */
    Call call;
    Slice parameters[WORKER_PARAMETERS_MAX]; /* {…} of the path, in order */
    int64_t attempt;                         /* 0: none given */
    int64_t slot;
    Slice tenant;
    Slice push_token;
    FrameReader *reader; /* NULL until a body was frames: of this request or of one before */
    bool has_frames;     /* this one's is */
    Buffer body;
    uint64_t body_size; /* as the request says; 0 when it does not */
    uint64_t body_seen;
    bool is_answered; /* the head of the answer is out, or all of it */
    bool is_over;     /* all of it: what the body still brings is passed over */
    void *context;    /* the method's */
} WorkerRequest;

typedef enum BodyKind {
    BODY_NONE,
    BODY_DOCUMENT, /* kept in request->body until it is whole */
    BODY_FRAMES,   /* each frame goes to frame() */
    BODY_BYTES,    /* each piece goes to data(); the request says its length */
} BodyKind;

struct WorkerMethod {
    const char *name; /* as TensorFlow's WorkerInterface calls it */
    const char *verb;
    const char *path; /* "/worker/v1/steps/{step}:run" */
    BodyKind body;
    size_t body_size_max; /* bytes; FRAMES: of one tensor, 0: the worker's limit */

    Status (*begin)(WorkerRequest *request);               /* headers are in; may be NULL */
    Status (*frame)(WorkerRequest *request, Frame *frame); /* FRAMES: one; its tensor is the callee's */
    Status (*data)(WorkerRequest *request, Slice bytes);   /* BYTES: never more than the length in all */
    Status (*finish)(WorkerRequest *request);              /* the body is in */
    void (*closed)(WorkerRequest *request); /* the stream has ended, for whatever reason; may be NULL */
};

extern const WorkerMethod *const worker_method_table[];
extern const size_t worker_method_table_count;

#define WORKER_METHOD(name)                                                                                  \
    extern const WorkerMethod worker_method_##name;                                                          \
    const WorkerMethod worker_method_##name

/* 200 with a JSON document (copied). */
void worker_answer_json(WorkerRequest *request, int http_status, Slice json);

/* 200 with plain text (copied). */
void worker_answer_text(WorkerRequest *request, Slice text);

/* Refuses with one document, {"code","message","reason", …}, under the code's HTTP status. */
void worker_answer_status(WorkerRequest *request, const WireStatus *status);

/* Refuses with what `call` failed with and our incarnation; resets the stream when an answer has begun. */
void worker_refuse(WorkerRequest *request, const Call *call);

/* 200 and a stream of frames: once begun, frames follow, and worker_frames_end() closes. */
void worker_frames_begin(WorkerRequest *request);
void worker_frames_write(WorkerRequest *request, Slice bytes);
void worker_frames_tensor(WorkerRequest *request, Slice name, const Tensor *tensor);
void worker_frames_end(WorkerRequest *request);
