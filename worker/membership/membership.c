/* Happy path: the thread tells a gateway that the worker is here (PUT), and again each third of the lease
 * that is answered → membership_announce() wakes it to tell that the worker drains → membership_free() wakes
 * it to leave (DELETE), and it ends.
 *
 * A gateway that cannot be reached, or answers 5xx, is passed over; when none answers, all are asked again in
 * a moment. A refusal (4xx) is logged once and asked about again: a namesake may go, a token may be set
 * right. */
#include "worker/membership/membership.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/httpclient/http_client.h"
#include "shared/json/reader.h"
#include "shared/json/writer.h"
#include "shared/telemetry/log.h"
#include "shared/wire/messages.h"

enum {
    REQUEST_MS = 2000,
    CONNECT_MS = 1000,
    AGAIN_MS = 1000, /* between two tries when no gateway has taken what it was told */
    ANNOUNCE_MS = 1000,
    LEAVE_MS = 2000,
    ANSWER_SIZE_MAX = 64 * 1024,
    ARENA_SIZE_MAX = 1 << 20,
};

/* What gateways are to be told of the worker; it only goes on to the next one. */
typedef enum Standing { MEMBER_SERVING, MEMBER_DRAINING, MEMBER_GONE } Standing;

struct Membership {
    MembershipOptions options;
    HttpClient *client;
    Buffer credential; /* the header, ended by a zero */
    Buffer versions;   /* the header, ended by a zero */
    Mutex lock;        /* guards the following */
    Condition changed;
    Standing wanted;
    Standing told;  /* valid when `is_told` */
    bool is_told;   /* some gateway has taken the last word */
    Call *sending;  /* the request under way; NULL: none */
    bool has_ended; /* the thread has */
    /* The thread's own. */
    pthread_t thread;
    size_t gateway;   /* the one asked first */
    bool is_troubled; /* the last try has failed, which the log says */
};

static Status
write_url(Call *call, const Membership *membership, Standing standing, Buffer *url)
{
    Slice gateway = membership->options.gateways[membership->gateway];
    buffer_append(url, gateway.data, gateway.size);
    if (slice_ends_with(gateway, SLICE("/"))) {
        url->size--;
    }
    buffer_append_string(url, "/api/v1/workers/");
    buffer_append_escaped(url, slice_from_string(membership->options.name));
    if (standing == MEMBER_GONE) {
        buffer_append_format(url, "?incarnation=%s", membership->options.incarnation);
    }
    buffer_append(url, "", 1);
    return buffer_is_ok(url) ? STATUS_OK : call_fail_memory(call, "a gateway's URL");
}

static void
write_body(const Membership *membership, Standing standing, Buffer *body)
{
    JsonWriter writer = json_writer(body);
    json_write_object_begin(&writer);
    json_member_string(&writer, "address", membership->options.address);
    json_member_string(&writer, "incarnation", membership->options.incarnation);
    json_member_string(&writer, "state", standing == MEMBER_DRAINING ? "draining" : "serving");
    json_write_object_end(&writer);
}

typedef struct JoinAnswer {
    int64_t lease_ms;
} JoinAnswer;

static Status
read_lease(Call *call, Slice body, uint64_t *ret_lease_ms)
{
    static const JsonMember members[] = {
        {"lease_ms", JSON_INT64, .offset = offsetof(JoinAnswer, lease_ms)},
    };
    static const JsonTable table = JSON_TABLE("an answer", members);
    static const JsonDialect dialect = {.unknown = JSON_UNKNOWN_IS_SKIPPED};
    JoinAnswer answer = {0};
    TRY(json_stream_read(call, body, &dialect, &table, &answer));
    if (answer.lease_ms <= 0) {
        return call_fail(call, STATUS_INTERNAL, "the gateway answers without 'lease_ms'");
    }
    *ret_lease_ms = (uint64_t)answer.lease_ms;
    return STATUS_OK;
}

