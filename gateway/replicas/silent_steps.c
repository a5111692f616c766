#include "gateway/replicas/silent_steps.h"

#include "shared/base/clock.h"

void
silent_steps_note(SilentSteps *steps, const StepInquiry *inquiry, uint64_t now_ns)
{
    steps->steps[steps->next] = (SilentStep){
        .tenant = inquiry->tenant,
        .session = inquiry->session,
        .id = inquiry->id,
        .until_ns = now_ns + SILENT_STEPS_MS * CLOCK_NS_PER_MS,
    };
    steps->next = (steps->next + 1) % SILENT_STEPS_MAX;
}

bool
silent_steps_has(const SilentSteps *steps, const StepInquiry *inquiry, uint64_t now_ns)
{
    for (size_t index = 0; index < SILENT_STEPS_MAX; index++) {
        const SilentStep *step = &steps->steps[index];
        if (now_ns < step->until_ns && uuid_equal(step->id.value, inquiry->id.value) &&
            uuid_equal(step->session.value, inquiry->session.value) &&
            uuid_equal(step->tenant.value, inquiry->tenant.value)) {
            return true;
        }
    }
    return false;
}
