/* Questions that this gateway has put to the others (replica_mail.h). Whoever asks does not wait on a thread:
 * the question brings its answer, or the news that none came in time, to the loop of its request.
 *
 * A tenant may have `tenant_max` questions open at a time, so that nobody fills memory, or the other
 * gateways' mail, with questions about nothing.
 *
 * Happy path: asked_questions_open() → the question is sent → asked_question_await() → the answer comes →
 * `ended`.
 *
 * Ownership: an AskedQuestion lives in its owner's struct until it was closed, was left, or has ended.
 * Threads:   opening, closing and answering: any; awaiting and leaving: the question's loop. */
#pragma once

#include "gateway/domain/tenant.h"
#include "shared/base/list.h"
#include "shared/base/mutex.h"
#include "shared/net/loop.h"

/* ASKED_ANSWER_MS is the time in which an answer must come; an answer "soon" gives ASKED_SOON_MS more. */
enum { ASKED_BUCKETS = 256, ASKED_WORD_SIZE = 72, ASKED_ANSWER_MS = 300, ASKED_SOON_MS = 5000 };

typedef struct AskedQuestions {
    Mutex lock;
    ListLink buckets[ASKED_BUCKETS]; /* by tenant; the low byte of a question's number is its bucket */
    uint64_t last_count;
    uint64_t tenant_max;
} AskedQuestions;

typedef struct AskedQuestion {
    Task task; /* first: brings the answer to the loop */
    Timer timer;
    AskedQuestions *owner;
    Loop *loop;
    TenantId tenant;
    uint64_t number;
    void (*ended)(struct AskedQuestion *question); /* on the loop, once, after asked_question_await() */
    bool is_awaited;
    bool is_told;     /* the task has run */
    bool is_extended; /* ASKED_SOON_MS were given */

    /* guarded by the owner's lock while the question is open */
    ListLink link;
    bool is_answered;
    bool is_soon;                /* some gateway has said "soon" */
    char first[ASKED_WORD_SIZE]; /* the answer's two words */
    uint64_t second;
} AskedQuestion;

void asked_questions_init(AskedQuestions *questions, uint64_t tenant_max);
void asked_questions_done(AskedQuestions *questions); /* none may be open */

/* Gives the question a number, and makes it the one that an answer with that number is for. False when the
 * tenant has too many. */
MUST_USE bool asked_questions_open(
    AskedQuestions *questions, AskedQuestion *question, Loop *loop, TenantId tenant);

/* Takes a question back that could not be sent. False when it has been answered nevertheless: it must be
 * awaited then. */
MUST_USE bool asked_question_close(AskedQuestion *question);

/* Waits for the answer, which may have come while the question was being sent: false then, and `ended` is not
 * called. */
MUST_USE bool asked_question_await(AskedQuestion *question, void (*ended)(AskedQuestion *question));

/* Stops waiting. False when `ended` is about to be called nevertheless. */
MUST_USE bool asked_question_leave(AskedQuestion *question);

/* Ends the question with this number, if it is open still. */
void asked_questions_answer(AskedQuestions *questions, uint64_t number, Slice first, uint64_t second);
