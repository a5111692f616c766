/* Steps whose large feeds go to the workers as they come: never whole in the gateway. For a form, when the
 * feeds that are to come are known: the request is its first part and names all others in `parts`, or the
 * large one is the last.
 *
 * Happy path: the header of a large feed comes → the step is prepared, on a job thread if it must be, while
 * the socket is not read → its run begins on the workers, which wait → pieces go on as the workers take them
 * → the form has ended, the handler is called, and step_passing_finish() lets the step run.
 *
 * A client that sends slowly, or stops, holds no slot of the pool, as admission is asked when all feeds are
 * there. It may pause for body_grace_ms, and has the step's own time and a second for each MiB in all. Bytes
 * that have gone on are not kept: when a worker is lost, the step ends as UNAVAILABLE, and its client sends
 * it again. Feeds up to PASSED_SIZE_MIN are collected and sent to another worker as ever.
 *
 * Ownership: a part of its exchange's arena; the exchange is kept until the run has ended or was finished.
 * Threads:   the loop thread.
 * Errors:    what fails while the body comes refuses the body. */
#pragma once

#include "gateway/steps/step_call.h"

#define PASSED_SIZE_MIN ((size_t)4 << 20) /* bytes of a feed */

/* Begins the run of a prepared step until `deadline_ns`; sets step->running.run unless memory lacks. */
typedef void (*StepPassingRun)(StepCall *step, uint64_t deadline_ns);

/* Returns whether large feeds of a form may be taken: neither is its answer kept, nor its step for later. */
bool step_passing_is_allowed(const Request *request);

/* Has large feeds of the form taken as they come. Without memory they are collected. */
void step_passing_attach(Exchange *exchange, StepLoop *loop, StepUpload *upload, StepPassingRun run);

/* Functions of a BodySink whose state is the StepUpload. A step begins behind the piece with the head of its
 * first large feed: all of the piece has been read by then, and the next one waits. */
MUST_USE Status step_passing_write(Call *call, void *state, Slice piece);
bool step_passing_must_wait(const void *state);
bool step_passing_is_awaited(const void *state);
void step_passing_broken(void *state);

/* More can be sent; StepEvents.on_feed_room. */
void step_passing_go_on(StepCall *step);

/* Returns the step that was begun while the form came; NULL: none. */
StepCall *step_passing_step(const StepUpload *upload);

/* Lets the step run, when the form has ended. The failure of the form, or of the run so far, otherwise: the
 * step is over then. */
MUST_USE Status step_passing_finish(StepUpload *upload);

/* Takes the end of a run whose feeds were still coming; called for every step. False: it has come after
 * that, and is the caller's. */
MUST_USE bool step_passing_end(const StepCall *step, const StepReport *report);