/* Fails with the sentence of a gateway's refusal, which is a problem document. */
static Status
fail_refused(Call *call, const HttpClientResponse *response)
{
    typedef struct Problem {
        Slice detail;
    } Problem;
    static const JsonMember members[] = {{"detail", JSON_SLICE, .offset = offsetof(Problem, detail)}};
    static const JsonTable table = JSON_TABLE("a problem", members);
    static const JsonDialect dialect = {.unknown = JSON_UNKNOWN_IS_SKIPPED, .skips_other_kinds = true};
    Problem problem = {0};
    Call reading = {.arena = call->arena};
    bool is_read =
        json_stream_read(&reading, buffer_slice(&response->body), &dialect, &table, &problem) == STATUS_OK;
    return call_fail(call, response->status >= 500 ? STATUS_UNAVAILABLE : STATUS_FAILED_PRECONDITION,
        "it answers %d: %.*s", response->status, SLICE_PRINT(is_read ? problem.detail : SLICE("")));
}

static Status
tell_gateway(Call *call, Membership *membership, Standing standing, uint64_t *ret_lease_ms)
{
    AUTO_BUFFER url = {0};
    AUTO_BUFFER body = {0};
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    bool has_token = membership->options.token != NULL;
    const char *headers[] = {membership->versions.data, has_token ? membership->credential.data : NULL, NULL};
    TRY(write_url(call, membership, standing, &url));
    write_body(membership, standing, &body);
    HttpClientRequest request = {
        .method = standing == MEMBER_GONE ? "DELETE" : "PUT",
        .url = url.data,
        .content_type = standing == MEMBER_GONE ? NULL : "application/json",
        .headers = headers,
        .body = standing == MEMBER_GONE ? SLICE("") : buffer_slice(&body),
        .response_size_max = ANSWER_SIZE_MAX,
        .timeout_ms = REQUEST_MS,
    };
    TRY(http_client_send(call, membership->client, &request, &response));
    if (response.status / 100 != 2) {
        return fail_refused(call, &response);
    }
    return standing == MEMBER_GONE ? STATUS_OK : read_lease(call, buffer_slice(&response.body), ret_lease_ms);
}

static void
note_trouble(Membership *membership, Slice gateway, const Call *call)
{
    if (!membership->is_troubled) {
        log_event(LOG_WARNING, "the worker is not taken by a gateway", log_slice("gateway", gateway),
            log_text("error", call->error.message));
    }
}

/* Tells the gateways in turn until one takes it. False: none did, or the word is out of date. */
static bool
tell_gateways(Membership *membership, Call *call, Standing standing, uint64_t *ret_lease_ms)
{
    for (size_t tries = 0; tries < membership->options.gateway_count; tries++) {
        Slice gateway = membership->options.gateways[membership->gateway];
        Status status = tell_gateway(call, membership, standing, ret_lease_ms);
        if (status == STATUS_OK) {
            if (membership->is_troubled) {
                log_event(LOG_INFO, "the worker is taken by a gateway", log_slice("gateway", gateway));
            }
            membership->is_troubled = false;
            return true;
        }
        if (status == STATUS_CANCELLED) {
            return false;
        }
        note_trouble(membership, gateway, call);
        membership->gateway = (membership->gateway + 1) % membership->options.gateway_count;
    }
    membership->is_troubled = true;
    return false;
}

/* Tells what is wanted now, without the lock. Returns after how many milliseconds it is to be told again. */
static uint64_t
tell(Membership *membership, Arena *arena)
{
    uint64_t lease_ms = 0;
    Standing standing = membership->wanted;
    Call call = {.arena = arena};
    if (standing == MEMBER_GONE) {
        call.deadline_ns = clock_monotonic_ns() + LEAVE_MS * CLOCK_NS_PER_MS;
    }
    membership->sending = &call;
    mutex_unlock(&membership->lock);
    bool is_taken = tell_gateways(membership, &call, standing, &lease_ms);
    arena_clear(arena);
    mutex_lock(&membership->lock);
    membership->sending = NULL;
    membership->is_told = is_taken;
    membership->told = standing;
    condition_broadcast(&membership->changed);
    return is_taken ? lease_ms / 3 : AGAIN_MS;
}

