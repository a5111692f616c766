/* A wall clock that is WRONG_CLOCK_S seconds ahead, for LD_PRELOAD. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int
clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    long result = syscall(SYS_clock_gettime, clock, ret_time);
    const char *ahead = getenv("WRONG_CLOCK_S");
    if (result == 0 && clock == CLOCK_REALTIME && ahead != NULL) {
        ret_time->tv_sec += atol(ahead);
    }
    return (int)result;
}
