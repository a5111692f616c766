#include "gateway/store/pulse.h"

#include "shared/base/atomic.h"
#include "shared/base/clock.h"

static uint64_t asked_ns;   /* atomic: since when a question waits; 0: none does */
static uint64_t looked_ns;  /* atomic: when somebody last looked whether it was answered */
static uint64_t watched_ns; /* atomic: for how long it was seen to wait */
static uint64_t full_ns;    /* atomic: when the disk was found full; 0: never */

void
pulse_ask(uint64_t now_ns)
{
    uint64_t none = 0;
    if (atomic_load_acquire(&asked_ns) == 0) {
        atomic_store_release(&watched_ns, 0);
        atomic_store_release(&looked_ns, now_ns);
    }
    (void)atomic_compare_exchange_acq_rel(&asked_ns, &none, now_ns);
}

void
pulse_answer(void)
{
    atomic_store_release(&asked_ns, 0);
}

/* Counts the time since the last look, PULSE_LOOK_MAX_MS at most. Several may look at once: each counts what
 * lies between its look and the one before. */
bool
pulse_is_silent(uint64_t now_ns)
{
    static const uint64_t gap_max_ns = PULSE_LOOK_MAX_MS * CLOCK_NS_PER_MS;
    if (atomic_load_acquire(&asked_ns) == 0) {
        return false;
    }
    uint64_t before_ns = atomic_exchange_acq_rel(&looked_ns, now_ns);
    uint64_t gap_ns = now_ns > before_ns ? now_ns - before_ns : 0;
    uint64_t counted_ns = gap_ns < gap_max_ns ? gap_ns : gap_max_ns;
    return atomic_add_acq_rel(&watched_ns, counted_ns) >= PULSE_SILENT_MS * CLOCK_NS_PER_MS;
}

void
pulse_note_full(uint64_t now_ns)
{
    atomic_store_release(&full_ns, now_ns);
}

bool
pulse_is_full(uint64_t now_ns)
{
    uint64_t found_ns = atomic_load_acquire(&full_ns);
    return found_ns != 0 && now_ns < found_ns + PULSE_FULL_MS * CLOCK_NS_PER_MS;
}
