/* Tenants share a pool through several gateways: one thread, a clock of the test's own, all chance from one
 * seed. Admission and rounds are the real ones; the devices, the clients and the table of the rounds are
 * played.
 *
 *     SLUICE_SEED=… build/release/tests/simulation/shares_test     plays one seed again
 *
 * In every window of WINDOW_S, from SETTLE_S after the tenants all have work, each tenant that has work
 * throughout gets device time by its weight, within a tenth; and no step waits longer than its place in its
 * tenant's line explains. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/admission/round.h"
#include "shared/base/random.h"
#include "shared/base/text.h"
#include "tests/simulation/chance.h"

enum {
    GATEWAYS = 2,
    TENANTS = 3,
    THREADS = 4,
    STEPS_MAX = 2048,
    TICK_US = 200,
    WAY_US = 300, /* from a gateway to a device, or back */
    ROUND_MS = SHARES_PERIOD_MS,
    WAKE_MS = 10,  /* the shortest time between two rounds of a gateway */
    ANSWER_MS = 5, /* the longest time from a round to its gateway's knowing of it */
    WINDOW_S = 20,
    SETTLE_S = 5,
    SECONDS_MAX = 120,
    RUNNING_MAX = 64,
};

typedef struct FakeTenant {
    double weight;
    uint64_t cost_ns;      /* of a step, before chance makes it half as long or half as long again */
    int clients[GATEWAYS]; /* that each send the next step when the last has ended */
    uint64_t rare;         /* one step in so many is as many times longer; 0: none */
    bool has_backlog;      /* in the queue, from which both gateways take */
    int begin_s;
    int end_s; /* 0: never */
    int64_t running_max;
    double served_s[SECONDS_MAX]; /* device-seconds in each second */
    uint64_t longest_wait_ns;
    int64_t most_running;
    int64_t running;
} FakeTenant;

/* A step stands in one list at a time: of free ones, on its way to the devices, before them, or on its way
 * back; a device that computes it has it alone. */
typedef struct FakeStep {
    AdmissionTicket ticket; /* first */
    ListLink link;
    int tenant;
    int gateway;
    bool is_queued; /* came from the queue */
    uint64_t entered_ns;
    uint64_t arrives_ns; /* at the devices, or back */
    uint64_t left_ns;
    uint64_t cost_ns;
} FakeStep;

/* The steps of one tenant at one gateway, synchronous ones and those from the queue. */
typedef struct StepCounts {
    int inside[2];
    int waiting[2];
    int begun;
} StepCounts;

typedef struct FakeGateway {
    Admission *admission;
    AdmissionLane *lane;
    uint64_t round_ns; /* when the next round is due */
    uint64_t told_ns;
    Arena *arena;         /* of what the round has brought … */
    AdmissionGrant grant; /* … which is on its way until then: */
    uint64_t answer_ns;   /* 0: nothing is */
    bool is_woken;
    bool is_alone; /* its rounds reach nobody */
} FakeGateway;

typedef struct Play {
    FakeTenant tenants[TENANTS];
    int seconds;
    int outage_begin_s; /* of the table */
    int outage_end_s;
    int second_joins_s;   /* when the second gateway begins */
    uint64_t estimate_ns; /* what gateways believe of a step before they learn; 0: they know */
    bool knows_nothing;   /* no gateway has seen such steps */
} Play;

static struct {
    Play play;
    Loop *loop;
    FakeGateway gateways[GATEWAYS];
    FakeStep steps[STEPS_MAX];
    StepCounts counts[TENANTS][GATEWAYS];
    uint64_t averages_ns[TENANTS][GATEWAYS];
    ListLink free;
    ListLink going;
    ListLink queue; /* before the devices */
    ListLink returning;
    FakeStep *computing[THREADS];
    int begun_at[GATEWAYS]; /* steps of the first tenant in the last seconds */
    PoolShares pool;
    ShareTenant shares[TENANTS];
    ShareDemand demands[TENANTS * GATEWAYS];
    size_t peers[GATEWAYS];
    uint64_t settled_ns;
    uint64_t begun_ns;
} sim;

