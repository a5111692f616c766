#include "gateway/steps/forgotten_graphs.h"

#include "shared/base/memory.h"

/* The session whose graph is forgotten. */
typedef struct Owner {
    const Steps *steps;
    char tenant[UUID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
} Owner;

/* A forgotten plan on its way to a loop. */
typedef struct ForgottenPlan {
    Task task; /* first */
    StepLoop *loop;
    Plan *plan;
    Owner owner;
} ForgottenPlan;

static void
tell_workers(Task *task)
{
    ForgottenPlan *forgotten = (ForgottenPlan *)(void *)task;
    if (!forgotten->loop->is_closing) {
        dispatcher_deregister(
            forgotten->loop->dispatcher, forgotten->owner.tenant, forgotten->owner.session, forgotten->plan);
    }
    plan_unref(forgotten->plan);
    memory_free(forgotten);
}

static void
tell_loops(void *context, Plan *plan)
{
    const Owner *owner = context;
    for (int index = 0; index < owner->steps->loop_count; index++) {
        ForgottenPlan *forgotten = memory_new(1, sizeof *forgotten);
        if (forgotten == NULL) {
            return;
        }
        *forgotten = (ForgottenPlan){
            .task.run = tell_workers,
            .loop = owner->steps->loops[index],
            .plan = plan_ref(plan),
            .owner = *owner,
        };
        loop_post(forgotten->loop->loop, &forgotten->task);
    }
}

static Owner
owner_of(const Steps *steps, TenantId tenant, SessionId session)
{
    Owner owner = {.steps = steps};
    uuid_to_text(tenant.value, owner.tenant);
    id_to_text("ses", session.value, owner.session);
    return owner;
}

static void
forget_plans(Owner *owner, GraphId graph)
{
    char text[ID_TEXT_SIZE];
    id_to_text("grf", graph.value, text);
    plan_cache_forget_graph(owner->steps->plans, slice_from_string(text), tell_loops, owner);
}

void
steps_forget_graph(const Steps *steps, TenantId tenant, SessionId session, GraphId graph)
{
    Owner owner = owner_of(steps, tenant, session);
    session_cache_drop(steps->sessions, tenant, session);
    graph_cache_drop(steps->graphs, tenant, session, graph);
    forget_plans(&owner, graph);
}

void
steps_forget_session(const Steps *steps, TenantId tenant, SessionId session)
{
    GraphId graph;
    Owner owner = owner_of(steps, tenant, session);
    session_cache_drop(steps->sessions, tenant, session);
    while (graph_cache_drop_any(steps->graphs, tenant, session, &graph)) {
        forget_plans(&owner, graph);
    }
}
