#include "shared/base/mutex.h"

#include <errno.h>
#include <time.h>

#include "shared/base/clock.h"

void
mutex_init(Mutex *mutex)
{
    int code = pthread_mutex_init(mutex, NULL);
    assert(code == 0);
}

void
mutex_done(Mutex *mutex)
{
    int code = pthread_mutex_destroy(mutex);
    assert(code == 0);
}

void
condition_init(Condition *condition)
{
    pthread_condattr_t attributes;
    int code = pthread_condattr_init(&attributes);
    code |= pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    code |= pthread_cond_init(condition, &attributes);
    code |= pthread_condattr_destroy(&attributes);
    assert(code == 0);
}

void
condition_done(Condition *condition)
{
    int code = pthread_cond_destroy(condition);
    assert(code == 0);
}

void
condition_signal(Condition *condition)
{
    int code = pthread_cond_signal(condition);
    assert(code == 0);
}

void
condition_broadcast(Condition *condition)
{
    int code = pthread_cond_broadcast(condition);
    assert(code == 0);
}

void
condition_wait(Condition *condition, Mutex *mutex)
{
    int code = pthread_cond_wait(condition, mutex);
    assert(code == 0);
}

bool
condition_wait_until(Condition *condition, Mutex *mutex, uint64_t end_ns)
{
    struct timespec end = {
        .tv_sec = (time_t)(end_ns / CLOCK_NS_PER_S), .tv_nsec = (long)(end_ns % CLOCK_NS_PER_S)};
    int code = pthread_cond_timedwait(condition, mutex, &end);
    assert(code == 0 || code == ETIMEDOUT);
    return code == 0;
}
