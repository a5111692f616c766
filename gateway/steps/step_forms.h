/* The forms that a step's reply can have (step_reply.h lists them), and the writers that they share with
 * other documents about a step that has run.
 *
 * Threads: the step's loop; writers also a job thread that has the step. */
#pragma once

#include "gateway/steps/step_call.h"

/* Chooses the form by Accept, once the step has its plan: 406 when none will do. */
MUST_USE Status step_form_choose(StepCall *step);

/* Writes members of an open object. */
typedef void (*StepMembers)(JsonWriter *writer, const void *context);

/* Answers with outputs that have all come, as a JSON object: first the members that `write_members` adds,
 * then "outputs", at once when they are small, otherwise in turns as the client reads. Ends the exchange. */
void step_answer_outputs(StepCall *step, StepMembers write_members, const void *context);

/* Writes the member "outputs" of an open object: the request's fetches, by its names. */
void step_write_outputs(JsonWriter *writer, const StepCall *step);

/* Writes the step as JSON, with its outputs or without. */
void step_write_result(Buffer *buffer, const StepCall *step, const StepReport *report, bool has_outputs);
