#include "gateway/steps/step_body.h"

#include <stdio.h>
#include <string.h>

#include "shared/json/scanner.h"

typedef struct Reading {
    Call *call;
    JsonScanner *scanner; /* apart: it is large and need not be cleared */
    const Limits *limits;
    StepBody body;
    const char *limit; /* the limit that was passed */
} Reading;

typedef struct Member {
    const char *name;
    bool (*read)(Reading *reading);
} Member;

/* One object whose members are all in the table; another is a fault that names it. */
static bool
read_members(Reading *reading, const Member *members, size_t count, const char *where)
{
    Slice name;
    if (!json_object_begin(reading->scanner)) {
        return false;
    }
    while (json_object_next(reading->scanner, &name)) {
        size_t index = 0;
        while (index < count && !slice_equals_string(name, members[index].name)) {
            index++;
        }
        if (index == count) {
            char pointer[128];
            (void)snprintf(pointer, sizeof pointer, "%s/%.*s", where, SLICE_PRINT(slice_part(name, 0, 64)));
            call_note(reading->call, pointer, "there is no such member");
            json_fault(reading->scanner, "unknown member");
            return false;
        }
        if (!members[index].read(reading)) {
            return false;
        }
    }
    return true;
}

/* Doubles a list in the arena when it is full. */
static void *
list_room(Reading *reading, const void *items, size_t count, size_t size)
{
    enum { FIRST = 4 };
    const bool is_full = count == 0 || (count >= FIRST && (count & (count - 1)) == 0);
    if (!is_full) {
        return without_const(items);
    }
    void *const larger = arena_alloc(reading->call->arena, (count < FIRST ? FIRST : count * 2) * size);
    if (larger == NULL) {
        json_fault(reading->scanner, "the request needs more memory than a call may use");
        return NULL;
    }
    if (count > 0) {
        memcpy(larger, items, count * size);
    }
    return larger;
}

static bool
within(Reading *reading, size_t count, uint64_t maximum, const char *limit)
{
    if (count < maximum) {
        return true;
    }
    reading->limit = limit;
    json_fault(reading->scanner, "too many");
    return false;
}

/* NULL past the limit, or without memory. */
static StepFeedText *
add_feed(Reading *reading)
{
    StepBody *const body = &reading->body;
    StepFeedText *const feeds = list_room(reading, body->feeds, body->feed_count, sizeof *feeds);
    if (feeds == NULL || !within(reading, body->feed_count, reading->limits->step_feeds, "step_feeds")) {
        return NULL;
    }
    feeds[body->feed_count] = (StepFeedText){0};
    body->feeds = feeds;
    return &feeds[body->feed_count++];
}

static bool
read_feeds(Reading *reading)
{
    Slice name;
    if (!json_object_begin(reading->scanner)) {
        return false;
    }
    while (json_object_next(reading->scanner, &name)) {
        StepFeedText *const feed = add_feed(reading);
        if (feed == NULL || !json_name_keep(reading->scanner, reading->call->arena, &name) ||
            !json_skip(reading->scanner, &feed->json)) {
            return false;
        }
        feed->name = name;
    }
    return true;
}

static bool
read_feed_names(Reading *reading)
{
    if (!json_array_begin(reading->scanner)) {
        return false;
    }
    while (json_array_next(reading->scanner)) {
        StepFeedText *const feed = add_feed(reading);
        if (feed == NULL || !json_string(reading->scanner, reading->call->arena, &feed->name)) {
            return false;
        }
    }
    return true;
}

static bool
read_names(Reading *reading, const Slice **ret_names, size_t *ret_count)
{
    if (!json_array_begin(reading->scanner)) {
        return false;
    }
    while (json_array_next(reading->scanner)) {
        Slice *const names = list_room(reading, *ret_names, *ret_count, sizeof *names);
        if (names == NULL || !within(reading, *ret_count, reading->limits->step_fetches, "step_fetches") ||
            !json_string(reading->scanner, reading->call->arena, &names[*ret_count])) {
            return false;
        }
        *ret_names = names;
        (*ret_count)++;
    }
    return true;
}

static bool
read_graph(Reading *reading)
{
    return json_string(reading->scanner, reading->call->arena, &reading->body.graph);
}

static bool
read_fetches(Reading *reading)
{
    return read_names(reading, &reading->body.fetches, &reading->body.fetch_count);
}

static bool
read_targets(Reading *reading)
{
    return read_names(reading, &reading->body.targets, &reading->body.target_count);
}

static bool
read_timeout(Reading *reading)
{
    if (!json_uint64(reading->scanner, &reading->body.timeout_ms)) {
        return false;
    }
    if (reading->body.timeout_ms == 0 || reading->body.timeout_ms > reading->limits->step_timeout_ms) {
        reading->limit = "step_timeout_ms";
        json_fault(reading->scanner, "out of range");
        return false;
    }
    reading->body.has_timeout = true;
    return true;
}

