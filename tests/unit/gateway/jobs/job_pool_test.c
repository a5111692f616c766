#include "gateway/jobs/job_pool.h"
#include "shared/base/atomic.h"
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
    while (job_pool_waiting(pool) > 0) {
        usleep(100);
    }
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
        cmocka_unit_test(a_full_queue_refuses_and_closing_runs_what_waits),
        cmocka_unit_test(a_context_that_cannot_be_made_fails_the_pool_and_frees_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
