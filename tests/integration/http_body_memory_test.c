/* Bodies that wait for memory: until their time is over, until their clients go, until the server ends. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/memory.h"
#include "tests/support/await.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/http_site.h"

enum { LARGE = 1024 * 1024, SMALL = 200 * 1024, FREE = 32 * 1024, DEADLINE_MS = 5000 };

static TenantMemory *memory; /* for one large body of a tenant */

static int
open_body(size_t size, size_t sent)
{
    char head[128];
    (void)snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", size);
    char *body = memory_new(1, sent);
    int fd = raw_open(http_servers_address(0));
    raw_send_text(fd, head);
    raw_send(fd, body, sent);
    memory_free(body);
    return fd;
}

static void
send_rest(int fd, size_t size)
{
    static char answer[LARGE + 1024];
    char *body = memory_new(1, size);
    raw_send(fd, body, size);
    memory_free(body);
    assert_true(raw_drain(fd, answer, LARGE, HTTP_SITE_TIMEOUT_MS) == LARGE);
    assert_memory_equal(answer, "HTTP/1.1 200 ", strlen("HTTP/1.1 200 "));
}

static int
open_holder(void)
{
    int fd = open_body(LARGE, LARGE - 1);
    AWAIT(tenant_memory_held(memory) == LARGE);
    return fd;
}

static void
end_holder(int fd)
{
    send_rest(fd, 1);
    close(fd);
    AWAIT(tenant_memory_held(memory) == 0);
}

static void
a_body_without_room_is_refused_when_its_time_is_over(void **state)
{
    static const size_t sizes[] = {LARGE, SMALL};
    (void)state;
    int holder = open_holder();
    for (size_t index = 0; index < COUNT_OF(sizes); index++) {
        int fd = open_body(sizes[index], SMALL);
        assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 503);
        assert_non_null(strstr(http_site_reply, "Retry-After: 1\r\n"));
        assert_non_null(strstr(http_site_reply, "there is no room for "));
        if (sizes[index] == SMALL) { /* it has been read: the connection goes on */
            raw_send_text(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
            assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
        } else {
            assert_true(raw_is_closed(fd, HTTP_SITE_TIMEOUT_MS));
        }
        close(fd);
    }
    end_holder(holder);
}

static void
a_client_that_goes_while_it_waits_leaves_nothing(void **state)
{
    (void)state;
    int holder = open_holder();
    int fds[8];
    for (size_t index = 0; index < COUNT_OF(fds); index++) {
        fds[index] = open_body(LARGE, SMALL);
    }
    pause_ms(50); /* they wait by then, or else this tests less */
    for (size_t index = 0; index < COUNT_OF(fds); index++) {
        close(fds[index]);
    }
    end_holder(holder);
    end_holder(open_holder());
}

static void
a_small_body_needs_no_room(void **state)
{
    (void)state;
    int holder = open_holder();
    int fd = open_body(FREE, FREE);
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    close(fd);
    end_holder(holder);
}

/* The group's end stops the server meanwhile. */
static void
a_server_may_end_while_bodies_wait(void **state)
{
    (void)state;
    (void)open_holder();
    (void)open_body(LARGE, SMALL);
    pause_ms(50); /* it waits by then, or else this tests less */
}

static int
start(void **state)
{
    (void)state;
    memory = tenant_memory_new((size_t)2 * LARGE);
    static HttpOptions options = {.handlers = http_site_handlers, .deadline_ms = DEADLINE_MS};
    options.bodies = memory;
    return http_servers_start(&options, 1);
}

static int
stop(void **state)
{
    int stopped = http_servers_stop(state);
    size_t held = tenant_memory_held(memory);
    tenant_memory_free(memory);
    return stopped != 0 || held != 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_without_room_is_refused_when_its_time_is_over),
        cmocka_unit_test(a_client_that_goes_while_it_waits_leaves_nothing),
        cmocka_unit_test(a_small_body_needs_no_room),
        cmocka_unit_test(a_server_may_end_while_bodies_wait),
    };
    return cmocka_run_group_tests_name("http_body_memory", tests, start, stop);
}