static double
elapsed_s(void)
{
    return (double)(simulated_ns - sim.begun_ns) * 1e-9;
}

/* Returns how many gateways there are yet. */
static int
gateways_here(void)
{
    return elapsed_s() < sim.play.second_joins_s ? 1 : GATEWAYS;
}

static TenantId
id_of(int tenant)
{
    return (TenantId){{.bytes = {(unsigned char)(tenant + 1)}}};
}

static FakeStep *
step_of(ListLink *link)
{
    return LIST_ITEM(link, FakeStep, link);
}

static void
begin_step(FakeStep *step)
{
    FakeTenant *tenant = &sim.play.tenants[step->tenant];
    uint64_t waited_ns = simulated_ns - step->entered_ns;
    tenant->longest_wait_ns = waited_ns > tenant->longest_wait_ns ? waited_ns : tenant->longest_wait_ns;
    tenant->running++;
    tenant->most_running = tenant->running > tenant->most_running ? tenant->running : tenant->most_running;
    sim.counts[step->tenant][step->gateway].waiting[step->is_queued]--;
    sim.counts[step->tenant][step->gateway].begun++;
    step->arrives_ns = simulated_ns + WAY_US * CLOCK_NS_PER_US;
    sim.begun_at[step->gateway] += step->tenant == 0 && elapsed_s() > sim.play.seconds - 5;
    list_append(&sim.going, &step->link);
}

static void
granted(AdmissionTicket *ticket)
{
    begin_step((FakeStep *)(void *)ticket);
}

static void
send_step(int tenant, int gateway, bool is_queued)
{
    CHECK(!list_is_empty(&sim.free), "there are more than %d steps", STEPS_MAX);
    FakeStep *step = LIST_ITEM(sim.free.next, FakeStep, link);
    uint64_t cost_ns = sim.play.tenants[tenant].cost_ns;
    list_remove(&step->link);
    step->tenant = tenant;
    step->gateway = gateway;
    step->is_queued = is_queued;
    step->entered_ns = simulated_ns;
    step->cost_ns = cost_ns / 2 + chance(cost_ns);
    step->cost_ns *= one_in(sim.play.tenants[tenant].rare) ? sim.play.tenants[tenant].rare : 1;
    step->left_ns = step->cost_ns;
    step->ticket = (AdmissionTicket){.granted = granted,
        .priority = ADMISSION_PRIORITY_NORMAL,
        .average_ns = &sim.averages_ns[tenant][gateway]};
    sim.counts[tenant][gateway].inside[is_queued]++;
    sim.counts[tenant][gateway].waiting[is_queued]++;
    AdmissionAnswer answer = admission_enter(sim.gateways[gateway].lane, &step->ticket, id_of(tenant));
    assert_true(answer == ADMISSION_RUNS || answer == ADMISSION_WAITS);
    if (answer == ADMISSION_RUNS) {
        begin_step(step);
    }
}

static void
end_step(FakeStep *step)
{
    uint64_t *average_ns = &sim.averages_ns[step->tenant][step->gateway];
    *average_ns = *average_ns == 0 ? step->cost_ns : *average_ns - *average_ns / 8 + step->cost_ns / 8;
    sim.counts[step->tenant][step->gateway].inside[step->is_queued]--;
    sim.play.tenants[step->tenant].running--;
    list_append(&sim.free, &step->link);
    admission_leave(&step->ticket, step->cost_ns);
}

static bool
is_active(const FakeTenant *tenant)
{
    return elapsed_s() >= tenant->begin_s && (tenant->end_s == 0 || elapsed_s() < tenant->end_s);
}

