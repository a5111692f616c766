#include "gateway/traces/trace_clock.h"

/* The least time by which the receiver's run began later than the sender's. */
typedef struct Lag {
    size_t sender;
    size_t receiver;
    int64_t ns;
} Lag;

/* The lags between all slots that tensors went between. */
typedef struct Lags {
    Lag *items;
    size_t count;
    size_t *latest; /* by sender, of the receiver whose rows are looked at: 1 + its position in `items`; 0:
                       none */
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
    for (size_t index = 0; index < slot->trace.activity_count; index++) {
        WireTraceActivity *activity = &slot->trace.activities[index];
        activity->end_ns = lesser_of(activity->end_ns, slot->trace.elapsed_ns);
        activity->start_ns = lesser_of(activity->start_ns, activity->end_ns);
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

/* Returns no fewer than there are pairs of slots with a transfer. */
static size_t
receives_count(const SlotRows *slots, size_t slot_count)
{
    size_t count = 0;
    for (size_t slot = 0; slot < slot_count; slot++) {
        for (size_t index = 0; index < slots[slot].trace.row_count; index++) {
            count += trace_is_transfer(&slots[slot].trace, &slots[slot].trace.rows[index], "_Recv");
        }
    }
    return count < slot_count * slot_count ? count : slot_count * slot_count;
}

static Lag *
lag_obtain(Lags *lags, size_t sender, size_t receiver)
{
    size_t *position = &lags->latest[sender];
    if (*position == 0) {
        lags->items[lags->count++] = (Lag){.sender = sender, .receiver = receiver, .ns = INT64_MIN};
        *position = lags->count;
    }
    return &lags->items[*position - 1];
}

static void
lags_note(Lags *lags, const Map *sends, const SlotRows *slots, size_t slot)
{
    const WireTrace *trace = &slots[slot].trace;
    size_t first = lags->count;
    for (size_t index = 0; index < trace->row_count; index++) {
        const WireTraceRow *row = &trace->rows[index];
        bool is_receive = trace_is_transfer(trace, row, "_Recv");
        const TraceSent *sent = is_receive ? map_get(sends, row->key) : NULL;
        if (sent != NULL && sent->slot != slot) {
            Lag *lag = lag_obtain(lags, sent->slot, slot);
            int64_t wanted = (int64_t)sent->row->start_ns - (int64_t)row->end_ns;
            lag->ns = wanted > lag->ns ? wanted : lag->ns;
        }
    }
    for (size_t index = first; index < lags->count; index++) {
        lags->latest[lags->items[index].sender] = 0;
    }
}

/* Moves a receiver later if its sender requires it, within its own bounds. Returns whether it moved. */
static bool
receiver_move(const Lag *lag, SlotRows *slots, const uint64_t *latest_ns)
{
    int64_t wanted = (int64_t)slots[lag->sender].offset_ns + lag->ns;
    int64_t allowed = (int64_t)latest_ns[lag->receiver];
    int64_t offset = wanted < allowed ? wanted : allowed;
    if (offset <= (int64_t)slots[lag->receiver].offset_ns) {
        return false;
    }
    slots[lag->receiver].offset_ns = (uint64_t)offset;
    return true;
}

/* Finds the least offsets by Bellman and Ford: no chain of slots that move each other is longer than their
 * number. */
static void
offsets_find(const Lags *lags, SlotRows *slots, size_t slot_count, uint64_t *latest_ns)
{
    bool has_moved = true;
    for (size_t slot = 0; slot < slot_count; slot++) {
        latest_ns[slot] = slots[slot].offset_ns + (slots[slot].room_ns - slots[slot].trace.elapsed_ns);
    }
    for (size_t round = 0; round < slot_count && has_moved; round++) {
        has_moved = false;
        for (size_t index = 0; index < lags->count; index++) {
            has_moved |= receiver_move(&lags->items[index], slots, latest_ns);
        }
    }
}

bool
trace_clock_align(Arena *arena, SlotRows *slots, size_t slot_count)
{
    AUTO_MAP sends = map_new();
    for (size_t slot = 0; slot < slot_count; slot++) {
        rows_clamp(&slots[slot]);
    }
    Lags lags = {.items = arena_alloc(arena, (receives_count(slots, slot_count) + 1) * sizeof *lags.items),
        .latest = arena_alloc(arena, (slot_count + 1) * sizeof *lags.latest)};
    uint64_t *latest_ns = arena_alloc(arena, (slot_count + 1) * sizeof *latest_ns);
    if (lags.items == NULL || lags.latest == NULL || latest_ns == NULL || sends == NULL ||
        !trace_sends_find(arena, slots, slot_count, sends)) {
        return false;
    }
    for (size_t slot = 0; slot < slot_count; slot++) {
        lags_note(&lags, sends, slots, slot);
    }
    offsets_find(&lags, slots, slot_count, latest_ns);
    return true;
}
