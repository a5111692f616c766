/* The forms that a step's reply can have (step_reply.h lists them), and the writers that they share with
 * other documents about a step that has run.
 *
 * Threads: the step's loop; writers also a job thread that has the step. */
#pragma once

#include "gateway/steps/step_call.h"

/* JSON is the one that needs no agreement; .npy, the last, holds one output only. */
enum { STEP_FORM_JSON, STEP_FORM_MULTIPART, STEP_FORM_FRAMES, STEP_FORM_NPY, STEP_FORM_COUNT };
extern const StepForm *const step_forms[STEP_FORM_COUNT];

/* Writes the member "outputs" of an open object: the request's fetches, by its names. */
void step_write_outputs(JsonWriter *writer, const StepCall *step);
size_t step_outputs_size(const StepCall *step); /* bytes; 0 before it has room for any */

/* Writes the step as JSON, with its outputs or without. */
void step_write_result(Buffer *buffer, const StepCall *step, const StepReport *report, bool has_outputs);
