/* Asking: the question gets a number and goes out → the listening thread hears the answer with that number
 * and hands it to the loop of the request that asked (asked_questions.h).
 *
 * Answering: a question comes → the loop that the step's id names is asked (step_inquiry.h) → when it runs
 * the step, a job thread sends the answer. */
#include "gateway/replicas/replica_mail.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gateway/jobs/job_context.h"
#include "gateway/replicas/silent_steps.h"
#include "gateway/steps/forgotten_graphs.h"
#include "gateway/store/blobs.h"
#include "gateway/store/listener.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { TEXT_SIZE = 512, WORDS_MAX = 7, ANSWER_ARENA_SIZE_MAX = 1 << 20, ANSWER_MS = 2000 };

struct ReplicaMail {
    bool has_begun; /* the listening thread's */
    ReplicaMailOptions parts;
    AskedQuestions asked;
    Mutex lock; /* guards `silent` */
    SilentSteps silent;
};

/* A question of another gateway while this one looks for the answer. */
typedef struct Question {
    StepInquiry inquiry; /* first */
    Task begin;
    Job job;
    ReplicaMail *mail;
    const TraceForm *form; /* the form in which a trace is asked for; NULL: the question is about the step */
    StepTrace *trace;      /* the trace asked for, when this gateway has it */
    char from[UUID_TEXT_SIZE + 3];
    uint64_t number;
} Question;

ReplicaMail *
replica_mail_new(const ReplicaMailOptions *options)
{
    assert(options->steps != NULL && options->partials != NULL && options->jobs != NULL &&
           options->workers_changed != NULL);

    ReplicaMail *mail = memory_new(1, sizeof *mail);
    if (mail == NULL) {
        return NULL;
    }
    mail->parts = *options;
    asked_questions_init(&mail->asked, options->limits->step_lookups);
    mutex_init(&mail->lock);
    return mail;
}

void
replica_mail_free(ReplicaMail *mail)
{
    if (mail != NULL) {
        mutex_done(&mail->lock);
        asked_questions_done(&mail->asked);
        memory_free(mail);
    }
}

/* Returns whether the step can still run, by the time in its id: the record of an older one has been
 * written, or will never be. */
static bool
may_still_run(const ReplicaMail *mail, StepId id)
{
    uint64_t created_ms = uuid_time_ms(id.value);
    uint64_t now_ms = clock_wall_us() / 1000;
    uint64_t most_ms = mail->parts.limits->step_timeout_ms;
    return created_ms <= now_ms + most_ms && now_ms <= created_ms + most_ms;
}

static Status
send_question(Call *call, const ReplicaMail *mail, Store *store, const StepInquiry *inquiry, const char *verb,
    uint64_t number)
{
    char text[TEXT_SIZE];
    char tenant[UUID_TEXT_SIZE];
    char session[UUID_TEXT_SIZE];
    char step[UUID_TEXT_SIZE];
    uuid_to_text(inquiry->tenant.value, tenant);
    uuid_to_text(inquiry->session.value, session);
    uuid_to_text(inquiry->id.value, step);
    (void)snprintf(text, sizeof text, "question %s %llu %s %s %s %s", mail->parts.replica->id,
        (unsigned long long)number, verb, tenant, session, step);
    return mail_send(call, store, text);
}

static bool
was_silent(ReplicaMail *mail, const StepInquiry *inquiry)
{
    mutex_lock(&mail->lock);
    bool was_asked = silent_steps_has(&mail->silent, inquiry, clock_monotonic_ns());
    mutex_unlock(&mail->lock);
    return was_asked;
}

static void
note_silence(ReplicaMail *mail, const StepInquiry *inquiry)
{
    mutex_lock(&mail->lock);
    silent_steps_note(&mail->silent, inquiry, clock_monotonic_ns());
    mutex_unlock(&mail->lock);
}

Status
replica_mail_has_others(Call *call, const ReplicaMail *mail, Store *store, bool *ret_has_others)
{
    return listener_has_others(call, store, mail->parts.replica->id, ret_has_others);
}

