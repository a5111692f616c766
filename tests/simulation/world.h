/* A world for dispatch: workers that are slow, forget, restart and die, and the steps of clients, on one
 * thread. The workers answer through fake_upstream.h. There is one world at a time. */
#pragma once

#include "gateway/dispatch/step.h"
#include "tests/simulation/chance.h"

enum {
    WORKERS = 4,
    STEPS = 120,
    SLOTS_MAX = 2,
    PARTITIONS = 3,
    DEADLINE_GRACE_MS = 200, /* the time that dispatch gives workers to report what nodes waited for */
};

/* Rates of failures: one in so many; 0: never. */
typedef struct Weather {
    uint64_t loss;   /* calls that are not answered */
    uint64_t crash;  /* milliseconds in which one of the workers crashes */
    uint64_t forget; /* runs whose partition is forgotten */
    uint64_t cancel; /* steps that are cancelled by their client */
    uint64_t hang;   /* steps that do not end by themselves */
    uint64_t renew;  /* milliseconds in which a worker becomes another process, while nobody speaks with it */
    bool lacks_one;  /* one worker is down all the time, and discovery does not know */
    uint64_t silence; /* milliseconds until the gateway notices that a worker is down */
} Weather;

typedef struct FakeWorker {
    char address[32];
    uint64_t incarnation;
    bool is_up;
    uint64_t up_ns;   /* when it comes back */
    uint64_t told_ns; /* when discovery reports it; 0: it has */
    bool knows[PARTITIONS];
} FakeWorker;

typedef struct FakeStep {
    uint64_t begin_ns;
    uint64_t deadline_ns;
    uint64_t cancel_ns; /* 0: never */
    uint64_t end_ns;    /* 0: not yet */
    StepId id;
    StepRun *run;
    bool is_pure;
    bool hangs;
    int failing_slot; /* the slot whose node fails; -1: none */
    int begun[SLOTS_MAX];
    int outputs[SLOTS_MAX];
    size_t slot_count;
    int done_count;
    Status status;
    int64_t attempt;
} FakeStep;

typedef struct World {
    Weather weather;
    Loop *loop;
    Directory *directory;
    Dispatcher *dispatcher;
    FakeWorker workers[WORKERS];
    FakeStep steps[STEPS];
} World;

extern World world;

void world_open(const Weather *weather);
void world_play(void); /* plays until every step must have ended */
void world_close(void);
