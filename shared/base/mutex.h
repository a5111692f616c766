/* Mutexes and condition variables. A call that fails is a mistake of ours (a mutex destroyed while it is
 * held, unlocked by a thread that does not hold it) and ends the program. Conditions wait on the monotonic
 * clock.
 *
 * Ownership: mutex_init() … mutex_done(), condition_init() … condition_done(); a static mutex is
 *            MUTEX_INITIALIZER.
 * Threads:   any. Who waits for a condition holds the mutex, and does so in a loop: it may wake without a
 *            reason. */
#pragma once

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef pthread_mutex_t Mutex;
typedef pthread_cond_t Condition;

#define MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER

void mutex_init(Mutex *mutex);
void mutex_done(Mutex *mutex);

static inline void
mutex_lock(Mutex *mutex)
{
    int code = pthread_mutex_lock(mutex);
    assert(code == 0);
}

static inline void
mutex_unlock(Mutex *mutex)
{
    int code = pthread_mutex_unlock(mutex);
    assert(code == 0);
}

void condition_init(Condition *condition);
void condition_done(Condition *condition);
void condition_signal(Condition *condition);    /* wakes one waiter */
void condition_broadcast(Condition *condition); /* wakes all */
void condition_wait(Condition *condition, Mutex *mutex);

/* Returns false when `end_ns` of the monotonic clock has come (CONDITION_FOREVER: never). */
#define CONDITION_FOREVER ((uint64_t)INT64_MAX)
bool condition_wait_until(Condition *condition, Mutex *mutex, uint64_t end_ns);
