/* The parts of graphs that an accelerator has captured, and those that may be. A part is a stretch of nodes
 * that are computed in one order, one behind another (partition/parts.c); all that its kernels enqueue
 * depends on the part and on a key alone: the shapes and dtypes of what it reads, and the values of what it
 * reads on the host. The first run of a key is plain: kernels may choose algorithms and load themselves then.
 * The second measures which memory the part takes, the third captures it, and each later one replays.
 *
 * Captured work has memory of its own (capture_memory.h), which counts as its tenant's. So captures are few.
 * When there are as many as may be, the one used least of late makes room for a key that is used more than
 * twice as often: keys that are all in use take turns at nothing. For a step that finds no memory, the one
 * used longest ago makes room.
 *
 * Ownership: the worker's, until no partition is left. A Capture is the table's; who has begun a turn with it
 *            may use it until captures_end().
 * Threads:   any. One thread at a time measures or captures a key, the others run it plainly meanwhile.
 * Errors:    whatever fails, the part is run plainly; refused captures are counted by reason (DeviceCounts).
 *            What may pass (a lack of memory, a launch that the device refused) is tried again when the key
 * has been run plainly for CAPTURE_REST_MIN times, then for twice as many, up to CAPTURE_REST_MAX. */
#pragma once

#include "shared/base/list.h"
#include "worker/runtime/capture_memory.h"

enum { CAPTURE_REST_MIN = 64, CAPTURE_REST_MAX = 4096 };

/* The captures of one part, in the part. */
typedef struct CaptureSite {
    ListLink captures;
} CaptureSite;

/* The turn of a run with a part. */
typedef enum CaptureTurn { CAPTURE_PLAIN, CAPTURE_MEASURE, CAPTURE_RECORD, CAPTURE_REPLAY } CaptureTurn;

typedef struct Capture {
    /* Found by the run that measured. */
    size_t memory_size;

    /* Made by the run that captured, immutable for those that replay. */
    DeviceGraph *graph;
    CaptureMemory *memory;
    Tensor *inputs; /* at the addresses that the graph reads; one array with the outputs */
    uint32_t input_count;
    Tensor *outputs; /* at the addresses that it writes, or on the host */
    uint32_t output_count;

    /* The table's own. */
    ListLink of_site;
    ListLink by_use; /* the one used last is the last */
    uint64_t tenant;
    uint32_t user_count;
    uint32_t use_count; /* runs of the key of late: halved from time to time */
    uint32_t rest_left; /* runs that are plain before the key is tried again; 0: it is refused for good */
    uint32_t rest_next; /* runs that will be plain after the next refusal; 0: none was so far */
    int state;
    size_t key_size;
    char key[];
} Capture;

typedef struct CapturesOptions {
    uint32_t graph_max;  /* captured parts at a time */
    uint32_t launch_min; /* kernels of a part that is worth a capture; 0: as many as usual */
} CapturesOptions;

/* NULL without memory. */
MUST_USE Captures *captures_new(Device *device, const CapturesOptions *options);
void captures_free(Captures *captures); /* NULL is allowed; no part may have captures left */

uint32_t captures_launch_min(const Captures *captures);

/* Tells what a run of a part shall do, and returns its capture; for CAPTURE_PLAIN there is none. */
CaptureTurn captures_begin(
    Captures *captures, CaptureSite *site, uint64_t tenant, Slice key, Capture **ret_capture);

/* End a turn: one that went well, or whose run failed while it measured; or one that was refused. A refused
 * part is run plainly with this key, for good or until what refused it may have passed. */
void captures_end(Captures *captures, Capture *capture);
void captures_refuse(Captures *captures, Capture *capture, CaptureRefusal reason);

/* End a turn with captured work that the device cannot do any more, and the part is measured anew; or that it
 * has failed to begin, and the part is run plainly until it is tried again. The work is freed when the last
 * run that uses it has ended its turn; no other begins one. */
void captures_end_stale(Captures *captures, Capture *capture);
void captures_end_failed(Captures *captures, Capture *capture);

/* Counts a part that is refused before its key is known. */
void captures_count_refusal(Captures *captures, CaptureRefusal reason);

/* Frees the captures of a part that no run uses any more. */
void captures_forget(Captures *captures, CaptureSite *site);

/* Frees the capture of this tenant (0: of any) that was used longest ago. False: there is none that nobody
 * uses. May be called in a turn of the device's lane. */
bool captures_give_up(Captures *captures, uint64_t tenant);

/* Returns a block of the device's memory that counts as the tenant's, or NULL. Takes no room from others. */
MUST_USE TensorBuffer *captures_allocate(Captures *captures, uint64_t tenant, size_t size);
