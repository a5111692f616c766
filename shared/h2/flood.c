#include "shared/h2/flood.h"

#include <assert.h>
#include <nghttp2/nghttp2.h>

#include "shared/base/compiler.h"

enum { RESET_BURST_MIN = 100 };

static const FloodBucket buckets_of_kinds[FLOOD_KINDS] = {
    [FLOOD_CONTROL] = {.burst = 1000, .per_second = 100},
    [FLOOD_WINDOW] = {.burst = 10000, .per_second = 1000},
    [FLOOD_RESET] = {.burst = RESET_BURST_MIN, .per_second = 100},
    [FLOOD_PROVOKED] = {.burst = 50, .per_second = 5},
};

/* the window updates of the stream and of the connection */
static const double window_updates_per_data = 2;

void
flood_init(Flood *flood, size_t stream_count_max, uint64_t now_ns)
{
    for (size_t kind = 0; kind < FLOOD_KINDS; kind++) {
        FloodBucket *bucket = &flood->buckets[kind];
        *bucket = buckets_of_kinds[kind];
        if (kind == FLOOD_RESET && stream_count_max > RESET_BURST_MIN) {
            bucket->burst = (double)stream_count_max;
        }
        bucket->tokens = bucket->burst;
        bucket->filled_ns = now_ns;
    }
}

FloodKind
flood_kind(uint8_t type, uint8_t flags, size_t length)
{
    static const FloodKind kinds[] = {
        [NGHTTP2_DATA] = FLOOD_NONE,
        [NGHTTP2_HEADERS] = FLOOD_NONE,
        [NGHTTP2_PRIORITY] = FLOOD_CONTROL,
        [NGHTTP2_RST_STREAM] = FLOOD_RESET,
        [NGHTTP2_SETTINGS] = FLOOD_CONTROL,
        [NGHTTP2_PUSH_PROMISE] = FLOOD_CONTROL,
        [NGHTTP2_PING] = FLOOD_CONTROL,
        [NGHTTP2_GOAWAY] = FLOOD_CONTROL,
        [NGHTTP2_WINDOW_UPDATE] = FLOOD_WINDOW,
        [NGHTTP2_CONTINUATION] = FLOOD_NONE,
    };
    if (type == NGHTTP2_DATA) {
        bool is_empty = length == 0 || (flags & NGHTTP2_FLAG_PADDED) != 0;
        bool is_last = (flags & NGHTTP2_FLAG_END_STREAM) != 0;
        return is_empty && !is_last ? FLOOD_CONTROL : FLOOD_NONE;
    }
    return type < COUNT_OF(kinds) ? kinds[type] : FLOOD_CONTROL;
}

static void
bucket_fill(FloodBucket *bucket, double tokens)
{
    bucket->tokens += tokens;
    if (bucket->tokens > bucket->burst) {
        bucket->tokens = bucket->burst;
    }
}

bool
flood_take(Flood *flood, FloodKind kind, uint64_t now_ns)
{
    assert(kind < FLOOD_KINDS);

    if (kind == FLOOD_NONE) {
        return true;
    }
    FloodBucket *bucket = &flood->buckets[kind];
    bucket_fill(bucket, (double)(now_ns - bucket->filled_ns) * 1e-9 * bucket->per_second);
    bucket->filled_ns = now_ns;
    bucket->tokens -= 1;
    return bucket->tokens >= 0;
}

void
flood_earn_window(Flood *flood)
{
    bucket_fill(&flood->buckets[FLOOD_WINDOW], window_updates_per_data);
}