Status
replica_mail_may_know(
    Call *call, ReplicaMail *mail, Store *store, const StepInquiry *inquiry, bool *ret_may_know)
{
    if (!may_still_run(mail, inquiry->id) || was_silent(mail, inquiry)) {
        *ret_may_know = false;
        return STATUS_OK;
    }
    return replica_mail_has_others(call, mail, store, ret_may_know);
}

Status
replica_mail_ask(Call *call, ReplicaMail *mail, Store *store, const StepInquiry *inquiry, const char *verb,
    AskedQuestion *question)
{
    assert(inquiry->home != NULL && verb != NULL);

    if (!asked_questions_open(&mail->asked, question, inquiry->home->loop, inquiry->tenant)) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "other gateways are being asked about %llu steps for this tenant, the limit 'step_lookups': try "
            "again soon",
            (unsigned long long)mail->parts.limits->step_lookups);
    }
    Status status = send_question(call, mail, store, inquiry, verb, question->number);
    return status == STATUS_OK || asked_question_close(question) ? status : STATUS_OK;
}

bool
replica_mail_read_step(
    ReplicaMail *mail, const StepInquiry *inquiry, const AskedQuestion *question, StepRecord *ret_step)
{
    GraphId graph;
    if (question->is_answered && uuid_from_text(slice_from_string(question->first), &graph.value)) {
        running_step_describe(inquiry, graph, question->second, ret_step);
        return true;
    }
    note_silence(mail, inquiry);
    return false;
}

Status
replica_mail_read_trace(Call *call, const AskedQuestion *question, TraceBlob *ret_blob)
{
    *ret_blob = (TraceBlob){0};
    ret_blob->is_found =
        question->is_answered && sha256_from_hex(slice_from_string(question->first), &ret_blob->digest);
    if (question->is_answered && strcmp(question->first, "failed") == 0) {
        return call_fail(call, STATUS_UNAVAILABLE, "the gateway that ran the step cannot hand its trace on%s",
            question->second == STATUS_RESOURCE_EXHAUSTED
                ? ": it goes by way of the tenant's stored bytes, whose quota 'stored_bytes_max' is used up"
                : "");
    }
    if (!question->is_answered && question->is_soon) {
        return call_fail(
            call, STATUS_UNAVAILABLE, "the gateway that ran the step did not hand its trace on in time");
    }
    return STATUS_OK;
}

static void
take_answer(ReplicaMail *mail, const Slice *words)
{
    uint64_t number = 0;
    uint64_t second = 0;
    if (slice_equals_string(words[1], mail->parts.replica->id) && slice_to_uint64(words[2], &number) &&
        slice_to_uint64(words[4], &second)) {
        asked_questions_answer(&mail->asked, number, words[3], second);
    }
}

static uint64_t
deadline_after(uint64_t time_ms)
{
    return clock_monotonic_ns() + time_ms * CLOCK_NS_PER_MS;
}

/* Sends an answer. A failure is ignored, as the asker takes silence for "no". */
static void
send_words(Call *call, Store *store, const Question *question, const char *first, uint64_t second)
{
    char text[TEXT_SIZE];
    (void)snprintf(text, sizeof text, "answer %s %llu %s %llu", question->from,
        (unsigned long long)question->number, first, (unsigned long long)second);
    (void)!mail_send(call, store, text);
}

static Status
put_trace(Call *call, Store *store, const Question *question, Sha256 *ret_digest)
{
    AUTO_BUFFER json = {0};
    TRY(question->form->write(call, question->trace, &json));
    if (!buffer_is_ok(&json)) {
        return call_fail_memory(call, "a trace");
    }
    sha256(buffer_slice(&json), ret_digest);
    return blobs_put(call, store, question->trace->tenant, ret_digest, buffer_slice(&json));
}

static void
send_trace(Call *call, Store *store, const Question *question)
{
    Sha256 digest;
    char hex[SHA256_HEX_SIZE];
    send_words(call, store, question, "soon", 0);
    Status status = put_trace(call, store, question, &digest);
    if (status == STATUS_OK) {
        sha256_to_hex(&digest, hex);
        send_words(call, store, question, hex, 0);
    } else {
        Call telling = {.arena = call->arena, .deadline_ns = deadline_after(ANSWER_MS)};
        send_words(&telling, store, question, "failed", (uint64_t)status);
    }
}

