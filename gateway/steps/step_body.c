#include "gateway/steps/step_body.h"

#include <stddef.h>

#include "shared/json/reader.h"

/* The context of a JsonReader. */
typedef struct BodyReading {
    const Limits *limits;
    const char *limit; /* the name of the limit that was passed */
} BodyReading;

/* Reads a list or map of at most `count_max` items, and notes the limit's name when there are more. */
static Status
read_limited_list(JsonReader *reader, JsonList list, uint64_t count_max, const char *limit, void *target)
{
    BodyReading *reading = reader->context;
    list.count_max = (size_t)count_max;
    list.too_many = "too many";
    Status status = json_read_list(reader, &list, target);
    if (reader->passed == &list) {
        reading->limit = limit;
    }
    reader->passed = NULL;
    return status;
}

_Static_assert(offsetof(StepBody, feed_count) == offsetof(StepBody, feeds) + sizeof(void *) &&
                   offsetof(StepBody, fetch_count) == offsetof(StepBody, fetches) + sizeof(void *) &&
                   offsetof(StepBody, target_count) == offsetof(StepBody, targets) + sizeof(void *) &&
                   offsetof(StepBody, part_count) == offsetof(StepBody, parts) + sizeof(void *),
    "lists are a pointer and a count behind it");

/* Reads feeds by name; their values stay text. */
static Status
read_feeds(JsonReader *reader, const JsonMember *member, void *target)
{
    const BodyReading *reading = reader->context;
    JsonList list = {
        .item = {.type = JSON_TEXT, .offset = offsetof(StepFeedText, json)},
        .item_size = sizeof(StepFeedText),
        .is_map = true,
    };
    (void)member;
    return read_limited_list(reader, list, reading->limits->step_feeds, "step_feeds", target);
}

static Status
read_feed_names(JsonReader *reader, const JsonMember *member, void *target)
{
    const BodyReading *reading = reader->context;
    JsonList list = {
        .item = {.type = JSON_SLICE, .offset = offsetof(StepFeedText, name)},
        .item_size = sizeof(StepFeedText),
    };
    (void)member;
    return read_limited_list(reader, list, reading->limits->step_feeds, "step_feeds", target);
}

static Status
read_names(JsonReader *reader, const JsonMember *member, void *target)
{
    const BodyReading *reading = reader->context;
    JsonList list = {.item = {.type = JSON_SLICE}, .item_size = sizeof(Slice)};
    (void)member;
    return read_limited_list(reader, list, reading->limits->step_fetches, "step_fetches", target);
}

static Status
read_parts(JsonReader *reader, const JsonMember *member, void *target)
{
    const BodyReading *reading = reader->context;
    JsonList list = {.item = {.type = JSON_SLICE}, .item_size = sizeof(Slice)};
    (void)member;
    return read_limited_list(reader, list, reading->limits->step_feeds, "step_feeds", target);
}

static Status
read_timeout(JsonReader *reader, const JsonMember *member, void *target)
{
    BodyReading *reading = reader->context;
    StepBody *body = target;
    (void)member;
    if (!json_uint64(reader->scanner, &body->timeout_ms)) {
        return json_reader_fault(reader);
    }
    if (body->timeout_ms == 0 || body->timeout_ms > reading->limits->step_timeout_ms) {
        reading->limit = "step_timeout_ms";
        return json_reader_refuse(reader, "out of range");
    }
    body->has_timeout = true;
    return STATUS_OK;
}

/* Reads one of `words` as its index. */
static Status
read_word(JsonReader *reader, const char *const *words, size_t count, size_t *ret_index)
{
    Slice word;
    if (!json_string(reader->scanner, reader->call->arena, &word)) {
        return json_reader_fault(reader);
    }
    for (size_t index = 0; index < count; index++) {
        if (slice_equals_string(word, words[index])) {
            *ret_index = index;
            return STATUS_OK;
        }
    }
    return json_reader_refuse(reader, "none of the words that may stand here");
}

static Status
read_trace(JsonReader *reader, const JsonMember *member, void *target)
{
    static const char *const words[] = {"none", "partition", "node"};
    size_t index = 0;
    (void)member;
    TRY(read_word(reader, words, COUNT_OF(words), &index));
    *(StepTraceKind *)target = (StepTraceKind)index;
    return STATUS_OK;
}

static Status
read_record(JsonReader *reader, const JsonMember *member, void *target)
{
    static const char *const words[] = {"batched", "durable"};
    size_t index = 0;
    (void)member;
    TRY(read_word(reader, words, COUNT_OF(words), &index));
    *(bool *)target = index == 1;
    return STATUS_OK;
}

static Status
read_priority(JsonReader *reader, const JsonMember *member, void *target)
{
    int64_t *priority = target;
    (void)member;
    if (!json_int64(reader->scanner, priority)) {
        return json_reader_fault(reader);
    }
    return *priority >= 0 && *priority <= 2 ? STATUS_OK
                                            : json_reader_refuse(reader, "a priority is 0, 1 or 2");
}

