/* A wall clock that is WRONG_CLOCK_S seconds ahead, for LD_PRELOAD; with WRONG_CLOCK_FILE only while that
 * file is there, so that the clock of a running program jumps when a test makes the file. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int
is_wrong(void)
{
    const char *file = getenv("WRONG_CLOCK_FILE");
    return file == NULL || access(file, F_OK) == 0;
}

__attribute__((visibility("default"))) int
clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    long result = syscall(SYS_clock_gettime, clock, ret_time);
    const char *ahead = getenv("WRONG_CLOCK_S");
    if (result == 0 && clock == CLOCK_REALTIME && ahead != NULL && is_wrong()) {
        ret_time->tv_sec += atol(ahead);
    }
    return (int)result;
}