static void
await_next(Membership *membership, uint64_t time_ms)
{
    uint64_t end_ns = clock_monotonic_ns() + time_ms * CLOCK_NS_PER_MS;
    Standing told = membership->told;
    while (membership->wanted == told &&
           condition_wait_until(&membership->changed, &membership->lock, end_ns)) {}
}

static void *
run_membership(void *context)
{
    Membership *membership = context;
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    bool is_last = arena == NULL;
    mutex_lock(&membership->lock);
    while (!is_last) {
        is_last = membership->wanted == MEMBER_GONE;
        uint64_t pause_ms = tell(membership, arena);
        if (!is_last) {
            await_next(membership, pause_ms);
        }
    }
    membership->has_ended = true;
    condition_broadcast(&membership->changed);
    mutex_unlock(&membership->lock);
    return NULL;
}

static bool
has_told(const Membership *membership, Standing standing)
{
    return membership->has_ended || (membership->is_told && membership->told >= standing);
}

/* Has the thread tell this at once, and waits until a gateway has taken it, or for `time_ms`. */
static void
tell_now(Membership *membership, Standing standing, uint64_t time_ms)
{
    uint64_t end_ns = clock_monotonic_ns() + time_ms * CLOCK_NS_PER_MS;
    mutex_lock(&membership->lock);
    membership->wanted = standing;
    if (membership->sending != NULL) {
        call_cancel(membership->sending);
    }
    condition_broadcast(&membership->changed);
    while (!has_told(membership, standing) &&
           condition_wait_until(&membership->changed, &membership->lock, end_ns)) {}
    mutex_unlock(&membership->lock);
}

static void
release(Membership *membership)
{
    http_client_free(membership->client);
    buffer_done(&membership->credential);
    buffer_done(&membership->versions);
    condition_done(&membership->changed);
    mutex_done(&membership->lock);
    memory_free(membership);
}

static Status
start(Call *call, Membership *membership)
{
    HttpClientOptions client = {.user_agent = "sluice-worker", .connect_timeout_ms = CONNECT_MS};
    const char *token = membership->options.token;
    buffer_append_format(&membership->credential, "Authorization: Bearer %s", token == NULL ? "" : token);
    buffer_append(&membership->credential, "", 1);
    char versions[WIRE_VERSIONS_TEXT_SIZE];
    wire_versions_text(membership->options.versions, versions);
    buffer_append_format(&membership->versions, WIRE_HEADER_VERSIONS ": %s", versions);
    buffer_append(&membership->versions, "", 1);
    membership->client = http_client_new(&client);
    bool has_headers = buffer_is_ok(&membership->credential) && buffer_is_ok(&membership->versions);
    if (membership->client == NULL || !has_headers) {
        return call_fail_memory(call, "the worker's membership");
    }
    return pthread_create(&membership->thread, NULL, run_membership, membership) == 0
               ? STATUS_OK
               : call_fail(call, STATUS_UNAVAILABLE, "no thread could be started");
}

Status
membership_new(Call *call, const MembershipOptions *options, Membership **ret_membership)
{
    assert(options->gateway_count > 0 && options->name != NULL && options->address != NULL);

    Membership *membership = memory_new(1, sizeof *membership);
    if (membership == NULL) {
        return call_fail_memory(call, "the worker's membership");
    }
    membership->options = *options;
    mutex_init(&membership->lock);
    condition_init(&membership->changed);
    Status status = start(call, membership);
    if (status != STATUS_OK) {
        release(membership);
        return status;
    }
    *ret_membership = membership;
    return STATUS_OK;
}

void
membership_announce(Membership *membership)
{
    tell_now(membership, MEMBER_DRAINING, ANNOUNCE_MS);
}

void
membership_free(Membership *membership)
{
    if (membership != NULL) {
        tell_now(membership, MEMBER_GONE, 0);
        (void)pthread_join(membership->thread, NULL);
        release(membership);
    }
}
