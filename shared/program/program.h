/* The frame of a long-running program: settings from the command line, the commands it has beside serving,
 * and serving until SIGTERM or SIGINT. A second signal ends the process at once; so does what has not closed
 * when its grace and PROGRAM_CLOSING_MS are over, such as a kernel that nobody can interrupt.
 *
 * Ownership: the Config a command gets lives until program_main() returns.
 * Threads:   program_main() and program_serve() on the main thread; a server's stop() comes on a thread of
 *            its own that waits for signals. All other threads inherit their being blocked.
 * Errors:    a command that fails ends the program with its message on stderr and EXIT_FAILURE, or
 *            PROGRAM_MISCONFIGURED when the status is INVALID_ARGUMENT. */
#pragma once

#include "shared/config/config.h"

typedef struct ProgramCommand {
    const char *name;
    Status (*run)(Call *call, const Config *config);
} ProgramCommand;

typedef struct Program {
    const char *name; /* "sluice-worker" */
    const ConfigTable *settings;
    Status (*serve)(Call *call, const Config *config); /* runs without a command */
    const ProgramCommand *commands;                    /* beside `config`, which every program has */
    size_t command_count;
} Program;

int program_main(const Program *program, int argc, char **argv);

/* PROGRAM_RESTART: EX_TEMPFAIL of sysexits.h; whoever supervises the program starts it again.
 * PROGRAM_MISCONFIGURED: EX_CONFIG; it would only end in the same way. */
enum { PROGRAM_CLOSING_MS = 10 * 1000, PROGRAM_RESTART = 75, PROGRAM_MISCONFIGURED = 78 };

typedef struct ProgramServer {
    void *context;
    const char *address; /* the listening address, for people and for whoever started it */
    /* After a SIGTERM the server says that it will leave, and serves on for this time, in which whoever sends
     * it work learns that. NULL: it has nobody to tell. SIGINT, a person's, stops it at once. */
    uint32_t announce_ms;
    void (*announce)(void *context);
    uint32_t grace_ms;          /* time for running work when it stops */
    uint32_t closing_ms;        /* time to close after that; 0: PROGRAM_CLOSING_MS */
    void (*run)(void *context); /* returns once stopped */
    void (*stop)(void *context, uint32_t grace_ms);
    /* Asked when run() has returned: why a new process must take the place of this one, which then ends at
     * once with PROGRAM_RESTART and closes nothing; NULL: nothing of the kind. The member may be NULL. */
    const char *(*fault)(void *context);
} ProgramServer;

/* Waits before the program serves. False: a signal asks for its end. */
MUST_USE bool program_pause(uint64_t time_ms);

/* Says "listening on ADDRESS" on stdout, and to a supervisor that it is ready, and runs until stopped; stop()
 * has returned then. Fails with UNAVAILABLE when no thread can be started. */
MUST_USE Status program_serve(Call *call, const ProgramServer *server);
