#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/net/socket.h"
#include "tests/support/cmocka_all.h"

static Call call;

static int
listen_at(const char *address, char ret_address[ADDRESS_TEXT_SIZE])
{
    int fd = -1;
    assert_status(&call, STATUS_OK, socket_listen(&call, address, (ListenOptions){.backlog = 0}, &fd));
    socket_local_address(fd, ret_address);
    return fd;
}

static void
wait_for(int fd, short events)
{
    struct pollfd wanted = {.fd = fd, .events = events};
    assert_int_equal(poll(&wanted, 1, 5000), 1);
}

static int
option_of(int fd, int level, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    assert_int_equal(getsockopt(fd, level, option, &value, &size), 0);
    return value;
}

static void
assert_tuned(int fd)
{
    char algorithm[16] = "";
    socklen_t size = sizeof algorithm;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm, &size), 0);
    assert_string_equal(algorithm, "reno");
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 2);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 3000);
    assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
}

static void
connect_and_exchange(const char *listen_address)
{
    char address[ADDRESS_TEXT_SIZE];
    int listener = listen_at(listen_address, address);
    assert_int_equal(socket_accept(listener), -1);
    int client = -1;
    assert_status(&call, STATUS_OK, socket_connect(&call, address, &client));
    wait_for(client, POLLOUT);
    assert_int_equal(socket_error(client), 0);
    wait_for(listener, POLLIN);
    int server = socket_accept(listener);
    assert_true(server >= 0);
    assert_tuned(client);
    assert_tuned(server);
    assert_int_equal(write(client, "hello", 5), 5);
    char received[8] = "";
    wait_for(server, POLLIN);
    assert_int_equal(read(server, received, sizeof received), 5);
    assert_string_equal(received, "hello");
    socket_close(server);
    socket_close(client);
    socket_close(listener);
}

static void
a_connection_over_ipv4_is_tuned_and_carries_bytes(void **state)
{
    (void)state;
    connect_and_exchange("127.0.0.1:0");
}

static void
a_connection_over_ipv6_is_tuned_and_carries_bytes(void **state)
{
    (void)state;
    int fd = -1;
    if (socket_listen(&call, "[::1]:0", (ListenOptions){.backlog = 0}, &fd) != STATUS_OK) {
        print_message("skipped: no IPv6 loopback\n");
        return;
    }
    socket_close(fd);
    connect_and_exchange("[::1]:0");
}

static void
a_connection_to_a_name_is_made(void **state)
{
    (void)state;
    connect_and_exchange("localhost:0");
}

static void
the_kernel_chooses_port_0(void **state)
{
    (void)state;
    char first_address[ADDRESS_TEXT_SIZE];
    char second_address[ADDRESS_TEXT_SIZE];
    int first = listen_at("127.0.0.1:0", first_address);
    int second = listen_at("127.0.0.1:0", second_address);
    assert_int_equal(strncmp(first_address, "127.0.0.1:", 10), 0);
    assert_string_not_equal(first_address, "127.0.0.1:0");
    assert_string_not_equal(first_address, second_address);
    socket_close(first);
    socket_close(second);
}

static void
a_shared_port_is_bound_once_a_loop_and_a_private_one_once(void **state)
{
    (void)state;
    ListenOptions shared = {.is_shared = true};
    char address[ADDRESS_TEXT_SIZE];
    int first = -1;
    int second = -1;
    int third = -1;
    assert_status(&call, STATUS_OK, socket_listen(&call, "127.0.0.1:0", shared, &first));
    socket_local_address(first, address);
    assert_status(&call, STATUS_OK, socket_listen(&call, address, shared, &second));
    assert_status(&call, STATUS_UNAVAILABLE,
        socket_listen(&call, address, (ListenOptions){.is_shared = false}, &third));
    assert_non_null(strstr(call.error.message, "Address already in use"));
    socket_close(first);
    socket_close(second);
    socket_close(third);
}

static void
a_refused_connection_tells_its_errno(void **state)
{
    (void)state;
    char address[ADDRESS_TEXT_SIZE];
    socket_close(listen_at("127.0.0.1:0", address));
    int fd = -1;
    if (socket_connect(&call, address, &fd) == STATUS_OK) {
        wait_for(fd, POLLOUT);
        assert_int_equal(socket_error(fd), ECONNREFUSED);
    }
    socket_close(fd);
}

static void
an_unreadable_address_is_an_invalid_argument(void **state)
{
    (void)state;
    static const char *const addresses[] = {"", "8080", "127.0.0.1", ":8080", "127.0.0.1:", "127.0.0.1:x",
        "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:080808", "::1:80", "[::1]", "[]:80", "a:b:1",
        "127.0.0.1: 80"};
    for (size_t index = 0; index < COUNT_OF(addresses); index++) {
        int fd = -1;
        assert_status(&call, STATUS_INVALID_ARGUMENT, socket_connect(&call, addresses[index], &fd));
        assert_int_equal(fd, -1);
        assert_status(&call, STATUS_INVALID_ARGUMENT,
            socket_listen(&call, addresses[index], (ListenOptions){.backlog = 0}, &fd));
    }
    int fd = -1;
    assert_status(&call, STATUS_INVALID_ARGUMENT, socket_connect(&call, "8080", &fd));
    assert_string_equal(call.error.message, "'8080' is not an address: 'host:port' or '[ipv6]:port' is");
}

static void
an_unknown_name_is_unavailable(void **state)
{
    (void)state;
    int fd = -1;
    assert_status(&call, STATUS_UNAVAILABLE, socket_connect(&call, "no-such-host.invalid:80", &fd));
    assert_non_null(strstr(call.error.message, "cannot resolve 'no-such-host.invalid:80': "));
}

static void
loopback_addresses_are_known_without_a_lookup(void **state)
{
    (void)state;
    assert_true(address_is_loopback("127.0.0.1:80"));
    assert_true(address_is_loopback("127.8.9.1:80"));
    assert_true(address_is_loopback("[::1]:80"));
    assert_true(address_is_loopback("[::ffff:127.0.0.1]:80"));
    assert_true(address_is_loopback("localhost:80"));
    assert_false(address_is_loopback("0.0.0.0:80"));
    assert_false(address_is_loopback("[::]:80"));
    assert_false(address_is_loopback("10.0.0.1:80"));
    assert_false(address_is_loopback("localhost.example:80"));
    assert_false(address_is_loopback("127.0.0.1"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_over_ipv4_is_tuned_and_carries_bytes),
        cmocka_unit_test(a_connection_over_ipv6_is_tuned_and_carries_bytes),
        cmocka_unit_test(a_connection_to_a_name_is_made),
        cmocka_unit_test(the_kernel_chooses_port_0),
        cmocka_unit_test(a_shared_port_is_bound_once_a_loop_and_a_private_one_once),
        cmocka_unit_test(a_refused_connection_tells_its_errno),
        cmocka_unit_test(an_unreadable_address_is_an_invalid_argument),
        cmocka_unit_test(an_unknown_name_is_unavailable),
        cmocka_unit_test(loopback_addresses_are_known_without_a_lookup),
    };
    return cmocka_run_group_tests_name("socket", tests, NULL, NULL);
}
