/* Limits on the frames that cost us work and carry nothing: a bucket of tokens for each kind, filled with
 * time. The library itself bounds CONTINUATION and the entries of one SETTINGS. It skips frames of unknown
 * type without telling us: they cost their bytes and are not bounded.
 *
 * Ownership: a plain value inside its session.
 * Threads:   the connection's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum FloodKind {
    FLOOD_NONE,     /* requests and bodies: bounded by streams and windows */
    FLOOD_CONTROL,  /* PING, SETTINGS, PRIORITY, GOAWAY, empty DATA, refusals */
    FLOOD_WINDOW,   /* WINDOW_UPDATE: each DATA frame of ours earns more of them */
    FLOOD_RESET,    /* RST_STREAM received: CVE-2023-44487 */
    FLOOD_PROVOKED, /* RST_STREAM that the peer's errors made us send: CVE-2025-8671 */
    FLOOD_KINDS,
} FloodKind;

typedef struct FloodBucket {
    double tokens;
    double burst;
    double per_second;
    uint64_t filled_ns;
} FloodBucket;

typedef struct Flood {
    FloodBucket buckets[FLOOD_KINDS];
} Flood;

/* Fills the buckets. Every concurrent stream may be reset at once: a caller that gives up its work is no
 * attacker. */
void flood_init(Flood *flood, size_t stream_count_max, uint64_t now_ns);

/* Returns the kind that a frame with this header counts as. */
FloodKind flood_kind(uint8_t type, uint8_t flags, size_t length);

/* Takes a token. Returns false when none is left: the peer is flooding us. */
bool flood_take(Flood *flood, FloodKind kind, uint64_t now_ns);

/* Adds tokens for a DATA frame that went out: the peer may answer with window updates. */
void flood_earn_window(Flood *flood);