/* Returns how many of the tenant's queued steps the gateway wants to have ready. */
static size_t
stock_of(int tenant, int gateway)
{
    AUTO_ARENA arena = arena_new(1 << 16);
    AdmissionStock *stocks = NULL;
    size_t count = 0;
    assert_true(admission_stocks(sim.gateways[gateway].admission, arena, &stocks, &count));
    for (size_t index = 0; index < count; index++) {
        if (uuid_equal(stocks[index].tenant.value, id_of(tenant).value)) {
            return stocks[index].count;
        }
    }
    return ADMISSION_STOCK_MIN;
}

/* Keeps every client busy, and takes from the queue what admission wants to have ready. */
static void
send_steps(int tenant, int gateway)
{
    const FakeTenant *fake = &sim.play.tenants[tenant];
    const StepCounts *counts = &sim.counts[tenant][gateway];
    while (counts->inside[false] < fake->clients[gateway]) {
        send_step(tenant, gateway, false);
    }
    size_t stock = fake->has_backlog ? stock_of(tenant, gateway) : 0;
    while ((size_t)counts->waiting[true] < stock) {
        send_step(tenant, gateway, true);
    }
}

static void
live_clients(void)
{
    for (int tenant = 0; tenant < TENANTS; tenant++) {
        for (int gateway = 0; gateway < gateways_here() && is_active(&sim.play.tenants[tenant]); gateway++) {
            send_steps(tenant, gateway);
        }
    }
}

/* Returns the first of a list of steps that travel, if it has arrived. */
static FakeStep *
take_arrived(const ListLink *list)
{
    ListLink *link = list_first(list);
    if (link == NULL || step_of(link)->arrives_ns > simulated_ns) {
        return NULL;
    }
    list_remove(link);
    return step_of(link);
}

static void
travel(void)
{
    for (FakeStep *step = take_arrived(&sim.going); step != NULL; step = take_arrived(&sim.going)) {
        list_append(&sim.queue, &step->link);
    }
    for (FakeStep *step = take_arrived(&sim.returning); step != NULL; step = take_arrived(&sim.returning)) {
        end_step(step);
    }
}

static void
compute_on(FakeStep **working)
{
    uint64_t tick_ns = TICK_US * CLOCK_NS_PER_US;
    ListLink *first = list_first(&sim.queue);
    if (*working == NULL && first != NULL) {
        *working = step_of(first);
        list_remove(first);
    }
    if (*working == NULL) {
        return;
    }
    FakeStep *step = *working;
    uint64_t part_ns = step->left_ns < tick_ns ? step->left_ns : tick_ns;
    sim.play.tenants[step->tenant].served_s[(int)elapsed_s()] += (double)part_ns * 1e-9;
    step->left_ns -= part_ns;
    if (step->left_ns == 0) {
        step->arrives_ns = simulated_ns + WAY_US * CLOCK_NS_PER_US;
        list_append(&sim.returning, &step->link);
        *working = NULL;
    }
}

static bool
is_outage(void)
{
    return elapsed_s() >= sim.play.outage_begin_s && elapsed_s() < sim.play.outage_end_s;
}

static void
make_round(FakeGateway *gateway, size_t index)
{
    AdmissionReport report;
    sim.pool.gateway_count = (size_t)gateways_here();
    AdmissionRound round = {.pool = sim.pool,
        .report = {.gateway = index,
            .elapsed_s = (double)(simulated_ns - sim.settled_ns) * 1e-9,
            .turn = (uint64_t)elapsed_s()}};
    admission_note_pool(gateway->admission, THREADS);
    arena_clear(gateway->arena);
    assert_true(admission_tell(gateway->admission, gateway->arena, &report));
    if (is_outage()) {
        admission_go_on(gateway->admission);
        return;
    }
    round.report.virtual_time = report.virtual_time;
    assert_true(admission_round(gateway->arena, &round, &report, &gateway->grant));
    sim.pool = round.pool;
    sim.pool.demands = sim.demands;
    assert_in_range(round.pool.demand_count, 0, COUNT_OF(sim.demands));
    memcpy(sim.demands, round.pool.demands, round.pool.demand_count * sizeof sim.demands[0]);
    sim.settled_ns = simulated_ns;
    gateway->answer_ns = simulated_ns + chance(ANSWER_MS) * CLOCK_NS_PER_MS;
}