static void
send_answer(Job *job, JobContext *context)
{
    const Question *question = LIST_ITEM(job, Question, job);
    const StepRecord *step = &question->inquiry.record;
    AUTO_ARENA arena = arena_new(ANSWER_ARENA_SIZE_MAX);
    Call call = {.arena = arena, .deadline_ns = deadline_after(ANSWER_MS)};
    Store *store = NULL;
    char graph[UUID_TEXT_SIZE];
    if (arena == NULL || job_store(&call, context, STORE_ROLE_APP, &store) != STATUS_OK) {
        return;
    }
    if (question->trace != NULL) {
        send_trace(&call, store, question);
        return;
    }
    uuid_to_text(step->graph.value, graph);
    send_words(&call, store, question, graph, step->started_us);
}

static void
question_free(Question *question)
{
    step_trace_unref(question->trace);
    memory_free(question);
}

static void
answer_sent(Job *job)
{
    question_free(LIST_ITEM(job, Question, job));
}

static void
answer_found(StepInquiry *inquiry)
{
    Question *question = (Question *)(void *)inquiry;
    const StepLoop *loop = inquiry->home;
    question->job = (Job){.loop = loop->loop, .run = send_answer, .done = answer_sent};
    if (!inquiry->is_found || loop->is_closing || !job_submit(question->mail->parts.jobs, &question->job)) {
        question_free(question);
    }
}

static void
look_up_question(Task *task)
{
    Question *question = LIST_ITEM(task, Question, begin);
    StepInquiry *inquiry = &question->inquiry;
    if (question->form != NULL) {
        TraceCache *traces = question->mail->parts.traces;
        question->trace = trace_cache_get(traces, inquiry->tenant, inquiry->session, inquiry->id);
        inquiry->is_found = question->trace != NULL;
        answer_found(inquiry);
    } else {
        step_inquire(inquiry);
    }
}

static bool
question_read(const Slice *words, Question *ret_question)
{
    StepInquiry *inquiry = &ret_question->inquiry;
    inquiry->is_cancel = slice_equals_string(words[3], "cancel");
    ret_question->form = trace_form_find(words[3]);
    (void)snprintf(ret_question->from, sizeof ret_question->from, "%.*s", SLICE_PRINT(words[1]));
    return slice_to_uint64(words[2], &ret_question->number) &&
           uuid_from_text(words[4], &inquiry->tenant.value) &&
           uuid_from_text(words[5], &inquiry->session.value) && uuid_from_text(words[6], &inquiry->id.value);
}

static void
take_question(ReplicaMail *mail, const Slice *words)
{
    Question *question =
        slice_equals_string(words[1], mail->parts.replica->id) ? NULL : memory_new(1, sizeof *question);
    if (question == NULL || !question_read(words, question)) {
        memory_free(question);
        return;
    }
    question->mail = mail;
    question->inquiry.home = mail->parts.steps->loops[0];
    question->inquiry.answered = answer_found;
    question->begin.run = look_up_question;
    loop_post(question->inquiry.home->loop, &question->begin);
}

/* Sends a message to the other gateways. If it is lost, their steps of the session end with their results,
 * and the graph stays in their caches. */
static void
tell_all(const Call *call, Store *store, const char *text)
{
    Call telling = {.arena = call->arena, .deadline_ns = call->deadline_ns};
    (void)!mail_send(&telling, store, text);
}

/* Forgets a session that has been deleted, and ends what runs in it on the loops of this gateway. */
static void
end_session(const ReplicaMail *mail, TenantId tenant, SessionId session)
{
    steps_forget_session(mail->parts.steps, tenant, session);
    steps_end_session(mail->parts.steps, tenant, session);
    partials_end_session(mail->parts.partials, tenant, session);
}

