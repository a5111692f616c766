#include "gateway/jobs/job_pool.h"
#include "shared/base/atomic.h"
#include "shared/base/mutex.h"
#include "tests/support/await.h"
#include "tests/support/cmocka_all.h"

#include <unistd.h>

typedef struct Work {
    Job job;
    JobContext *context;
    bool is_done;
} Work;

struct JobContext {
    int count; /* threads that have it now */
};

static JobContext contexts;
static int gate; /* jobs wait until it is opened */

static Status
context_new(Call *call, const void *owner, JobContext **ret_context)
{
    int limit = *(const int *)owner;
    if (atomic_load_seq_cst(&contexts.count) == limit) {
        return call_fail(call, STATUS_UNAVAILABLE, "only %d connections", limit);
    }
    *ret_context = &contexts;
    atomic_add_acq_rel(&contexts.count, 1);
    return STATUS_OK;
}

static void
context_free(JobContext *context)
{
    assert_ptr_equal(context, &contexts);
    atomic_sub_acq_rel(&contexts.count, 1);
}

static void
work_run(Job *job, JobContext *context)
{
    while (atomic_load_seq_cst(&gate) == 0) {
        usleep(100);
    }
    ((Work *)job)->context = context;
}

static void
work_done(Job *job)
{
    ((Work *)job)->is_done = true;
}

static void
jobs_run_on_a_thread_and_come_back_to_their_loop(void **state)
{
    (void)state;
    Call call = {0};
    Loop *loop = NULL;
    JobPool *pool = NULL;
    int limit = 2;
    JobPoolOptions options = {.thread_count = 2,
        .queue_max = 100,
        .context_new = context_new,
        .context_free = context_free,
        .owner = &limit};
    assert_status(&call, STATUS_OK, loop_new(&call, &loop));
    assert_status(&call, STATUS_OK, job_pool_new(&call, &options, &pool));
    assert_int_equal(contexts.count, 2);
    atomic_store_seq_cst(&gate, 1);
    Work works[50] = {0};
    for (size_t index = 0; index < COUNT_OF(works); index++) {
        works[index].job = (Job){.loop = loop, .run = work_run, .done = work_done};
        assert_true(job_submit(pool, &works[index].job));
    }
    for (size_t index = 0; index < COUNT_OF(works); index++) {
        while (!works[index].is_done) {
            loop_turn(loop, 1000);
        }
        assert_ptr_equal(works[index].context, &contexts);
    }
    job_pool_free(pool);
    assert_int_equal(contexts.count, 0);
    loop_free(loop);
}

/* A gateway that ends turns its loops once more: a timer may want to try again what a job has not done. */
static void
a_pool_that_was_stopped_has_run_all_and_takes_nothing(void **state)
{
    (void)state;
    Call call = {0};
    Loop *loop = NULL;
    JobPool *pool = NULL;
    assert_status(&call, STATUS_OK, loop_new(&call, &loop));
    assert_status(&call, STATUS_OK, job_pool_new(&call, &(JobPoolOptions){.thread_count = 2}, &pool));
    atomic_store_seq_cst(&gate, 1);
    Work early = {.job = {.loop = loop, .run = work_run, .done = work_done}};
    Work late = early;
    assert_true(job_submit(pool, &early.job));
    job_pool_stop(pool);
    assert_false(job_submit(pool, &late.job));
    assert_int_equal(job_pool_waiting(pool), 0);
    loop_turn(loop, 0);
    assert_true(early.is_done);
    job_pool_stop(pool);
    job_pool_free(pool);
    loop_free(loop);
}

static void
a_full_queue_refuses_and_closing_runs_what_waits(void **state)
{
    (void)state;
    Call call = {0};
    Loop *loop = NULL;
    JobPool *pool = NULL;
    assert_status(&call, STATUS_OK, loop_new(&call, &loop));
    assert_status(
        &call, STATUS_OK, job_pool_new(&call, &(JobPoolOptions){.thread_count = 1, .queue_max = 2}, &pool));
    atomic_store_seq_cst(&gate, 0);
    Work works[4] = {0};
    for (size_t index = 0; index < COUNT_OF(works); index++) {
        works[index].job = (Job){.loop = loop, .run = work_run, .done = work_done};
    }
    assert_true(job_submit(pool, &works[0].job));
    AWAIT(job_pool_waiting(pool) == 0);
    assert_true(job_submit(pool, &works[1].job));
    assert_true(job_submit(pool, &works[2].job));
    assert_false(job_submit(pool, &works[3].job));
    assert_int_equal(job_pool_waiting(pool), 2);
    atomic_store_seq_cst(&gate, 1);
    job_pool_free(pool);
    loop_turn(loop, 0);
    assert_true(works[0].is_done && works[1].is_done && works[2].is_done);
    assert_false(works[3].is_done);
    loop_free(loop);
}

static Work *order[8];  /* works in the order in which they ran */
static int order_count; /* atomic */
static Mutex order_lock = MUTEX_INITIALIZER;

static void
work_note(Job *job, JobContext *context)
{
    mutex_lock(&order_lock);
    order[atomic_load_relaxed(&order_count)] = (Work *)job;
    (void)atomic_add_acq_rel(&order_count, 1);
    mutex_unlock(&order_lock);
    work_run(job, context);
}

static JobPool *
pool_of(int thread_count)
{
    Call call = {0};
    JobPool *pool = NULL;
    atomic_store_seq_cst(&gate, 0);
    atomic_store_seq_cst(&order_count, 0);
    assert_status(
        &call, STATUS_OK, job_pool_new(&call, &(JobPoolOptions){.thread_count = thread_count}, &pool));
    return pool;
}