static void
hear_answer(FakeGateway *gateway)
{
    if (gateway->answer_ns != 0 && simulated_ns >= gateway->answer_ns) {
        gateway->answer_ns = 0;
        admission_adopt(gateway->admission, &gateway->grant);
    }
}

static void
make_rounds(void)
{
    for (size_t index = 0; index < (size_t)gateways_here(); index++) {
        FakeGateway *gateway = &sim.gateways[index];
        hear_answer(gateway);
        bool is_wanted = gateway->is_woken && simulated_ns - gateway->told_ns >= WAKE_MS * CLOCK_NS_PER_MS;
        if (gateway->answer_ns == 0 && (simulated_ns >= gateway->round_ns || is_wanted)) {
            gateway->is_woken = false;
            gateway->told_ns = simulated_ns;
            gateway->round_ns = simulated_ns + ROUND_MS * CLOCK_NS_PER_MS;
            make_round(gateway, index);
        }
    }
}

static void
wake(void *context)
{
    ((FakeGateway *)context)->is_woken = true;
}

static void
sim_open(const Play *play)
{
    Call call = {0};
    memset(&sim, 0, sizeof sim);
    sim.play = *play;
    sim.begun_ns = simulated_ns;
    sim.settled_ns = simulated_ns;
    assert_status(&call, STATUS_OK, loop_new(&call, &sim.loop));
    list_init(&sim.free);
    list_init(&sim.going);
    list_init(&sim.queue);
    list_init(&sim.returning);
    for (size_t index = 0; index < STEPS_MAX; index++) {
        list_append(&sim.free, &sim.steps[index].link);
    }
    for (int index = 0; index < GATEWAYS; index++) {
        FakeGateway *gateway = &sim.gateways[index];
        AdmissionOptions options = {.waiting_max = STEPS_MAX, .wake = wake, .context = gateway};
        gateway->admission = admission_new(&options);
        assert_non_null(gateway->admission);
        gateway->lane = admission_lane(gateway->admission, sim.loop);
        assert_non_null(gateway->lane);
        gateway->arena = arena_new(1 << 20);
        gateway->round_ns = simulated_ns + chance(ROUND_MS) * CLOCK_NS_PER_MS;
        sim.peers[index] = GATEWAYS;
    }
    for (int index = 0; index < TENANTS; index++) {
        const FakeTenant *tenant = &play->tenants[index];
        for (int gateway = 0; gateway < GATEWAYS; gateway++) {
            sim.averages_ns[index][gateway] = play->knows_nothing      ? 0
                                              : play->estimate_ns == 0 ? tenant->cost_ns
                                                                       : play->estimate_ns;
        }
        sim.shares[index] = (ShareTenant){.id = id_of(index),
            .weight = tenant->weight,
            .running_max = tenant->running_max == 0 ? RUNNING_MAX : tenant->running_max};
    }
    sim.pool = (PoolShares){.slot_count = THREADS,
        .tenants = sim.shares,
        .tenant_count = TENANTS,
        .demands = sim.demands,
        .peers = sim.peers};
}

static void
sim_close(void)
{
    for (size_t index = 0; index < STEPS_MAX; index++) {
        admission_leave(&sim.steps[index].ticket, 0);
    }
    loop_turn(sim.loop, 0);
    for (int index = 0; index < GATEWAYS; index++) {
        admission_free(sim.gateways[index].admission);
        arena_free(sim.gateways[index].arena);
    }
    loop_free(sim.loop);
}

static void
sim_play(void)
{
    while (elapsed_s() < sim.play.seconds) {
        travel();
        for (int thread = 0; thread < THREADS; thread++) {
            compute_on(&sim.computing[thread]);
        }
        live_clients();
        make_rounds();
        loop_turn(sim.loop, 0);
        simulated_ns += TICK_US * CLOCK_NS_PER_US;
    }
}

