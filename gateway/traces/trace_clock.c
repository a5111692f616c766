#include "gateway/traces/trace_clock.h"

#include <assert.h>

#include "shared/wire/messages.h"

static const int64_t LAG_NONE = INT64_MIN;

/* Lags by [sender][receiver]: how much later than the sender's run the receiver's run began, at least. */
typedef struct Lags {
    int64_t ns[SLOT_COUNT_MAX][SLOT_COUNT_MAX];
} Lags;

static uint64_t
lesser_of(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

static void
rows_clamp(SlotRows *slot)
{
    slot->trace.elapsed_ns = lesser_of(slot->trace.elapsed_ns, slot->room_ns);
    for (size_t index = 0; index < slot->trace.row_count; index++) {
        WireTraceRow *row = &slot->trace.rows[index];
        row->end_ns = lesser_of(row->end_ns, slot->trace.elapsed_ns);
        row->start_ns = lesser_of(row->start_ns, row->end_ns);
        row->scheduled_ns = lesser_of(row->scheduled_ns, row->start_ns);
    }
}

bool
trace_is_transfer(const WireTrace *trace, const WireTraceRow *row, const char *op)
{
    return row->key.size > 0 && slice_equals_string(trace->nodes[row->node].op, op);
}

static bool
sends_note(Map *sends, Arena *arena, const SlotRows *slots, size_t slot)
{
    const WireTrace *trace = &slots[slot].trace;
    for (size_t index = 0; index < trace->row_count; index++) {
        const WireTraceRow *row = &trace->rows[index];
        if (!trace_is_transfer(trace, row, "_Send")) {
            continue;
        }
        TraceSent *sent = arena_alloc(arena, sizeof *sent);
        if (sent == NULL) {
            return false;
        }
        *sent = (TraceSent){.slot = slot, .row = row};
        if (!map_put(sends, row->key, sent)) {
            return false;
        }
    }
    return true;
}

bool
trace_sends_find(Arena *arena, const SlotRows *slots, size_t slot_count, Map *sends)
{
    bool is_noted = true;
    for (size_t slot = 0; slot < slot_count && is_noted; slot++) {
        is_noted = sends_note(sends, arena, slots, slot);
    }
    return is_noted;
}

static void
lags_clear(Lags *lags)
{
    for (size_t sender = 0; sender < SLOT_COUNT_MAX; sender++) {
        for (size_t receiver = 0; receiver < SLOT_COUNT_MAX; receiver++) {
            lags->ns[sender][receiver] = LAG_NONE;
        }
    }
}

static void
lags_note(Lags *lags, const Map *sends, const SlotRows *slots, size_t slot)
{
    const WireTrace *trace = &slots[slot].trace;
    for (size_t index = 0; index < trace->row_count; index++) {
        const WireTraceRow *row = &trace->rows[index];
        bool is_receive = trace_is_transfer(trace, row, "_Recv");
        const TraceSent *sent = is_receive ? map_get(sends, row->key) : NULL;
        if (sent != NULL && sent->slot != slot) {
            int64_t *lag = &lags->ns[sent->slot][slot];
            int64_t wanted = (int64_t)sent->row->start_ns - (int64_t)row->end_ns;
            *lag = wanted > *lag ? wanted : *lag;
        }
    }
}

/* Moves a receiver later if its sender requires it, within its own bounds. Returns whether it moved. */
static bool
receiver_move(const Lags *lags, SlotRows *slots, const uint64_t *latest_ns, size_t sender, size_t receiver)
{
    int64_t lag = lags->ns[sender][receiver];
    if (lag == LAG_NONE) {
        return false;
    }
    int64_t wanted = (int64_t)slots[sender].offset_ns + lag;
    int64_t allowed = (int64_t)latest_ns[receiver];
    int64_t offset = wanted < allowed ? wanted : allowed;
    if (offset <= (int64_t)slots[receiver].offset_ns) {
        return false;
    }
    slots[receiver].offset_ns = (uint64_t)offset;
    return true;
}

/* Finds the least offsets by Bellman and Ford: no chain of slots that move each other is longer than their
 * number. */
static void
offsets_find(const Lags *lags, SlotRows *slots, size_t slot_count)
{
    uint64_t latest_ns[SLOT_COUNT_MAX];
    bool has_moved = true;
    for (size_t slot = 0; slot < slot_count; slot++) {
        latest_ns[slot] = slots[slot].offset_ns + (slots[slot].room_ns - slots[slot].trace.elapsed_ns);
    }
    for (size_t round = 0; round < slot_count && has_moved; round++) {
        has_moved = false;
        for (size_t pair = 0; pair < slot_count * slot_count; pair++) {
            has_moved |= receiver_move(lags, slots, latest_ns, pair / slot_count, pair % slot_count);
        }
    }
}

bool
trace_clock_align(Arena *arena, SlotRows *slots, size_t slot_count)
{
    assert(slot_count <= SLOT_COUNT_MAX);

    AUTO_MAP sends = map_new();
    Lags lags;
    lags_clear(&lags);
    for (size_t slot = 0; slot < slot_count; slot++) {
        rows_clamp(&slots[slot]);
    }
    if (sends == NULL || !trace_sends_find(arena, slots, slot_count, sends)) {
        return false;
    }
    for (size_t slot = 0; slot < slot_count; slot++) {
        lags_note(&lags, sends, slots, slot);
    }
    offsets_find(&lags, slots, slot_count);
    return true;
}
