#include "tests/support/http_servers.h"

#include <pthread.h>

#include "shared/base/atomic.h"
#include "tests/support/await.h"

enum { SERVERS_MAX = 4 };

static Loop *loop;
static pthread_t thread;
static pthread_barrier_t is_listening;
static const HttpOptions *server_options;
static size_t server_count;
static char addresses[SERVERS_MAX][ADDRESS_TEXT_SIZE];

struct JobContext {
    int unused;
};

static JobContext job_context;

static Status
context_new(Call *call, const void *owner, JobContext **ret_context)
{
    (void)call;
    (void)owner;
    *ret_context = &job_context;
    return STATUS_OK;
}

static HttpServer *
serve(Call *call, JobPool *jobs, HttpOptions options, char ret_address[ADDRESS_TEXT_SIZE])
{
    HttpServer *server = NULL;
    options.jobs = jobs;
    assert_status(call, STATUS_OK, http_server_new(call, loop, "127.0.0.1:0", &options, &server));
    http_server_address(server, ret_address);
    return server;
}

static void *
thread_run(void *argument)
{
    (void)argument;
    AUTO_ARENA arena = arena_new(1024 * 1024);
    Call call = {.arena = arena};
    JobPool *jobs = NULL;
    HttpServer *servers[SERVERS_MAX];
    JobPoolOptions job_options = {.thread_count = 3, .context_new = context_new};
    assert_status(&call, STATUS_OK, loop_new(&call, &loop));
    assert_status(&call, STATUS_OK, job_pool_new(&call, &job_options, &jobs));
    for (size_t index = 0; index < server_count; index++) {
        servers[index] = serve(&call, jobs, server_options[index], addresses[index]);
    }
    pthread_barrier_wait(&is_listening);
    loop_run(loop);
    for (size_t index = server_count; index-- > 0;) {
        http_server_free(servers[index]);
    }
    job_pool_free(jobs);
    return NULL;
}

int
http_servers_start(const HttpOptions *options, size_t count)
{
    assert_true(count <= SERVERS_MAX);
    server_options = options;
    server_count = count;
    pthread_barrier_init(&is_listening, NULL, 2);
    return pthread_create(&thread, NULL, thread_run, NULL) != 0 || pthread_barrier_wait(&is_listening) > 0;
}

int
http_servers_stop(void **state)
{
    (void)state;
    loop_stop(loop);
    int joined = pthread_join(thread, NULL);
    loop_free(loop);
    return joined;
}

const char *
http_servers_address(size_t index)
{
    return addresses[index];
}

void
http_servers_wait(const uint64_t *counter, uint64_t before)
{
    AWAIT(atomic_load_seq_cst(counter) > before);
}