static const JsonMember option_members[] = {
    {"timeout_ms", .read = read_timeout},
    {"trace", .offset = offsetof(StepBody, trace), .read = read_trace},
    {"priority", .offset = offsetof(StepBody, priority), .read = read_priority},
    {"idempotent", JSON_BOOLEAN, .offset = offsetof(StepBody, is_idempotent)},
    {"record", .offset = offsetof(StepBody, is_durable), .read = read_record},
};
static const JsonTable options = {
    .pointer = "/options", .members = option_members, .member_count = COUNT_OF(option_members)};
static const JsonTable timeout_option = {
    .pointer = "/options", .members = &option_members[0], .member_count = 1};

static const JsonMember step_members[] = {
    {"graph", JSON_SLICE, .offset = offsetof(StepBody, graph)},
    {"feeds", .offset = offsetof(StepBody, feeds), .read = read_feeds},
    {"fetches", .offset = offsetof(StepBody, fetches), .read = read_names},
    {"targets", .offset = offsetof(StepBody, targets), .read = read_names},
    {"parts", .offset = offsetof(StepBody, parts), .read = read_parts},
    {"options", JSON_STRUCT, .table = &options},
};

static const JsonMember plan_members[] = {
    {"graph", JSON_SLICE, .offset = offsetof(StepBody, graph)},
    {"feeds", .offset = offsetof(StepBody, feeds), .read = read_feeds},
    {"fetches", .offset = offsetof(StepBody, fetches), .read = read_names},
    {"targets", .offset = offsetof(StepBody, targets), .read = read_names},
    {"options", JSON_STRUCT, .table = &options},
    {"partition_graphs", JSON_BOOLEAN, .offset = offsetof(StepBody, wants_partition_graphs)},
    {"costs", JSON_BOOLEAN, .offset = offsetof(StepBody, wants_costs)},
};

static const JsonMember partial_run_members[] = {
    {"graph", JSON_SLICE, .offset = offsetof(StepBody, graph)},
    {"feeds", .offset = offsetof(StepBody, feeds), .read = read_feed_names},
    {"fetches", .offset = offsetof(StepBody, fetches), .read = read_names},
    {"targets", .offset = offsetof(StepBody, targets), .read = read_names},
    {"options", JSON_STRUCT, .table = &timeout_option},
};

static const JsonMember continue_members[] = {
    {"feeds", .offset = offsetof(StepBody, feeds), .read = read_feeds},
    {"fetches", .offset = offsetof(StepBody, fetches), .read = read_names},
};

static const struct {
    JsonTable table;
    const char *fault;
} kinds[] = {
    [STEP_BODY_STEP] = {JSON_TABLE("a step", step_members), "the request is no step"},
    [STEP_BODY_PARTIAL_RUN] = {JSON_TABLE("a partial run", partial_run_members),
        "the request is no partial run"},
    [STEP_BODY_CONTINUE] = {JSON_TABLE("a partial run", continue_members),
        "the request does not continue a partial run"},
    [STEP_BODY_PLAN] = {JSON_TABLE("a step", plan_members), "the request is no step"},
};

/* Tells why reading failed: by the limit that was passed, or by where the text is wrong. */
static Status
explain_failure(Call *call, const BodyReading *reading, StepBodyKind kind)
{
    const LimitField *limit = reading->limit == NULL ? NULL : limit_find(slice_from_string(reading->limit));
    if (limit != NULL) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "the limit %s is %llu %s", limit->name,
            (unsigned long long)limit_value(reading->limits, limit), limit->unit);
    }
    return call_wrap(call, "%s", kinds[kind].fault);
}

Status
step_body_read_as(Call *call, StepBodyKind kind, Slice json, const Limits *limits, StepBody *ret_body)
{
    static const JsonDialect dialect = {.unknown = JSON_UNKNOWN_IS_NOTED};
    BodyReading reading = {.limits = limits};
    StepBody body = {.timeout_ms = limits->step_timeout_default_ms, .priority = 1};
    JsonScanner scanner;
    JsonReader reader = {.call = call, .scanner = &scanner, .dialect = &dialect, .context = &reading};
    json_scan_begin(&scanner, json, (int)limits->json_depth);
    if (json_read_object(&reader, &kinds[kind].table, &body) != STATUS_OK ||
        json_scan_end(call, &scanner) != STATUS_OK) {
        return explain_failure(call, &reading, kind);
    }
    *ret_body = body;
    return STATUS_OK;
}

Status
step_body_read(Call *call, Slice json, const Limits *limits, StepBody *ret_body)
{
    return step_body_read_as(call, STEP_BODY_STEP, json, limits, ret_body);
}
