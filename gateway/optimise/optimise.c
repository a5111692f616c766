#include "gateway/optimise/optimise.h"

#include <assert.h>

#include "gateway/optimise/pass.h"

enum {
    DEF_SIZE_MAX = 1 << 30,
    ROUND_COUNT_MAX = 4, /* each round sees what the last one freed; no real graph has needed more */
};

bool
pass_set_add(PassSet *set, Slice name)
{
    bool is_found = false;
    for (size_t index = 0; index < pass_table_count; index++) {
        if (slice_equals_string(name, "*") || slice_equals_string(name, pass_table[index]->name)) {
            *set |= (PassSet)1 << index;
            is_found = true;
        }
    }
    return is_found;
}

bool
pass_set_has(PassSet set, Slice name)
{
    PassSet wanted = 0;
    return pass_set_add(&wanted, name) && (set & wanted) == wanted;
}

size_t
pass_set_of_worker(PassSet set, Slice *ret_names)
{
    size_t count = 0;
    assert(pass_table_count <= PASS_COUNT_MAX);
    for (size_t index = 0; index < pass_table_count; index++) {
        if (pass_table[index]->stage == PASS_WORKER && (set & (PassSet)1 << index) != 0) {
            ret_names[count++] = slice_from_string(pass_table[index]->name);
        }
    }
    return count;
}

void
pass_set_write_names(Buffer *buffer)
{
    for (size_t index = 0; index < pass_table_count; index++) {
        buffer_append_format(buffer, "%s'%s'", index == 0 ? "" : ", ", pass_table[index]->name);
    }
}

static Status
run_stage(Rewrite *rewrite, PassStage stage, PassSet without)
{
    for (size_t index = 0; index < pass_table_count; index++) {
        const Pass *pass = pass_table[index];
        if (pass->stage == stage && (without & (PassSet)1 << index) == 0) {
            rewrite_begin_pass(rewrite, pass->name);
            TRY(pass->run(rewrite));
            TRY(rewrite->has_no_memory ? rewrite_no_memory(rewrite) : STATUS_OK);
        }
    }
    return STATUS_OK;
}

static Status
run_rounds(Rewrite *rewrite, PassSet without)
{
    for (int round = 0; round < ROUND_COUNT_MAX; round++) {
        uint32_t before = rewrite->note_count;
        for (PassStage stage = PASS_CLEAN; stage <= PASS_FUSE; stage++) {
            TRY(run_stage(rewrite, stage, without));
        }
        if (rewrite->note_count == before) {
            break;
        }
    }
    return STATUS_OK;
}

Status
optimise(Call *call, const Graph *graph, const Shape *const *shapes, const bool *is_kept, PassSet without,
    Optimised *ret_optimised)
{
    Rewrite rewrite;
    Optimised optimised = {0};
    assert(shapes != NULL && is_kept != NULL);
    TRY(rewrite_begin(call, graph, shapes, is_kept, &rewrite));
    TRY(run_rounds(&rewrite, without));
    if (rewrite.note_count > 0) {
        AUTO_GRAPH_DEF def = graph_def_new(DEF_SIZE_MAX);
        if (def == NULL) {
            return call_fail_memory(call, "an optimised graph");
        }
        def->producer = graph->def->producer;
        def->min_consumer = graph->def->min_consumer;
        TRY(rewrite_finish(&rewrite, def, &optimised.result));
        optimised.result.def = TAKE(def);
    }
    optimised.notes = rewrite.notes;
    optimised.note_count = rewrite.note_count;
    *ret_optimised = optimised;
    return STATUS_OK;
}
