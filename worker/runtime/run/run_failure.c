#include "worker/runtime/run/run_failure.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/mutex.h"

bool
run_note_failure(Run *run, Status code, const char *message, Slice node)
{
    assert(code != STATUS_OK);
    mutex_lock(&run->lock);
    const bool is_first = !run->has_failed && !run->is_done;
    if (is_first) {
        const Slice text = slice_part(slice_from_string(message), 0, sizeof run->message - 1);
        memcpy(run->message, text.data, text.size);
        run->message[text.size] = '\0';
        run->code = code;
        run->error_node = node;
        atomic_store_release(&run->has_failed, true);
    }
    mutex_unlock(&run->lock);
    return is_first;
}

/* Other slots hear ABORTED with the cause: their failures are consequences, not causes. */
void
run_fail(Run *run, Status code, const char *message, Slice node)
{
    if (run_note_failure(run, code, message, node)) {
        char text[ERROR_MESSAGE_SIZE];
        snprintf(text, sizeof text, "node '%.*s' failed: %s", SLICE_PRINT(node), message);
        run->hooks->wake(run, STATUS_ABORTED, text);
    }
}
