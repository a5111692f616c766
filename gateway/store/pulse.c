#include "gateway/store/pulse.h"

#include "shared/base/atomic.h"
#include "shared/base/clock.h"

static uint64_t asked_ns; /* atomic: since when a question waits; 0: none does */
static uint64_t full_ns;  /* atomic: when the disk was found full; 0: never */

void
pulse_ask(uint64_t now_ns)
{
    uint64_t none = 0;
    (void)atomic_compare_exchange_acq_rel(&asked_ns, &none, now_ns);
}

void
pulse_answer(void)
{
    atomic_store_release(&asked_ns, 0);
}

bool
pulse_is_silent(uint64_t now_ns)
{
    uint64_t since_ns = atomic_load_acquire(&asked_ns);
    return since_ns != 0 && now_ns >= since_ns + PULSE_SILENT_MS * CLOCK_NS_PER_MS;
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