static double
served_s(int tenant, int from_s, int to_s)
{
    double sum = 0;
    for (int second = from_s; second < to_s; second++) {
        sum += sim.play.tenants[tenant].served_s[second];
    }
    return sum;
}

/* Checks one window, in which every tenant has work. Returns the largest part by which one is off. */
static double
check_window(int from_s)
{
    double weights = 0;
    double all = 0;
    double worst = 0;
    for (int tenant = 0; tenant < TENANTS; tenant++) {
        weights += sim.play.tenants[tenant].weight;
        all += served_s(tenant, from_s, from_s + WINDOW_S);
    }
    for (int tenant = 0; tenant < TENANTS; tenant++) {
        double due = all * sim.play.tenants[tenant].weight / weights;
        double off = served_s(tenant, from_s, from_s + WINDOW_S) / due - 1;
        CHECK(fabs(off) <= 0.1, "tenant %d is off by %+.1f %% from second %d", tenant, off * 100, from_s);
        worst = fabs(off) > worst ? fabs(off) : worst;
    }
    CHECK(all >= 0.9 * THREADS * WINDOW_S, "the devices worked %.1f s of %d from second %d", all,
        THREADS * WINDOW_S, from_s);
    return worst;
}

/* Returns how long the last of a tenant's line waits: as long as its share of the devices takes for all that
 * stand before it; for a debt it may wait as long as debts are kept besides. */
static double
line_s(int tenant)
{
    const FakeTenant *fake = &sim.play.tenants[tenant];
    double weights = 0;
    int steps = fake->has_backlog ? GATEWAYS * THREADS : 0;
    for (int index = 0; index < TENANTS; index++) {
        weights += sim.play.tenants[index].weight;
    }
    for (int gateway = 0; gateway < GATEWAYS; gateway++) {
        steps += fake->clients[gateway];
    }
    double cost_s = (double)fake->cost_ns * 1e-9 * (fake->rare == 0 ? 1 : 2);
    return (double)steps * cost_s * weights / (fake->weight * THREADS);
}

static void
check_waits(void)
{
    for (int tenant = 0; tenant < TENANTS; tenant++) {
        double longest_s = (double)sim.play.tenants[tenant].longest_wait_ns * 1e-9;
        CHECK(longest_s <= 2 * line_s(tenant) + SHARES_WINDOW_S,
            "a step of tenant %d has waited %.1f s in a line of %.1f s", tenant, longest_s, line_s(tenant));
    }
}

static void
begin_play(const Play *play)
{
    uint64_t asked = 0;
    const char *text = getenv("SLUICE_SEED");
    bool is_asked = text != NULL && slice_to_uint64(slice_from_string(text), &asked);
    chance_begin(is_asked ? asked : random_uint64());
    sim_open(play);
    sim_play();
}

/* Plays, and checks every window from `from_s` on. */
static void
play_shares(const Play *play, int from_s)
{
    double worst = 0;
    begin_play(play);
    for (int second = from_s + SETTLE_S; second + WINDOW_S <= play->seconds; second++) {
        double off = check_window(second);
        worst = off > worst ? off : worst;
    }
    check_waits();
    print_message("SLUICE_SEED=%llu: at most %.1f %% off; longest waits %.0f, %.0f, %.0f ms\n",
        (unsigned long long)chance_seed, worst * 100, (double)sim.play.tenants[0].longest_wait_ns * 1e-6,
        (double)sim.play.tenants[1].longest_wait_ns * 1e-6,
        (double)sim.play.tenants[2].longest_wait_ns * 1e-6);
    sim_close();
}

#define MS(count) ((uint64_t)(count)*CLOCK_NS_PER_MS)

static void
equal_costs_from_the_queue(void **state)
{
    (void)state;
    Play play = {.seconds = 40,
        .tenants = {{.weight = 3, .cost_ns = MS(80), .has_backlog = true},
            {.weight = 2, .cost_ns = MS(80), .has_backlog = true},
            {.weight = 1, .cost_ns = MS(80), .has_backlog = true}}};
    play_shares(&play, 0);
}