/* One word of a list; its position. */
static bool
read_word(Reading *reading, const char *const *words, size_t count, size_t *ret_index)
{
    Slice word;
    if (!json_string(reading->scanner, reading->call->arena, &word)) {
        return false;
    }
    for (size_t index = 0; index < count; index++) {
        if (slice_equals_string(word, words[index])) {
            *ret_index = index;
            return true;
        }
    }
    json_fault(reading->scanner, "none of the words that may stand here");
    return false;
}

static bool
read_trace(Reading *reading)
{
    static const char *const words[] = {"none", "partition", "node"};
    size_t index = 0;
    const bool is_read = read_word(reading, words, COUNT_OF(words), &index);
    reading->body.trace = (StepTraceKind)index;
    return is_read;
}

static bool
read_record(Reading *reading)
{
    static const char *const words[] = {"batched", "durable"};
    size_t index = 0;
    const bool is_read = read_word(reading, words, COUNT_OF(words), &index);
    reading->body.is_durable = index == 1;
    return is_read;
}

static bool
read_priority(Reading *reading)
{
    if (!json_int64(reading->scanner, &reading->body.priority)) {
        return false;
    }
    if (reading->body.priority < 0 || reading->body.priority > 2) {
        json_fault(reading->scanner, "a priority is 0, 1 or 2");
        return false;
    }
    return true;
}

static bool
read_idempotent(Reading *reading)
{
    return json_boolean(reading->scanner, &reading->body.is_idempotent);
}

static bool
read_options(Reading *reading)
{
    static const Member members[] = {
        {"timeout_ms", read_timeout},
        {"trace", read_trace},
        {"priority", read_priority},
        {"idempotent", read_idempotent},
        {"record", read_record},
    };
    return read_members(reading, members, COUNT_OF(members), "/options");
}

static bool
read_timeout_option(Reading *reading)
{
    static const Member members[] = {{"timeout_ms", read_timeout}};
    return read_members(reading, members, COUNT_OF(members), "/options");
}

static bool
read_partition_graphs(Reading *reading)
{
    return json_boolean(reading->scanner, &reading->body.wants_partition_graphs);
}

static bool
read_costs(Reading *reading)
{
    return json_boolean(reading->scanner, &reading->body.wants_costs);
}

/* --- The bodies ----------------------------------------------------------------------------------------- */

static const Member step_members[] = {
    {"graph", read_graph},
    {"feeds", read_feeds},
    {"fetches", read_fetches},
    {"targets", read_targets},
    {"options", read_options},
};

static const Member plan_members[] = {
    {"graph", read_graph},
    {"feeds", read_feeds},
    {"fetches", read_fetches},
    {"targets", read_targets},
    {"options", read_options},
    {"partition_graphs", read_partition_graphs},
    {"costs", read_costs},
};

static const Member partial_run_members[] = {
    {"graph", read_graph},
    {"feeds", read_feed_names},
    {"fetches", read_fetches},
    {"targets", read_targets},
    {"options", read_timeout_option},
};

static const Member continue_members[] = {
    {"feeds", read_feeds},
    {"fetches", read_fetches},
};

static const struct {
    const Member *members;
    size_t count;
    const char *fault;
} kinds[] = {
    [STEP_BODY_STEP] = {step_members, COUNT_OF(step_members), "the request is no step"},
    [STEP_BODY_PARTIAL_RUN] = {partial_run_members, COUNT_OF(partial_run_members),
        "the request is no partial run"},
    [STEP_BODY_CONTINUE] = {continue_members, COUNT_OF(continue_members),
        "the request does not continue a partial run"},
    [STEP_BODY_PLAN] = {plan_members, COUNT_OF(plan_members), "the request is no step"},
};

Status
step_body_read_as(Call *call, StepBodyKind kind, Slice json, const Limits *limits, StepBody *ret_body)
{
    JsonScanner scanner;
    Reading reading = {
        .call = call,
        .scanner = &scanner,
        .limits = limits,
        .body = {.timeout_ms = limits->step_timeout_default_ms, .priority = 1},
    };
    json_scan_begin(&scanner, json, (int)limits->json_depth);
    (void)read_members(&reading, kinds[kind].members, kinds[kind].count, "");
    if (json_scan_end(call, &scanner) != STATUS_OK) {
        const LimitField *const limit =
            reading.limit == NULL ? NULL : limit_find(slice_from_string(reading.limit));
        if (limit != NULL) {
            return call_fail(call, STATUS_OUT_OF_RANGE, "the limit %s is %llu %s", limit->name,
                (unsigned long long)limit_value(limits, limit), limit->unit);
        }
        return call_wrap(call, "%s", kinds[kind].fault);
    }
    *ret_body = reading.body;
    return STATUS_OK;
}

Status
step_body_read(Call *call, Slice json, const Limits *limits, StepBody *ret_body)
{
    return step_body_read_as(call, STEP_BODY_STEP, json, limits, ret_body);
}
