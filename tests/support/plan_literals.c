#include "tests/support/plan_literals.h"

#include "gateway/optimise/optimise.h"
#include "shared/base/text.h"
#include "shared/formats/graphdef_json.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/expand_literals.h"
#include "tests/support/graph_literals.h"

enum { NAMES_MAX = 16 };

static size_t
split_names(const char *text, Slice *ret_names)
{
    Slice rest = slice_from_string(text);
    size_t count = 0;
    while (rest.size > 0 && slice_split(&rest, ' ', &ret_names[count])) {
        count++;
    }
    return count;
}

static void
graph_release(void *graph)
{
    graph_unref(graph);
}

static PassSet
passes_without(const char *names)
{
    Slice passes[NAMES_MAX];
    PassSet all = 0;
    PassSet wanted = 0;
    size_t count = split_names(names, passes);
    assert_true(pass_set_add(&all, SLICE("*")));
    for (size_t index = 0; index < count; index++) {
        assert_true(pass_set_add(&wanted, passes[index]));
    }
    return all & ~wanted;
}

static Status
make_signature(Call *call, const PlanLiteral *literal, Signature *ret_signature)
{
    Slice feed_names[NAMES_MAX];
    Slice fetches[NAMES_MAX];
    Slice targets[NAMES_MAX];
    SignatureFeed feeds[NAMES_MAX];
    size_t feed_count = split_names(literal->feeds, feed_names);
    for (size_t index = 0; index < feed_count; index++) {
        feeds[index] = (SignatureFeed){
            .name = feed_names[index], .dtype = literal->feed_dtype, .shape = shape_unknown()};
    }
    Signature given = {
        .feeds = feeds,
        .feed_count = feed_count,
        .fetches = fetches,
        .fetch_count = split_names(literal->fetches, fetches),
        .targets = targets,
        .target_count = split_names(literal->targets, targets),
        .options = {.placement = literal->placement,
            .slot_count = literal->slot_count == 0 ? 1 : literal->slot_count,
            .passes_off = passes_without(literal->passes),
            .has_soft_placement = literal->has_soft_placement,
            .allows_tf32 = literal->allows_tf32},
    };
    return signature_make(call, SLICE("test"), &given, ret_signature);
}

Status
plan_literal_of(Call *call, const PlanLiteral *literal, const Graph *graph, Plan **ret_plan)
{
    Signature signature;
    TRY(make_signature(call, literal, &signature));
    PlanRequest request = {
        .graph = graph, .signature = &signature, .slot_count_max = literal->slot_count_max};
    return plan_compile(call, &request, ret_plan);
}

Status
plan_literal(Call *call, const PlanLiteral *literal, Plan **ret_plan)
{
    Graph *graph = expand_literal(call, literal->graph);
    assert_non_null(arena_defer(call->arena, graph_release, graph));
    return plan_literal_of(call, literal, graph, ret_plan);
}

const char *
plan_partition_text(Call *call, const Plan *plan, size_t partition)
{
    AUTO_GRAPH_DEF def = NULL;
    assert_status(call, STATUS_OK, graphdef_json_read(call, plan->partitions[partition].document, &def));
    const char *nodes = graph_literal_text(call->arena, def);
    return def->function_count == 0 ? nodes
                                    : text_format(call->arena, "%sgraph:\n%s",
                                          graph_literal_library_text(call->arena, def), nodes);
}

const char *
plan_decision_text(Call *call, const Plan *plan, const char *node)
{
    for (size_t index = 0; index < plan->decision_count; index++) {
        const PlanDecision *decision = &plan->decisions[index];
        if (slice_equals_string(decision->node, node)) {
            return text_format(call->arena, "%u %s%s%.*s%s", decision->slot, decision->why,
                decision->subject.size == 0 ? "" : " '", SLICE_PRINT(decision->subject),
                decision->subject.size == 0 ? "" : "'");
        }
    }
    return NULL;
}

const char *
plan_rewritten_text(Call *call, const char *graph, const char *fetches, const char *passes)
{
    PlanLiteral literal = {.graph = graph,
        .feeds = "x",
        .fetches = fetches == NULL ? "r" : fetches,
        .passes = passes == NULL ? "*" : passes};
    AUTO_PLAN plan = NULL;
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->partition_count, 1);
    Slice rest = slice_from_string(plan_partition_text(call, plan, 0));
    Slice line = {0};
    const char *text = "";
    while (rest.size > 0 && slice_split(&rest, '\n', &line)) {
        if (line.size > 0 && !slice_starts_with(line, SLICE("_arg")) &&
            !slice_starts_with(line, SLICE("_ret"))) {
            text = text_format(call->arena, "%s%.*s\n", text, SLICE_PRINT(line));
        }
    }
    return text;
}
