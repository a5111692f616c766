/* Requests that continue a partial run. Everything is checked before anything is changed, so that a
 * request that is refused leaves the run as it was. */
#include <assert.h>
#include <string.h>

#include "gateway/partials/partial_visit.h"

/* Returns "x" for "x:0", and the other way round. */
static Status
other_form(Call *call, Slice name, Slice *ret_name)
{
    Slice port = SLICE(":0");
    if (slice_ends_with(name, port)) {
        *ret_name = slice_part(name, 0, name.size - port.size);
        return STATUS_OK;
    }
    char *text = arena_alloc(call->arena, name.size + port.size);
    if (text == NULL) {
        return call_fail_memory(call, "the name of an output");
    }
    memcpy(text, name.data, name.size);
    memcpy(text + name.size, port.data, port.size);
    *ret_name = slice_of(text, name.size + port.size);
    return STATUS_OK;
}

/* Finds a name, in either form, among those that the run was made with. */
static Status
find_name(Call *call, const char *what, const Slice *names, size_t count, Slice name, size_t *ret_index)
{
    Slice other;
    if (signature_find_name(names, count, name, ret_index)) {
        return STATUS_OK;
    }
    TRY(other_form(call, name, &other));
    return signature_find_name(names, count, other, ret_index)
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "%s '%.*s' is none of those that the partial run was made with", what,
                     SLICE_PRINT(name));
}

static Status
find_feed(Call *call, const Plan *plan, Slice name, size_t *ret_feed)
{
    return find_name(call, "feed", plan->feeds, plan->feed_count, name, ret_feed);
}

Status
partial_visit_check_feeds(const PartialVisit *visit)
{
    const StepCall *step = visit->step;
    for (size_t index = 0; index < step->body.feed_count; index++) {
        size_t feed = 0;
        TRY(find_feed(step->call, step->plan, step->body.feeds[index].name, &feed));
    }
    return STATUS_OK;
}

/* Sorts the request's feeds into the plan's order; the tensors stay the request's. */
static Status
find_feeds(Call *call, const StepCall *step, const PartialRun *run, Tensor **ret_feeds)
{
    const Plan *plan = step->plan;
    Tensor *feeds = arena_alloc(call->arena, (plan->feed_count + 1) * sizeof *feeds);
    if (feeds == NULL) {
        return call_fail_memory(call, "the feeds of a partial run");
    }
    for (size_t index = 0; index < step->body.feed_count; index++) {
        Slice name = step->body.feeds[index].name;
        size_t feed = 0;
        TRY(find_feed(call, plan, name, &feed));
        if (run->is_fed[feed] || feeds[feed].dtype != DTYPE_INVALID) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "feed '%.*s' has been given already", SLICE_PRINT(name));
        }
        feeds[feed] = step->given[index];
    }
    *ret_feeds = feeds;
    return STATUS_OK;
}

/* Finds for each of the request's fetches its index in the plan. */
static Status
find_fetches(Call *call, const StepCall *step, const PartialRun *run, uint32_t **ret_fetches)
{
    const Plan *plan = step->plan;
    size_t count = step->body.fetch_count;
    uint32_t *fetches = arena_alloc(call->arena, (count + 1) * sizeof *fetches);
    bool *is_asked = arena_alloc(call->arena, plan->fetch_count + 1);
    if (fetches == NULL || is_asked == NULL) {
        return call_fail_memory(call, "the fetches of a partial run");
    }
    for (size_t index = 0; index < count; index++) {
        Slice name = step->body.fetches[index];
        size_t fetch = 0;
        TRY(find_name(call, "fetch", plan->fetches, plan->fetch_count, name, &fetch));
        if (run->fetches[fetch].is_taken || is_asked[fetch]) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "fetch '%.*s' has been asked for already", SLICE_PRINT(name));
        }
        is_asked[fetch] = true;
        fetches[index] = (uint32_t)fetch;
    }
    *ret_fetches = fetches;
    return STATUS_OK;
}

/* Checks that the feeds given so far, with these, suffice for the fetches. */
static Status
check_needs(
    Call *call, const StepCall *step, const PartialRun *run, const Tensor *feeds, const uint32_t *fetches)
{
    const Plan *plan = step->plan;
    if (step->body.fetch_count == 0 || run->fed_count + step->body.feed_count == plan->feed_count) {
        return STATUS_OK;
    }
    bool *is_fed = arena_alloc(call->arena, plan->feed_count + 1);
    if (is_fed == NULL) {
        return call_fail_memory(call, "the needs of a fetch");
    }
    for (size_t feed = 0; feed < plan->feed_count; feed++) {
        is_fed[feed] = run->is_fed[feed] || feeds[feed].dtype != DTYPE_INVALID;
    }
    PlanFed fed = {.plan = plan, .is_fed = is_fed};
    return plan_check_fed(call, run->step.graph->graph, &fed, fetches, step->body.fetch_count);
}

static Status
check_running(Call *call, PartialRun *run)
{
    if (!run->has_ended || run->status == STATUS_OK) {
        return STATUS_OK;
    }
    run->is_told = true;
    return call_fail(call, run->status, "%s", run->message);
}

Status
partial_visit_continue(PartialVisit *visit, PartialRun *run)
{
    assert(visit->step->plan == run->step.plan);

    StepCall *step = visit->step;
    Call *call = step->call;
    Tensor *feeds = NULL;
    uint32_t *fetches = NULL;
    TRY(check_running(call, run));
    if (step->body.feed_count + step->body.fetch_count == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "a request that continues a partial run gives feeds or asks for fetches");
    }
    TRY(find_feeds(call, step, run, &feeds));
    TRY(find_fetches(call, step, run, &fetches));
    TRY(check_needs(call, step, run, feeds, fetches));
    Tensor *outputs = arena_alloc(call->arena, (step->plan->fetch_count + 1) * sizeof *outputs);
    if (outputs == NULL) {
        return call_fail_memory(call, "the outputs of a partial run");
    }
    TRY(partial_run_give(call, run, feeds));
    step->outputs = outputs;
    partial_run_take(run, fetches, step->body.fetch_count);
    step->reply.fetches = fetches;
    visit->waits = true;
    visit->awaits_end = partial_run_is_used_up(run);
    return STATUS_OK;
}
