/* Graphs that have been deleted: this gateway forgets them and the plans made of them, and each of its loops
 * tells the workers that it knows to have partitions of these plans to drop them. Steps that run one now end
 * normally.
 *
 * Partitions that a cached plan of another graph has, too, stay with the workers.
 *
 * Threads:   any; the loops do the telling.
 * Errors:    without memory workers are not told: they drop by themselves what is not used. */
#pragma once

#include "gateway/steps/step_loop.h"

void steps_forget_graph(const Steps *steps, TenantId tenant, SessionId session, GraphId graph);

/* Forgets the graphs of a session that has been deleted. */
void steps_forget_session(const Steps *steps, TenantId tenant, SessionId session);
