#include "worker/runtime/run/run_cancel.h"

#include <assert.h>
#include <inttypes.h>

#include "shared/base/atomic.h"
#include "shared/base/mutex.h"
#include "worker/runtime/run/args.h"
#include "worker/runtime/run/promise.h"
#include "worker/runtime/run/run_failure.h"
#include "worker/runtime/run/running.h"

enum { WAITING_NAMED_MAX = 4 };

/* Appends "; waiting: 'recv_1' for '/slot:1/…;0:0', 'recv_2' for '…'" with the _Recvs of one iteration.
 * *count goes on from iteration to iteration; only the first WAITING_NAMED_MAX are named. */
static void
append_waiting(const Iteration *iteration, uint32_t *count, Buffer *text)
{
    const ScheduleFrame *schedule = iteration->schedule;
    for (uint32_t i = 0; i < schedule->receive_count; i++) {
        const ScheduleNode *node = &iteration->run->partition->nodes[schedule->receives[i]];
        const Transfer *transfer = &iteration->transfers[node->index];
        if (!atomic_load_acquire(&transfer->is_waiting)) {
            continue;
        }
        if ((*count)++ < WAITING_NAMED_MAX) {
            buffer_append_format(text, "%s'%.*s' for '%.*s'", *count == 1 ? "; waiting: " : ", ",
                SLICE_PRINT(node->node->name), SLICE_PRINT(transfer->key));
        }
    }
}

/* Appends "; running: loop 'while/context' in iteration 17, 'inner' in iteration 3 and 2 more". Called
 * with the frames_lock held. */
static void
append_loops(Run *run, Buffer *text)
{
    uint32_t count = 0;
    LIST_EACH(&run->live_frames, link)
    {
        const Frame *frame = LIST_ITEM(link, Frame, live);
        if (count++ < WAITING_NAMED_MAX) {
            buffer_append_format(text, "%s'%.*s' in iteration %" PRIu64,
                count == 1 ? "; running: loop " : ", ", SLICE_PRINT(frame->schedule->name),
                frame->started - 1);
        }
    }
    if (count > WAITING_NAMED_MAX) {
        buffer_append_format(text, " and %" PRIu32 " more", count - WAITING_NAMED_MAX);
    }
}

static void
append_state(Run *run, Buffer *text)
{
    uint32_t count = 0;
    late_args_describe(run, text);
    append_waiting(run->root, &count, text);
    mutex_lock(&run->frames_lock);
    LIST_EACH(&run->live_frames, link)
    {
        const Frame *frame = LIST_ITEM(link, Frame, live);
        for (const Iteration *at = frame->oldest; at != NULL; at = at->newer) {
            append_waiting(at, &count, text);
        }
    }
    if (count > WAITING_NAMED_MAX) {
        buffer_append_format(text, " and %" PRIu32 " more", count - WAITING_NAMED_MAX);
    }
    append_loops(run, text);
    mutex_unlock(&run->frames_lock);
    (void)running_describe(run, text);
    promises_describe(run, text);
}

void
run_cancel(Run *run, Status code, const char *message)
{
    AUTO_BUFFER text = {0};
    assert(code != STATUS_OK);
    buffer_append_string(&text, message);
    if (code == STATUS_DEADLINE_EXCEEDED) {
        append_state(run, &text);
    }
    const char *whole = buffer_string(&text);
    const char *told = whole == NULL ? message : whole;
    Failure failure = failure_of(code, (Slice){0}, "%s", told);
    if (run_note_failure(run, &failure)) {
        run->hooks->wake(run, code, told);
    }
}
