#include "gateway/sessions/session_options.h"

#include <stdio.h>
#include <string.h>

#include "gateway/optimise/optimise.h"
#include "shared/base/text.h"
#include "shared/json/reader.h"
#include "shared/json/scanner.h"

static const int64_t BYTES_MAX = ((int64_t)1 << 53) - 1; /* exact in every JSON reader */

typedef struct Document {
    const char *placement;
    int64_t slots;
    Slice passes_off;
    bool has_soft_placement;
    bool allows_tf32;
    int64_t step_memory_bytes;
    Slice worker_labels;
} Document;

static Status
read_placement(Call *call, const char *name, PlacementPolicy *ret_placement)
{
    if (!placement_from_name(slice_from_string(name), ret_placement)) {
        call_note(call, "/placement", "'%s' is none of 'local' and 'spread'", name);
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'placement' is not known");
    }
    return STATUS_OK;
}

static Status
add_pass(Call *call, Slice name, PassSet *set)
{
    if (pass_set_add(set, name)) {
        return STATUS_OK;
    }
    AUTO_BUFFER known = {0};
    pass_set_write_names(&known);
    return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no pass '%.*s': %.*s or '*' may be off",
        SLICE_PRINT(name), (int)known.size, known.data);
}

static Status
read_passes(Call *call, Slice json, PassSet *ret_set)
{
    JsonScanner scanner;
    json_scan_begin(&scanner, json, 1);
    for (bool has_more = json_array_begin(&scanner); has_more && json_array_next(&scanner);) {
        Slice name;
        if (json_string(&scanner, call->arena, &name)) {
            TRY(add_pass(call, name, ret_set));
        }
    }
    return json_scan_end(call, &scanner);
}

/* Writes {"zone": "a"} as "zone=a". */
static Status
read_labels(Call *call, Slice json, char ret_labels[LABELS_TEXT_SIZE])
{
    AUTO_BUFFER text = {0};
    JsonScanner scanner;
    Label label;
    json_scan_begin(&scanner, json, 1);
    for (bool has_more = json_object_begin(&scanner); has_more && json_object_next(&scanner, &label.key);) {
        if (json_string(&scanner, call->arena, &label.value)) {
            TRY(label_check(call, &label));
            buffer_append_format(&text, "%s%.*s=%.*s", text.size == 0 ? "" : ",", SLICE_PRINT(label.key),
                SLICE_PRINT(label.value));
        }
    }
    TRY(json_scan_end(call, &scanner));
    TRY(labels_check(call, buffer_slice(&text)));
    (void)snprintf(ret_labels, LABELS_TEXT_SIZE, "%.*s", SLICE_PRINT(buffer_slice(&text)));
    return buffer_is_ok(&text) ? STATUS_OK : call_fail_memory(call, "a session's labels");
}

Status
session_options_read(Call *call, Slice json, SessionOptions *ret_options)
{
    static const JsonMember members[] = {
        {"placement", JSON_STRING_COPY, .offset = offsetof(Document, placement)},
        {"slots", JSON_INT64, .offset = offsetof(Document, slots), .minimum = 1,
            .maximum = PLAN_SLOT_COUNT_MAX},
        {"soft_placement", JSON_BOOLEAN, .offset = offsetof(Document, has_soft_placement)},
        {"allow_tf32", JSON_BOOLEAN, .offset = offsetof(Document, allows_tf32)},
        {"passes_off", JSON_TEXT, .offset = offsetof(Document, passes_off)},
        {"step_memory_bytes", JSON_INT64, .offset = offsetof(Document, step_memory_bytes),
            .maximum = BYTES_MAX},
        {"worker_labels", JSON_TEXT, .offset = offsetof(Document, worker_labels)},
    };
    static const JsonTable table = JSON_TABLE("session options", members);
    Document document = {.placement = "local", .slots = 1};
    SessionOptions options = {0};
    TRY(json_document_read(call, json, &table, &document));
    TRY(read_placement(call, document.placement, &options.plan.placement));
    if (document.passes_off.data != NULL) {
        TRY(read_passes(call, document.passes_off, &options.plan.passes_off));
    }
    if (document.worker_labels.data != NULL) {
        TRY(read_labels(call, document.worker_labels, options.worker_labels));
    }
    options.plan.slot_count = (uint32_t)document.slots;
    options.plan.has_soft_placement = document.has_soft_placement;
    options.plan.allows_tf32 = document.allows_tf32;
    options.step_memory_bytes = (uint64_t)document.step_memory_bytes;
    *ret_options = options;
    return STATUS_OK;
}

typedef struct BodyDocument {
    const char *name;
    Slice options;
} BodyDocument;

static Status
check_options(Call *call, Slice json, const Limits *limits)
{
    SessionOptions options;
    TRY(session_options_read(call, json, &options));
    if (options.plan.slot_count > limits->session_slots) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "'slots' is %u, the limit session_slots is %llu",
            options.plan.slot_count, (unsigned long long)limits->session_slots);
    }
    return STATUS_OK;
}

Status
session_body_read(Call *call, Slice json, const Limits *limits, SessionBody *ret_body)
{
    static const JsonMember members[] = {
        {"name", JSON_STRING_COPY, .offset = offsetof(BodyDocument, name)},
        {"options", JSON_TEXT, .offset = offsetof(BodyDocument, options)},
    };
    static const JsonTable table = JSON_TABLE("a session", members);
    BodyDocument document = {0};
    if (json.size > 0) {
        TRY(json_document_read(call, json, &table, &document));
    }
    SessionBody body = {.name = document.name};
    if (body.name != NULL && strlen(body.name) > limits->name_bytes) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "'name' has %zu bytes, the limit name_bytes is %llu",
            strlen(body.name), (unsigned long long)limits->name_bytes);
    }
    if (document.options.data != NULL) {
        TRY(check_options(call, document.options, limits));
        body.options = text_copy(call->arena, document.options);
        if (body.options == NULL) {
            return call_fail_memory(call, "a session's options");
        }
    }
    *ret_body = body;
    return STATUS_OK;
}
