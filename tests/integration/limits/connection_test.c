/* The number of connections, in all and from one address. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/await.h"
#include "tests/support/limit_checks.h"
#include "tests/support/raw_http.h"

static Cluster few;
/* The limits as GET /api/v1/limits shows them, read before any test uses the connections up: the gateway
 * may notice later than the test that they are closed. */
static uint64_t limit_in_all;
static uint64_t limit_of_each;

static char reply[RAW_REPLY_SIZE];

/* Connects to the gateway from 127.0.0.`host`. */
static int
open_from(uint32_t host)
{
    struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl((INADDR_LOOPBACK & 0xffffff00U) | host)};
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    uint64_t port = 0;
    assert_true(slice_to_uint64(slice_from_string(strrchr(few.gateway.address, ':') + 1), &port));
    peer.sin_port = htons((in_port_t)port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&peer, sizeof peer), 0);
    return fd;
}

static bool
is_served(int fd)
{
    raw_send_text(fd, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    return raw_reply(fd, reply, AWAIT_MS) == 200;
}

/* Opens connections until one is not served, closes all, and returns how many were served. */
static uint64_t
count_served(uint32_t first_host, uint64_t hosts, uint64_t most)
{
    int connections[64];
    uint64_t count = 0;
    bool goes_on = true;
    while (goes_on && count < most) {
        connections[count] = open_from(first_host + (uint32_t)(count % hosts));
        goes_on = is_served(connections[count]);
        count++;
    }
    for (uint64_t index = 0; index < count; index++) {
        close(connections[index]);
    }
    return goes_on ? count : count - 1;
}

/* Fails unless this many connections are served and no more, twice: those that closed are free again as
 * soon as the gateway has noticed. */
static void
assert_served(uint32_t first_host, uint64_t hosts, uint64_t count)
{
    for (int turn = 0; turn < 2; turn++) {
        AWAIT(count_served(first_host, hosts, 2 * count) == count);
    }
}

static void
limit_connections(void **state)
{
    (void)state;
    assert_served(10, 8, limit_in_all);
}

static void
limit_connections_per_address(void **state)
{
    (void)state;
    assert_true(limit_of_each < limit_in_all);
    assert_served(30, 1, limit_of_each);
}

static const char *const few_connections[] = {"--limit", "connections=12,connections_per_address=5", NULL};

static int
set_up(void **state)
{
    (void)state;
    bool is_up =
        cluster_start(&few, &(ClusterOptions){.worker_count = 1, .gateway_arguments = few_connections});
    if (!is_up) {
        return -1;
    }
    limit_in_all = limit_shown(&few, "connections");
    limit_of_each = limit_shown(&few, "connections_per_address");
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    cluster_stop(&few);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_connections),
        cmocka_unit_test(limit_connections_per_address),
    };
    return cmocka_run_group_tests_name("limits of connections", tests, set_up, tear_down);
}
