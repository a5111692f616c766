/* The stages of compiling a plan, in the order in which plan_compile() calls them. Each fills its part of the
 * Compile (compile.h) and is implemented in the file that its comment names.
 *
 * Errors: those of plan_compile(); any stage may fail with RESOURCE_EXHAUSTED. */
#pragma once

#include "gateway/plan/compile.h"

/* Numbers the tasks of the jobs that devices name (jobs.c). */
MUST_USE Status find_jobs(Compile *compile);

/* Finds the endpoints that the signature's names mean (resolve.c). */
MUST_USE Status resolve_names(Compile *compile);

/* Refuses with INVALID_ARGUMENT a feed of a tensor inside a loop (loops.c). */
MUST_USE Status check_feeds(const Compile *compile);

/* Makes the graph of what fetches and targets need (prune.c). */
MUST_USE Status prune_graph(Compile *compile);

/* Infers the shapes of all outputs from what feeds and placeholders declare (shapes.c). */
MUST_USE Status infer_shapes(Compile *compile);

/* Replaces the graph by a cheaper one that computes the same (simplify.c; the passes are in
 * gateway/optimise). */
MUST_USE Status simplify_graph(Compile *compile);

/* Turns heavy branches into functions that one node calls (outline.c). */
MUST_USE Status outline_branches(Compile *compile);

/* Finds the graph's loops; INVALID_ARGUMENT when they contradict each other, or a fetch is inside one
 * (loops.c). */
MUST_USE Status find_loops(Compile *compile);

/* Assigns every node to a slot (placement.c). */
MUST_USE Status assign_slots(Compile *compile);

/* Settles what each node asks of its worker (device_choice.c). */
MUST_USE Status ask_devices(Compile *compile);

/* Infers shapes for other sizes of the feeds' open dimensions, when several slots could profit from it
 * (shapes.c). */
MUST_USE Status find_growth(Compile *compile);

/* Foretells which element-wise nodes workers will compute together (fusions.c). */
MUST_USE Status find_fusions(Compile *compile);
