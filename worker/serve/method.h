/* One method of the worker service: a request comes in on an HTTP/2 stream, an answer goes out. Each file
 * in worker/serve/methods defines one; the build collects them.
 *
 * Happy path: the server checks version, credential and incarnation, finds the method and makes a
 * WorkerRequest → begin() → frame() or data() as the body arrives → finish() answers, at once or later →
 * closed() frees what the method has left in request->context.
 *
 * Ownership: the server owns a WorkerRequest; it is valid until closed() has returned. Work that goes on
 * elsewhere is kept in request->context.
 * Threads:   all functions run on the loop thread of the stream; long work goes to the device's threads
 * and comes back through the loop's mailbox.
 * Errors:    begin(), frame(), data() and finish() return a Status; the server answers with it and its
 *            message, unless take_failure() does. */
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
    ListLink link; /* link in the loop's list of open or spare requests */
    Worker *worker;
    WorkerLoop *loop;
    const WorkerMethod *method;
    H2Stream *stream; /* NULL after the stream has closed */
    Call call;
    Slice parameters[WORKER_PARAMETERS_MAX]; /* values of the {…} in the path, in order */
    int64_t attempt;                         /* 0: the request names none */
    int64_t slot;
    Slice tenant;
    Slice push_token;
    WireVersions versions; /* of the protocol that the caller speaks */
    Slice name_taken;      /* the address of another worker of the same name; empty: there is none */
    FrameReader *reader;   /* reused by later requests; NULL until one has frames as its body */
    bool has_frames;       /* the body of this request is frames */
    Buffer body;
    uint64_t body_size; /* content-length; 0 when the request has none */
    uint64_t body_seen;
    bool is_answered;  /* the headers of the answer have been written */
    bool is_over;      /* the whole answer has been written; the rest of the body is ignored */
    Status end_reason; /* why the stream has closed, as h2.h tells */
    void *context;     /* belongs to the method */
} WorkerRequest;

typedef enum BodyKind {
    BODY_NONE,
    BODY_DOCUMENT, /* collected in request->body */
    BODY_FRAMES,   /* frames; each goes to frame() */
    BODY_BYTES,    /* bytes; each piece goes to data(), and content-length is required */
} BodyKind;

struct WorkerMethod {
    const char *name; /* name in TensorFlow's WorkerInterface */
    const char *verb;
    const char *path;        /* "/worker/v1/steps/{step}:run" */
    bool suits_all_versions; /* it is answered also when the caller speaks other versions than this worker */
    BodyKind body;
    size_t body_size_max; /* bytes; for BODY_FRAMES of one tensor, 0: the worker's limit */

    Status (*begin)(WorkerRequest *request); /* the headers are in; may be NULL */
    /* A frame of BODY_FRAMES; its tensor moves to the callee. */
    Status (*frame)(WorkerRequest *request, Frame *frame);
    /* A piece of BODY_BYTES; never more than content-length in all. The method gives the bytes back to the
     * sender's window (h2_stream_consume()) when they are taken, perhaps later. */
    Status (*data)(WorkerRequest *request, Slice bytes);
    Status (*finish)(WorkerRequest *request); /* the whole body is in */
    /* Takes a failure of the body, which request->call tells, into an answer that is on its way. May be NULL;
     * false: there is none, and the server refuses the request. */
    bool (*take_failure)(WorkerRequest *request, Status status);
    /* The stream has ended, for whatever reason; may be NULL. */
    void (*closed)(WorkerRequest *request);
};

extern const WorkerMethod *const worker_method_table[];
extern const size_t worker_method_table_count;

#define WORKER_METHOD(name)                                                                                  \
    extern const WorkerMethod worker_method_##name;                                                          \
    const WorkerMethod worker_method_##name

/* Answers with a JSON document (copied). */
void worker_answer_json(WorkerRequest *request, int http_status, Slice json);

/* Answers with status 200 and plain text (copied). */
void worker_answer_text(WorkerRequest *request, Slice text);

/* Answers with the JSON document of a failure, {"code","message","reason", …}, and the HTTP status of its
 * code. */
void worker_answer_status(WorkerRequest *request, const WireStatus *status);

/* Answers with the failure of `call` and the worker's incarnation; resets the stream when an answer has
 * begun. */
void worker_refuse(WorkerRequest *request, const Call *call);

/* Refuses the blob that the path names, because somebody else is just sending it. */
void worker_refuse_coming(WorkerRequest *request);

/* Begins an answer with status 200 and a body of frames, unless that has been done; worker_frames_end()
 * ends it. */
void worker_frames_begin(WorkerRequest *request);
void worker_frames_write(WorkerRequest *request, Slice bytes);
void worker_frames_tensor(WorkerRequest *request, Slice name, const Tensor *tensor);
void worker_frames_end(WorkerRequest *request);
