#include "gateway/replicas/asked_questions.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/clock.h"

void
asked_questions_init(AskedQuestions *questions, uint64_t tenant_max)
{
    assert(tenant_max > 0);

    *questions = (AskedQuestions){.tenant_max = tenant_max};
    mutex_init(&questions->lock);
    for (size_t index = 0; index < ASKED_BUCKETS; index++) {
        list_init(&questions->buckets[index]);
    }
}

void
asked_questions_done(AskedQuestions *questions)
{
    mutex_done(&questions->lock);
}

static uint64_t
bucket_of(TenantId tenant)
{
    return tenant.value.bytes[sizeof tenant.value.bytes - 1];
}

static uint64_t
count_open(const AskedQuestions *questions, TenantId tenant)
{
    uint64_t count = 0;
    LIST_EACH(&questions->buckets[bucket_of(tenant)], link)
    {
        const AskedQuestion *question = LIST_ITEM(link, AskedQuestion, link);
        count += uuid_equal(question->tenant.value, tenant.value);
    }
    return count;
}

bool
asked_questions_open(AskedQuestions *questions, AskedQuestion *question, Loop *loop, TenantId tenant)
{
    assert(loop != NULL);

    *question = (AskedQuestion){.owner = questions, .loop = loop, .tenant = tenant};
    list_init(&question->link);
    mutex_lock(&questions->lock);
    bool has_room = count_open(questions, tenant) < questions->tenant_max;
    if (has_room) {
        question->number = ++questions->last_count * ASKED_BUCKETS + bucket_of(tenant);
        list_append(&questions->buckets[bucket_of(tenant)], &question->link);
    }
    mutex_unlock(&questions->lock);
    return has_room;
}

/* Returns false when the question was not open any more. The lock is held. */
static bool
take_out(AskedQuestion *question)
{
    bool was_open = !list_is_empty(&question->link);
    list_remove(&question->link);
    return was_open;
}

bool
asked_question_close(AskedQuestion *question)
{
    assert(!question->is_awaited);

    mutex_lock(&question->owner->lock);
    bool was_open = take_out(question);
    mutex_unlock(&question->owner->lock);
    return was_open;
}

/* Ends the question when nobody has answered in time. An answer that came at this moment is on its way. */
static void
end_unanswered(Timer *timer)
{
    AskedQuestion *question = LIST_ITEM(timer, AskedQuestion, timer);
    mutex_lock(&question->owner->lock);
    bool goes_on = question->is_soon && !question->is_extended;
    bool was_open = !goes_on && take_out(question);
    mutex_unlock(&question->owner->lock);
    if (goes_on) {
        question->is_extended = true;
        timer_set(question->loop, timer, clock_monotonic_ns() + ASKED_SOON_MS * CLOCK_NS_PER_MS);
    } else if (was_open) {
        question->ended(question);
    }
}

bool
asked_question_await(AskedQuestion *question, void (*ended)(AskedQuestion *question))
{
    assert(ended != NULL && !question->is_awaited);

    if (question->is_told) {
        return false;
    }
    question->is_awaited = true;
    question->ended = ended;
    question->timer.fire = end_unanswered;
    timer_set(question->loop, &question->timer, clock_monotonic_ns() + ASKED_ANSWER_MS * CLOCK_NS_PER_MS);
    return true;
}

bool
asked_question_leave(AskedQuestion *question)
{
    assert(question->is_awaited);

    mutex_lock(&question->owner->lock);
    bool was_open = take_out(question);
    mutex_unlock(&question->owner->lock);
    timer_clear(question->loop, &question->timer);
    return was_open;
}

static void
tell_answer(Task *task)
{
    AskedQuestion *question = (AskedQuestion *)(void *)task;
    question->is_told = true;
    if (question->is_awaited) {
        timer_clear(question->loop, &question->timer);
        question->ended(question);
    }
}

/* Notes an answer. "soon" is none yet: the question stays open. The lock is held. */
static void
take_answer(AskedQuestion *question, Slice first, uint64_t second)
{
    if (slice_equals_string(first, "soon")) {
        question->is_soon = true;
        return;
    }
    (void)take_out(question);
    question->is_answered = true;
    (void)snprintf(question->first, sizeof question->first, "%.*s", SLICE_PRINT(first));
    question->second = second;
    question->task.run = tell_answer;
    loop_post(question->loop, &question->task);
}

void
asked_questions_answer(AskedQuestions *questions, uint64_t number, Slice first, uint64_t second)
{
    mutex_lock(&questions->lock);
    LIST_EACH(&questions->buckets[number % ASKED_BUCKETS], link)
    {
        AskedQuestion *question = LIST_ITEM(link, AskedQuestion, link);
        if (question->number == number) {
            take_answer(question, first, second);
        }
    }
    mutex_unlock(&questions->lock);
}