void
replica_mail_session_deleted(Call *call, ReplicaMail *mail, Store *store, TenantId tenant, SessionId session)
{
    char text[TEXT_SIZE];
    char tenant_text[UUID_TEXT_SIZE];
    char session_text[UUID_TEXT_SIZE];
    uuid_to_text(tenant.value, tenant_text);
    uuid_to_text(session.value, session_text);
    (void)snprintf(text, sizeof text, "deleted %s %s %s", mail->parts.replica->id, tenant_text, session_text);
    end_session(mail, tenant, session);
    tell_all(call, store, text);
}

static void
take_deleted(ReplicaMail *mail, const Slice *words)
{
    TenantId tenant;
    SessionId session;
    bool is_own = slice_equals_string(words[1], mail->parts.replica->id);
    if (!is_own && uuid_from_text(words[2], &tenant.value) && uuid_from_text(words[3], &session.value)) {
        end_session(mail, tenant, session);
    }
}

void
replica_mail_graph_deleted(Call *call, ReplicaMail *mail, Store *store, const GraphName *graph)
{
    char text[TEXT_SIZE];
    char tenant[UUID_TEXT_SIZE];
    char session[UUID_TEXT_SIZE];
    char id[UUID_TEXT_SIZE];
    uuid_to_text(graph->tenant.value, tenant);
    uuid_to_text(graph->session.value, session);
    uuid_to_text(graph->id.value, id);
    (void)snprintf(text, sizeof text, "forgotten %s %s %s %s", mail->parts.replica->id, tenant, session, id);
    steps_forget_graph(mail->parts.steps, graph->tenant, graph->session, graph->id);
    tell_all(call, store, text);
}

static void
take_forgotten(ReplicaMail *mail, const Slice *words)
{
    GraphName graph;
    bool is_own = slice_equals_string(words[1], mail->parts.replica->id);
    if (!is_own && uuid_from_text(words[2], &graph.tenant.value) &&
        uuid_from_text(words[3], &graph.session.value) && uuid_from_text(words[4], &graph.id.value)) {
        steps_forget_graph(mail->parts.steps, graph.tenant, graph.session, graph.id);
    }
}

static void
take_revoked(ReplicaMail *mail, const Slice *words)
{
    auth_forget(mail->parts.auth, words[1]);
    event_feed_end_key(mail->parts.events, words[1]);
}

static void
take_doubt(ReplicaMail *mail, const Slice *words)
{
    (void)words;
    auth_doubt(mail->parts.auth);
    event_feed_end_key(mail->parts.events, slice_of(NULL, 0));
}

static void
take_workers(ReplicaMail *mail, const Slice *words)
{
    (void)words;
    mail->parts.workers_changed(mail->parts.context);
}

/* The first time, streams are as old as the gateway: only later ones may have lost the message that ends
 * them. */
void
replica_mail_begin(ReplicaMail *mail)
{
    auth_doubt(mail->parts.auth);
    mail->parts.workers_changed(mail->parts.context);
    if (mail->has_begun) {
        event_feed_end_key(mail->parts.events, slice_of(NULL, 0));
    }
    mail->has_begun = true;
}

void
replica_mail_receive(ReplicaMail *mail, const char *text)
{
    static const struct {
        const char *word;
        size_t word_count;
        void (*take)(ReplicaMail *mail, const Slice *words);
    } messages[] = {
        {"question", WORDS_MAX, take_question},
        {"answer", 5, take_answer},
        {"deleted", 4, take_deleted},
        {"forgotten", 5, take_forgotten},
        {"revoked", 2, take_revoked},
        {"doubt", 2, take_doubt},
        {"workers", 2, take_workers},
    };
    Slice words[WORDS_MAX] = {0};
    Slice rest = slice_from_string(text);
    size_t count = 0;
    while (count < WORDS_MAX && slice_split(&rest, ' ', &words[count])) {
        count++;
    }
    for (size_t index = 0; index < COUNT_OF(messages); index++) {
        if (count == messages[index].word_count && slice_equals_string(words[0], messages[index].word)) {
            messages[index].take(mail, words);
        }
    }
}