static void
submit_for(JobPool *pool, Loop *loop, Work *work, unsigned char tenant, bool is_long)
{
    work->job = (Job){.loop = loop, .is_long = is_long, .run = work_note, .done = work_done};
    work->job.tenant.value.bytes[0] = tenant;
    assert_true(job_submit(pool, &work->job));
}

/* One tenant has four jobs in the queue when another's comes: that one is the next but one. */
static void
tenants_take_turns(void **state)
{
    (void)state;
    Call call = {0};
    Loop *loop = NULL;
    assert_status(&call, STATUS_OK, loop_new(&call, &loop));
    JobPool *pool = pool_of(1);
    Work works[5] = {0};
    for (size_t index = 0; index < 4; index++) {
        submit_for(pool, loop, &works[index], 1, false);
    }
    AWAIT(atomic_load_seq_cst(&order_count) >= 1);
    submit_for(pool, loop, &works[4], 2, false);
    atomic_store_seq_cst(&gate, 1);
    job_pool_free(pool);
    loop_turn(loop, 0);
    assert_ptr_equal(order[0], &works[0]);
    assert_ptr_equal(order[1], &works[1]);
    assert_ptr_equal(order[2], &works[4]);
    assert_ptr_equal(order[3], &works[2]);
    assert_ptr_equal(order[4], &works[3]);
    loop_free(loop);
}

/* One tenant gets three of four threads; long jobs get two, one for each tenant. */
static void
neither_a_tenant_nor_long_jobs_get_all_threads(void **state)
{
    static const bool kinds[] = {false, true};
    static const int most[] = {3, 1};
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        Call call = {0};
        Loop *loop = NULL;
        assert_status(&call, STATUS_OK, loop_new(&call, &loop));
        JobPool *pool = pool_of(4);
        Work works[6] = {0};
        for (size_t index = 0; index < 4; index++) {
            submit_for(pool, loop, &works[index], 1, kinds[kind]);
        }
        AWAIT(atomic_load_seq_cst(&order_count) >= most[kind]);
        submit_for(pool, loop, &works[4], 2, kinds[kind]);
        submit_for(pool, loop, &works[5], kinds[kind] ? 1 : 2, false);
        AWAIT(atomic_load_seq_cst(&order_count) >= most[kind] + (kinds[kind] ? 2 : 1));
        assert_true(order[most[kind]] == &works[4] || order[most[kind]] == &works[5]);
        atomic_store_seq_cst(&gate, 1);
        job_pool_free(pool);
        loop_turn(loop, 0);
        for (size_t index = 0; index < COUNT_OF(works); index++) {
            assert_true(works[index].is_done);
        }
        loop_free(loop);
    }
}

/* One job runs; five may wait, of which the first tenant gets three and leaves two to others. */
static void
no_tenant_fills_the_queue(void **state)
{
    static const struct {
        unsigned char tenant; /* 0: the gateway's own */
        bool is_taken;
    } cases[] = {{1, true}, {1, true}, {1, true}, {1, false}, {2, true}, {1, false}, {2, false}, {0, true},
        {0, false}};
    (void)state;
    Call call = {0};
    Loop *loop = NULL;
    JobPool *pool = NULL;
    Work works[COUNT_OF(cases) + 1] = {0};
    atomic_store_seq_cst(&gate, 0);
    assert_status(&call, STATUS_OK, loop_new(&call, &loop));
    assert_status(
        &call, STATUS_OK, job_pool_new(&call, &(JobPoolOptions){.thread_count = 1, .queue_max = 5}, &pool));
    works[0].job = (Job){.loop = loop, .run = work_run, .done = work_done};
    assert_true(job_submit(pool, &works[0].job));
    AWAIT(job_pool_waiting(pool) == 0);
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        Job *job = &works[index + 1].job;
        *job = (Job){.loop = loop, .run = work_run, .done = work_done};
        job->tenant.value.bytes[0] = cases[index].tenant;
        assert_int_equal(job_submit(pool, job), cases[index].is_taken);
    }
    atomic_store_seq_cst(&gate, 1);
    job_pool_free(pool);
    loop_turn(loop, 0);
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        assert_int_equal(works[index + 1].is_done, cases[index].is_taken);
    }
    loop_free(loop);
}

static void
a_context_that_cannot_be_made_fails_the_pool_and_frees_the_others(void **state)
{
    (void)state;
    Call call = {0};
    JobPool *pool = NULL;
    int limit = 1;
    JobPoolOptions options = {
        .thread_count = 3, .context_new = context_new, .context_free = context_free, .owner = &limit};
    assert_status(&call, STATUS_UNAVAILABLE, job_pool_new(&call, &options, &pool));
    assert_string_equal(call.error.message, "only 1 connections");
    assert_null(pool);
    assert_int_equal(contexts.count, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_on_a_thread_and_come_back_to_their_loop),
        cmocka_unit_test(a_pool_that_was_stopped_has_run_all_and_takes_nothing),
        cmocka_unit_test(a_full_queue_refuses_and_closing_runs_what_waits),
        cmocka_unit_test(tenants_take_turns),
        cmocka_unit_test(neither_a_tenant_nor_long_jobs_get_all_threads),
        cmocka_unit_test(no_tenant_fills_the_queue),
        cmocka_unit_test(a_context_that_cannot_be_made_fails_the_pool_and_frees_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
