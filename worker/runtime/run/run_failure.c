#include "worker/runtime/run/run_failure.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/mutex.h"

bool
run_note_failure(Run *run, const Failure *failure)
{
    assert(failure->code != STATUS_OK);
    mutex_lock(&run->lock);
    bool is_first = !run->has_failed && !run->is_done;
    if (is_first) {
        run->failure = *failure;
        atomic_store_release(&run->has_failed, true);
    }
    mutex_unlock(&run->lock);
    return is_first;
}

/* Aborts the rendezvous with ABORTED, not with the failure's own code: a failure that this brings
 * about elsewhere must not look like the cause. */
void
run_fail(Run *run, Failure failure)
{
    if (run_note_failure(run, &failure)) {
        char text[ERROR_MESSAGE_SIZE];
        snprintf(text, sizeof text, "node '%s' failed: %.*s", failure.node,
            SLICE_PRINT(slice_from_string(failure.message)));
        run->hooks->wake(run, STATUS_ABORTED, text);
    }
}
