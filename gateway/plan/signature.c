#include "gateway/plan/signature.h"

#include <assert.h>
#include <stdlib.h>

#include "shared/base/buffer.h"
#include "shared/base/text.h"

static const char *const placement_names[] = {[PLACEMENT_LOCAL] = "local", [PLACEMENT_SPREAD] = "spread"};

bool
placement_from_name(Slice name, PlacementPolicy *ret_placement)
{
    for (size_t index = 0; index < COUNT_OF(placement_names); index++) {
        if (slice_equals_string(name, placement_names[index])) {
            *ret_placement = (PlacementPolicy)index;
            return true;
        }
    }
    return false;
}

const char *
placement_name(PlacementPolicy placement)
{
    assert((size_t)placement < COUNT_OF(placement_names));
    return placement_names[placement];
}

static int
compare_names(const void *left, const void *right)
{
    return slice_compare(*(const Slice *)left, *(const Slice *)right);
}

static int
compare_feeds(const void *left, const void *right)
{
    return slice_compare(((const SignatureFeed *)left)->name, ((const SignatureFeed *)right)->name);
}

static Status
sort_names(Call *call, const Slice *given, size_t count, const Slice **ret_names, size_t *ret_count)
{
    Slice *names = arena_alloc(call->arena, count * sizeof *names);
    if (names == NULL) {
        return call_fail_memory(call, "a signature");
    }
    if (count > 0) {
        memcpy(names, given, count * sizeof *names);
        qsort(names, count, sizeof *names, compare_names);
    }
    size_t kept = 0;
    for (size_t index = 0; index < count; index++) {
        if (kept == 0 || !slice_equal(names[index], names[kept - 1])) {
            names[kept++] = names[index];
        }
    }
    *ret_names = names;
    *ret_count = kept;
    return STATUS_OK;
}

static Status
sort_feeds(Call *call, const Signature *given, Signature *signature)
{
    size_t count = given->feed_count;
    SignatureFeed *feeds = arena_alloc(call->arena, count * sizeof *feeds);
    if (feeds == NULL) {
        return call_fail_memory(call, "a signature");
    }
    if (count > 0) {
        memcpy(feeds, given->feeds, count * sizeof *feeds);
        qsort(feeds, count, sizeof *feeds, compare_feeds);
    }
    for (size_t index = 1; index < count; index++) {
        if (slice_equal(feeds[index].name, feeds[index - 1].name)) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "feed '%.*s' is given twice", SLICE_PRINT(feeds[index].name));
        }
    }
    signature->feeds = feeds;
    signature->feed_count = count;
    return STATUS_OK;
}

/* Writes the name behind its length, so that no name can look like two. */
static void
append_name(Buffer *buffer, char kind, Slice name)
{
    buffer_append_byte(buffer, kind);
    buffer_append_uint64(buffer, name.size);
    buffer_append_byte(buffer, ':');
    buffer_append_slice(buffer, name);
}

static void
append_feed(Buffer *buffer, const SignatureFeed *feed)
{
    char shape[SHAPE_TEXT_SIZE];
    append_name(buffer, '<', feed->name);
    buffer_append_string(buffer, dtype_name(feed->dtype));
    buffer_append_string(buffer, shape_text(&feed->shape, shape));
}

static Status
write_key(Call *call, Slice graph, Signature *signature)
{
    AUTO_BUFFER buffer = {0};
    append_name(&buffer, 'g', graph);
    buffer_append_string(&buffer, placement_name(signature->options.placement));
    buffer_append_byte(&buffer, ',');
    buffer_append_uint64(&buffer, signature->options.slot_count);
    buffer_append_string(&buffer, signature->options.has_soft_placement ? ",1," : ",0,");
    buffer_append_string(&buffer, signature->options.allows_tf32 ? "1," : "0,");
    buffer_append_uint64(&buffer, signature->options.passes_off);
    for (size_t index = 0; index < signature->feed_count; index++) {
        append_feed(&buffer, &signature->feeds[index]);
    }
    for (size_t index = 0; index < signature->fetch_count; index++) {
        append_name(&buffer, '>', signature->fetches[index]);
    }
    for (size_t index = 0; index < signature->target_count; index++) {
        append_name(&buffer, '!', signature->targets[index]);
    }
    const char *key = buffer_is_ok(&buffer) ? text_copy(call->arena, buffer_slice(&buffer)) : NULL;
    if (key == NULL) {
        return call_fail_memory(call, "a signature");
    }
    signature->key = slice_of(key, buffer.size);
    return STATUS_OK;
}

Status
signature_make(Call *call, Slice graph, const Signature *given, Signature *ret_signature)
{
    uint32_t slot_count = given->options.slot_count;
    assert(call->arena != NULL);
    if (given->fetch_count == 0 && given->target_count == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a step needs at least one fetch or target");
    }
    if (slot_count < 1 || slot_count > PLAN_SLOT_COUNT_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%u slots are asked for, from 1 to %d are possible",
            slot_count, PLAN_SLOT_COUNT_MAX);
    }
    Signature signature = {.options = given->options};
    TRY(sort_feeds(call, given, &signature));
    TRY(sort_names(call, given->fetches, given->fetch_count, &signature.fetches, &signature.fetch_count));
    TRY(sort_names(call, given->targets, given->target_count, &signature.targets, &signature.target_count));
    TRY(write_key(call, graph, &signature));
    *ret_signature = signature;
    return STATUS_OK;
}

bool
signature_key_is_of(Slice key, Slice graph)
{
    size_t colon = slice_find(key, ':');
    uint64_t size = 0;
    return slice_starts_with(key, SLICE("g")) && slice_to_uint64(slice_part(key, 1, colon - 1), &size) &&
           size == graph.size && slice_equal(slice_part(key, colon + 1, graph.size), graph);
}

bool
signature_find_feed(const Signature *signature, Slice name, size_t *ret_index)
{
    SignatureFeed wanted = {.name = name};
    const SignatureFeed *found =
        bsearch(&wanted, signature->feeds, signature->feed_count, sizeof wanted, compare_feeds);
    if (found != NULL) {
        *ret_index = (size_t)(found - signature->feeds);
    }
    return found != NULL;
}

bool
signature_find_name(const Slice *names, size_t count, Slice name, size_t *ret_index)
{
    const Slice *found = bsearch(&name, names, count, sizeof name, compare_names);
    if (found != NULL) {
        *ret_index = (size_t)(found - names);
    }
    return found != NULL;
}

bool
signature_find_fetch(const Signature *signature, Slice name, size_t *ret_index)
{
    return signature_find_name(signature->fetches, signature->fetch_count, name, ret_index);
}