static void
ten_to_one_costs_from_the_queue(void **state)
{
    (void)state;
    Play play = {.seconds = 40,
        .tenants = {{.weight = 3, .cost_ns = MS(20), .has_backlog = true},
            {.weight = 2, .cost_ns = MS(200), .has_backlog = true},
            {.weight = 1, .cost_ns = MS(20), .has_backlog = true}}};
    play_shares(&play, 0);
}

static void
each_tenant_at_its_own_gateway(void **state)
{
    (void)state;
    Play play = {.seconds = 40,
        .tenants = {{.weight = 3, .cost_ns = MS(20), .clients = {32, 0}},
            {.weight = 2, .cost_ns = MS(20), .clients = {64, 0}},
            {.weight = 1, .cost_ns = MS(200), .clients = {0, 64}}}};
    play_shares(&play, 0);
}

static void
small_steps_at_unequal_gateways(void **state)
{
    (void)state;
    Play play = {.seconds = 40,
        .tenants = {{.weight = 3, .cost_ns = MS(1), .clients = {60, 4}},
            {.weight = 2, .cost_ns = MS(10), .clients = {2, 40}},
            {.weight = 1, .cost_ns = MS(3), .has_backlog = true}}};
    play_shares(&play, 0);
}

static void
after_a_burst_the_shares_are_right_at_once(void **state)
{
    (void)state;
    Play play = {.seconds = 60,
        .tenants = {{.weight = 3, .cost_ns = MS(80), .clients = {8, 0}, .begin_s = 20},
            {.weight = 2, .cost_ns = MS(80), .clients = {8, 8}, .begin_s = 21},
            {.weight = 1, .cost_ns = MS(80), .clients = {64, 0}, .has_backlog = true}}};
    play_shares(&play, 21);
}

static void
while_postgresql_is_gone_and_after_it(void **state)
{
    (void)state;
    Play play = {.seconds = 100,
        .outage_begin_s = 30,
        .outage_end_s = 60,
        .tenants = {{.weight = 3, .cost_ns = MS(40), .clients = {32, 0}},
            {.weight = 2, .cost_ns = MS(40), .clients = {16, 16}},
            {.weight = 1, .cost_ns = MS(40), .clients = {0, 32}}}};
    play_shares(&play, 0);
}

static void
estimates_that_are_a_hundred_times_too_low(void **state)
{
    (void)state;
    Play play = {.seconds = 40,
        .estimate_ns = MS(10),
        .tenants = {{.weight = 3, .cost_ns = MS(1000), .clients = {32, 0}},
            {.weight = 2, .cost_ns = MS(100), .clients = {32, 0}},
            {.weight = 1, .cost_ns = MS(100), .clients = {0, 32}}}};
    play_shares(&play, 0);
}

/* Devices that are shared with others take ten times as long; nobody knows the steps when the queue is full
 * of them. */
static void
ten_to_one_costs_that_nobody_knows_on_slow_devices(void **state)
{
    (void)state;
    Play play = {.seconds = 60,
        .knows_nothing = true,
        .tenants = {{.weight = 3, .cost_ns = MS(60), .has_backlog = true},
            {.weight = 2, .cost_ns = MS(600), .has_backlog = true},
            {.weight = 1, .cost_ns = MS(60), .has_backlog = true}}};
    play_shares(&play, 0);
}

static void
one_step_in_twenty_is_twenty_times_longer(void **state)
{
    (void)state;
    Play play = {.seconds = 40,
        .tenants = {{.weight = 3, .cost_ns = MS(20), .clients = {32, 8}},
            {.weight = 2, .cost_ns = MS(20), .rare = 20, .clients = {16, 32}},
            {.weight = 1, .cost_ns = MS(20), .has_backlog = true}}};
    play_shares(&play, 0);
}

