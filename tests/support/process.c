#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/atomic.h"

static void
program_path(const char *program, char *path, size_t size)
{
    const char *out = getenv("OUT");
    (void)snprintf(path, size, "%s/%s", out == NULL ? "build/release" : out, program);
}

/* Becomes the program, in the child: it ends with its parent, and writes where it is told. */
static void
become(const char *program, const char *const *arguments, int output, int error)
{
    char path[256];
    char *argv[PROCESS_ARGUMENTS_MAX + 2] = {path};
    size_t count = 0;
    program_path(program, path, sizeof path);
    for (; arguments[count] != NULL && count < PROCESS_ARGUMENTS_MAX; count++) {
        argv[count + 1] = strdup(arguments[count]);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(output, STDOUT_FILENO);
    if (error >= 0) {
        (void)dup2(error, STDERR_FILENO);
    } else if (getenv("TEST_VERBOSE") == NULL) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(nowhere, STDERR_FILENO);
    }
    (void)execv(path, argv);
    _exit(127);
}

static pid_t
start(const char *program, const char *const *arguments, int error, int *ret_output)
{
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        become(program, arguments, pipe_fds[1], error);
    }
    (void)close(pipe_fds[1]);
    *ret_output = pipe_fds[0];
    return pid;
}

/* Reads one line, at most `timeout_ms`. */
static bool
read_line(int fd, char *line, size_t size, int timeout_ms)
{
    size_t used = 0;
    while (used + 1 < size) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, timeout_ms) <= 0 || read(fd, line + used, 1) != 1) {
            return false;
        }
        if (line[used] == '\n') {
            line[used] = '\0';
            return true;
        }
        used++;
    }
    return false;
}

bool
process_start(Process *process, const char *program, const char *const *arguments)
{
    enum { START_MS = 60000 };
    static const char said[] = "listening on ";
    char line[128];
    int output = -1;
    *process = (Process){.pid = start(program, arguments, -1, &output)};
    bool is_up = process->pid > 0 && read_line(output, line, sizeof line, START_MS) &&
                 strncmp(line, said, sizeof said - 1) == 0;
    /* The pipe stays open: a program that prints later must not die of it. */
    if (!is_up) {
        (void)fprintf(
            stderr, "%s does not start; TEST_VERBOSE=1 shows what programs write on stderr\n", program);
        if (process->pid > 0) {
            (void)process_stop(process, SIGKILL);
        }
        return false;
    }
    (void)snprintf(process->address, sizeof process->address, "%.63s", line + sizeof said - 1);
    return true;
}

/* Waits for the end; a process that does not end by itself in time is killed, as its exit code then shows. */
static int
wait_for(pid_t pid)
{
    enum { END_MS = 60000 };
    int status = 0;
    struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    if (end.fd >= 0 && poll(&end, 1, END_MS) == 0) {
        (void)kill(pid, SIGKILL);
    }
    (void)close(end.fd);
    if (waitpid(pid, &status, 0) != pid) {
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int
process_stop(Process *process, int signal_number)
{
    if (process->pid <= 0) {
        return -1;
    }
    (void)kill(process->pid, signal_number);
    int code = wait_for(process->pid);
    process->pid = 0;
    return code;
}

/* Reads to the end of `fd`; the text is cut at `size`. */
static void
read_text(int fd, char *text, size_t size)
{
    char spare[4096];
    size_t used = 0;
    for (ssize_t got = 1; got > 0;) {
        size_t room = used + 1 < size ? size - used - 1 : 0;
        got = room > 0 ? read(fd, text + used, room) : read(fd, spare, sizeof spare);
        used += room > 0 && got > 0 ? (size_t)got : 0;
    }
    text[used] = '\0';
}

int
process_run(const char *program, const char *const *arguments, char *ret_output, size_t output_size)
{
    char spare[1];
    int output = -1;
    pid_t pid = start(program, arguments, -1, &output);
    read_text(output, ret_output == NULL ? spare : ret_output, ret_output == NULL ? 1 : output_size);
    (void)close(output);
    return pid > 0 ? wait_for(pid) : -1;
}

pid_t process_captured;

/* Standard error goes into a file in memory: two pipes would have to be read by turns. */
int
process_capture(const char *program, const char *const *arguments, const ProcessOutput *ret_output)
{
    int output = -1;
    int error = memfd_create("stderr", MFD_CLOEXEC);
    pid_t pid = start(program, arguments, error, &output);
    atomic_store_seq_cst(&process_captured, pid);
    read_text(output, ret_output->out, ret_output->out_size);
    atomic_store_seq_cst(&process_captured, 0);
    (void)close(output);
    int code = pid > 0 ? wait_for(pid) : -1;
    (void)lseek(error, 0, SEEK_SET);
    read_text(error, ret_output->error, ret_output->error_size);
    (void)close(error);
    return code;
}

void
pause_ms(long milliseconds)
{
    struct timespec pause = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}
