/* Look-ups of steps that nobody knows: other gateways are asked about them, and while those are silent no
 * thread waits. With one job thread, nothing else would be served if it did. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/uuid.h"
#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/raw_http.h"

enum { LOOKUPS = 4, MANY_LOOKUPS = 16, TEXT_SIZE = 1024 };

static const char *const arguments[] = {"--job-threads", "1", "--limit", "step_lookups=4", NULL};

typedef struct Lookups {
    Cluster cluster;
    Process other;                /* a second gateway, which knows no step */
    char noisy[CLUSTER_KEY_SIZE]; /* keys of two tenants */
    char quiet[CLUSTER_KEY_SIZE];
    int open[LOOKUPS]; /* connections whose look-ups are under way */
} Lookups;

static int
set_up(void **state)
{
    static Lookups lookups;
    *state = &lookups;
    Cluster *cluster = &lookups.cluster;
    ClusterOptions options = {.worker_count = 1, .has_keys = true, .gateway_arguments = arguments};
    if (!cluster_start(cluster, &options)) {
        return -1;
    }
    cluster_make_key(cluster, "noisy", NULL, lookups.noisy);
    cluster_make_key(cluster, "quiet", NULL, lookups.quiet);
    return 0;
}

static int
tear_down(void **state)
{
    Lookups *lookups = *state;
    (void)process_stop(&lookups->other, SIGTERM);
    cluster_stop(&lookups->cluster);
    return 0;
}

static int
start_other(void **state)
{
    Lookups *lookups = *state;
    bool is_there = lookups->other.pid > 0 || cluster_add_gateway(&lookups->cluster, &lookups->other);
    return is_there ? 0 : -1;
}

/* Sends a look-up of a step that was never made, and returns its connection. `suffix` is the part of the path
 * behind the step's id. */
static int
begin_lookup(const Lookups *lookups, const char *key, const char *suffix)
{
    char request[TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    char step[ID_TEXT_SIZE];
    id_to_text("ses", uuid_new(), session);
    id_to_text("stp", uuid_new(), step);
    int fd = raw_open(lookups->cluster.gateway.address);
    (void)snprintf(request, sizeof request,
        "GET /api/v1/sessions/%s/steps/%s%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", session, step, suffix,
        key);
    raw_send_text(fd, request);
    return fd;
}

/* Returns the status of the reply and closes the connection. */
static int
end_lookup(int fd)
{
    char reply[RAW_REPLY_SIZE];
    int status = raw_reply(fd, reply, AWAIT_MS);
    (void)close(fd);
    return status;
}

static int
list_status(Lookups *lookups, const char *key)
{
    const char *const headers[] = {key, NULL};
    AUTO_REST response = {0};
    cluster_send_with(&lookups->cluster, "GET", "/api/v1/sessions", headers, NULL, &response);
    return response.status;
}

static bool
is_answered(int fd)
{
    struct pollfd socket = {.fd = fd, .events = POLLIN};
    return poll(&socket, 1, 0) > 0;
}

/* All look-ups but four at a time would be refused if there were another gateway to ask. */
static void
a_gateway_alone_asks_nobody(void **state)
{
    const Lookups *lookups = *state;
    int open[MANY_LOOKUPS];
    for (int index = 0; index < MANY_LOOKUPS; index++) {
        open[index] = begin_lookup(lookups, lookups->noisy, "");
    }
    for (int index = 0; index < MANY_LOOKUPS; index++) {
        assert_int_equal(end_lookup(open[index]), 404);
    }
}

/* Begins as many look-ups as the tenant may have. */
static void
open_lookups(Lookups *lookups, const char *suffix)
{
    for (int index = 0; index < LOOKUPS; index++) {
        lookups->open[index] = begin_lookup(lookups, lookups->noisy, suffix);
    }
}

/* Returns whether all of them are still under way, and ends them. */
static bool
close_lookups(const Lookups *lookups)
{
    int answered = 0;
    for (int index = 0; index < LOOKUPS; index++) {
        answered += is_answered(lookups->open[index]);
    }
    for (int index = 0; index < LOOKUPS; index++) {
        assert_int_equal(end_lookup(lookups->open[index]), 404);
    }
    return answered == 0;
}

/* Returns whether, while the look-ups of one tenant wait for other gateways, all that may at once, another
 * one's requests are served. A busy machine may be slower than the look-ups wait: then false. */
static bool
others_are_served(Lookups *lookups, const char *suffix)
{
    open_lookups(lookups, suffix);
    int over = end_lookup(begin_lookup(lookups, lookups->noisy, suffix));
    int list = list_status(lookups, lookups->quiet);
    int other = begin_lookup(lookups, lookups->quiet, suffix);
    bool all_wait = close_lookups(lookups);
    assert_int_equal(list, 200);
    assert_int_equal(end_lookup(other), 404);
    return all_wait && over == 429;
}

static void
other_tenants_are_served_while_look_ups_wait(void **state)
{
    Lookups *lookups = *state;
    assert_int_equal(list_status(lookups, lookups->quiet), 200);
    AWAIT(others_are_served(lookups, ""));
    AWAIT(others_are_served(lookups, "/outputs/y"));
    AWAIT(others_are_served(lookups, "/trace"));
}

static bool
is_refused(const Lookups *lookups)
{
    int status = end_lookup(begin_lookup(lookups, lookups->noisy, ""));
    assert_true(status == 404 || status == 429);
    return status == 429;
}

/* Returns whether a further look-up is refused while all wait, and taken once they have hung up. */
static bool
hanging_up_makes_room(Lookups *lookups)
{
    open_lookups(lookups, "");
    bool was_full = is_refused(lookups);
    for (int index = 0; index < LOOKUPS; index++) {
        (void)close(lookups->open[index]);
    }
    AWAIT(!is_refused(lookups));
    return was_full;
}

static void
a_look_up_whose_client_hangs_up_leaves_room_for_others(void **state)
{
    AWAIT(hanging_up_makes_room(*state));
}

/* A client that waits for a step's end is not told that other gateways are being asked too much. */
static bool
waiting_look_ups_go_on(Lookups *lookups)
{
    static char preferring[CLUSTER_KEY_SIZE + 32];
    (void)snprintf(preferring, sizeof preferring, "%s\r\nPrefer: wait=5", lookups->noisy);
    open_lookups(lookups, "");
    bool was_full = is_refused(lookups);
    int waiting = begin_lookup(lookups, preferring, "");
    bool all_wait = close_lookups(lookups);
    assert_int_equal(end_lookup(waiting), 404);
    return was_full && all_wait;
}

static void
a_look_up_that_waits_for_an_end_is_not_refused(void **state)
{
    AWAIT(waiting_look_ups_go_on(*state));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gateway_alone_asks_nobody),
        cmocka_unit_test_setup(other_tenants_are_served_while_look_ups_wait, start_other),
        cmocka_unit_test_setup(a_look_up_whose_client_hangs_up_leaves_room_for_others, start_other),
        cmocka_unit_test_setup(a_look_up_that_waits_for_an_end_is_not_refused, start_other),
    };
    return cmocka_run_group_tests_name("lookups", tests, set_up, tear_down);
}
