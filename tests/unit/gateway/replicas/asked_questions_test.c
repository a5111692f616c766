#include "gateway/replicas/asked_questions.h"

#include "shared/base/clock.h"
#include "tests/support/call_fixture.h"
#include "tests/support/cmocka_all.h"

enum { TENANT_MAX = 3, PATIENCE_MS = 60000 };

static AskedQuestions asked;
static Loop *loop;
static int ended_count;

static int
set_up(void **state)
{
    AUTO_ARENA arena = arena_new(1 << 16);
    Call call = {.arena = arena};
    *state = NULL;
    ended_count = 0;
    asked_questions_init(&asked, TENANT_MAX);
    return loop_new(&call, &loop) == STATUS_OK ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    loop_free(loop);
    asked_questions_done(&asked);
    return 0;
}

/* Returns the n-th tenant of those that share a bucket. */
static TenantId
tenant_of(uint8_t number)
{
    return (TenantId){{.bytes = {number}}};
}

static void
open_question(AskedQuestion *question, uint8_t tenant)
{
    assert_true(asked_questions_open(&asked, question, loop, tenant_of(tenant)));
}

static void
note_end(AskedQuestion *question)
{
    (void)question;
    ended_count++;
}

/* Turns the loop until so many questions have ended. */
static void
turn_until(int count)
{
    uint64_t since_ns = clock_monotonic_ns();
    while (ended_count < count) {
        assert_true(clock_monotonic_ns() - since_ns < PATIENCE_MS * CLOCK_NS_PER_MS);
        loop_turn(loop, 10);
    }
}

static void
a_tenant_has_so_many_questions_open_and_no_more(void **state)
{
    (void)state;
    AskedQuestion first[TENANT_MAX];
    AskedQuestion over;
    AskedQuestion other;
    for (size_t index = 0; index < TENANT_MAX; index++) {
        open_question(&first[index], 1);
    }
    assert_false(asked_questions_open(&asked, &over, loop, tenant_of(1)));
    open_question(&other, 2);
    assert_true(asked_question_close(&first[0]));
    open_question(&over, 1);
    assert_true(asked_question_close(&over) && asked_question_close(&other));
    assert_true(asked_question_close(&first[1]) && asked_question_close(&first[2]));
}

static void
an_answer_ends_the_question_of_its_number_alone(void **state)
{
    (void)state;
    AskedQuestion right;
    AskedQuestion wrong;
    open_question(&right, 1);
    open_question(&wrong, 2);
    assert_true(asked_question_await(&right, note_end));
    asked_questions_answer(&asked, right.number, SLICE("word"), 7);
    asked_questions_answer(&asked, right.number, SLICE("late"), 8);
    turn_until(1);
    assert_true(right.is_answered);
    assert_string_equal(right.first, "word");
    assert_int_equal(right.second, 7);
    assert_true(asked_question_close(&wrong));
    assert_false(wrong.is_answered);
}

static void
an_answer_that_comes_before_anybody_awaits_it_is_kept(void **state)
{
    (void)state;
    AskedQuestion question;
    open_question(&question, 1);
    asked_questions_answer(&asked, question.number, SLICE("word"), 7);
    assert_false(asked_question_close(&question));
    loop_turn(loop, 0);
    assert_false(asked_question_await(&question, note_end));
    assert_true(question.is_answered);
    assert_int_equal(ended_count, 0);
}

static void
silence_ends_a_question_and_soon_gives_it_more_time(void **state)
{
    (void)state;
    AskedQuestion silent;
    AskedQuestion soon;
    open_question(&silent, 1);
    open_question(&soon, 1);
    uint64_t since_ns = clock_monotonic_ns();
    assert_true(asked_question_await(&silent, note_end) && asked_question_await(&soon, note_end));
    asked_questions_answer(&asked, soon.number, SLICE("soon"), 0);
    turn_until(1);
    assert_true(clock_monotonic_ns() - since_ns >= ASKED_ANSWER_MS * CLOCK_NS_PER_MS);
    assert_false(silent.is_answered || silent.is_soon);
    loop_turn(loop, 0);
    assert_int_equal(ended_count, 1);
    asked_questions_answer(&asked, soon.number, SLICE("word"), 7);
    turn_until(2);
    assert_true(soon.is_answered && soon.is_soon);
}

static void
who_leaves_is_not_told_unless_the_answer_is_on_its_way(void **state)
{
    (void)state;
    AskedQuestion left;
    AskedQuestion told;
    open_question(&left, 1);
    open_question(&told, 1);
    assert_true(asked_question_await(&left, note_end) && asked_question_await(&told, note_end));
    assert_true(asked_question_leave(&left));
    asked_questions_answer(&asked, left.number, SLICE("word"), 7);
    asked_questions_answer(&asked, told.number, SLICE("word"), 7);
    assert_false(asked_question_leave(&told));
    turn_until(1);
    loop_turn(loop, 0);
    assert_int_equal(ended_count, 1);
}

#define QUESTIONS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        QUESTIONS_TEST(a_tenant_has_so_many_questions_open_and_no_more),
        QUESTIONS_TEST(an_answer_ends_the_question_of_its_number_alone),
        QUESTIONS_TEST(an_answer_that_comes_before_anybody_awaits_it_is_kept),
        QUESTIONS_TEST(silence_ends_a_question_and_soon_gives_it_more_time),
        QUESTIONS_TEST(who_leaves_is_not_told_unless_the_answer_is_on_its_way),
    };
    return cmocka_run_group_tests_name("replicas/asked_questions", tests, NULL, NULL);
}