/* The quiet tenant has one client and uses less than its share: it waits for no more than what runs. */
static void
a_flood_of_others_costs_a_quiet_tenant_no_line(void **state)
{
    (void)state;
    Play play = {.seconds = 20,
        .tenants = {{.weight = 1, .cost_ns = MS(80), .clients = {64, 64}},
            {.weight = 1, .cost_ns = MS(80), .has_backlog = true},
            {.weight = 1, .cost_ns = MS(5), .clients = {1, 0}, .begin_s = 5}}};
    begin_play(&play);
    CHECK(sim.play.tenants[2].longest_wait_ns <= MS(80) / 2 * 3, "a step has waited %.0f ms",
        (double)sim.play.tenants[2].longest_wait_ns * 1e-6);
    CHECK(sim.play.tenants[2].served_s[10] > 0.05, "the quiet tenant computed %.3f s in a second",
        sim.play.tenants[2].served_s[10]);
    sim_close();
}

static void
no_tenant_runs_more_than_its_quota_on_all_gateways(void **state)
{
    (void)state;
    for (int64_t running_max = 1; running_max <= 5; running_max++) {
        Play play = {.seconds = 20,
            .tenants = {{.weight = 1, .cost_ns = MS(5), .clients = {16, 1}, .running_max = running_max},
                {.weight = 1, .cost_ns = MS(20), .clients = {8, 8}, .begin_s = 10},
                {.weight = 1, .cost_ns = MS(20), .begin_s = 1000}}};
        begin_play(&play);
        const FakeTenant *tenant = &sim.play.tenants[0];
        CHECK(tenant->most_running == running_max, "%lld of %lld steps ran at a time",
            (long long)tenant->most_running, (long long)running_max);
        CHECK(sim.begun_at[0] > 0 && sim.begun_at[1] > 0, "only one of the gateways has run its steps");
        sim_close();
    }
}

static void
no_tenant_runs_more_than_its_quota_while_a_gateway_joins(void **state)
{
    (void)state;
    for (int64_t running_max = 1; running_max <= 9; running_max++) {
        Play play = {.seconds = 20,
            .second_joins_s = 5,
            .tenants = {{.weight = 1, .cost_ns = MS(2000), .clients = {16, 16}, .running_max = running_max},
                {.weight = 1, .cost_ns = MS(20), .clients = {1, 8}, .running_max = running_max},
                {.weight = 1, .cost_ns = MS(300), .clients = {3, 16}, .running_max = running_max}}};
        begin_play(&play);
        for (int tenant = 0; tenant < TENANTS; tenant++) {
            CHECK(sim.play.tenants[tenant].most_running <= running_max, "%lld of %lld steps ran at a time",
                (long long)sim.play.tenants[tenant].most_running, (long long)running_max);
        }
        CHECK(sim.counts[1][1].begun > 0, "the gateway that has joined has run no step");
        sim_close();
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_costs_from_the_queue),
        cmocka_unit_test(ten_to_one_costs_from_the_queue),
        cmocka_unit_test(each_tenant_at_its_own_gateway),
        cmocka_unit_test(small_steps_at_unequal_gateways),
        cmocka_unit_test(after_a_burst_the_shares_are_right_at_once),
        cmocka_unit_test(while_postgresql_is_gone_and_after_it),
        cmocka_unit_test(estimates_that_are_a_hundred_times_too_low),
        cmocka_unit_test(ten_to_one_costs_that_nobody_knows_on_slow_devices),
        cmocka_unit_test(one_step_in_twenty_is_twenty_times_longer),
        cmocka_unit_test(a_flood_of_others_costs_a_quiet_tenant_no_line),
        cmocka_unit_test(no_tenant_runs_more_than_its_quota_on_all_gateways),
        cmocka_unit_test(no_tenant_runs_more_than_its_quota_while_a_gateway_joins),
    };
    return cmocka_run_group_tests_name("shares simulation", tests, NULL, NULL);
}
