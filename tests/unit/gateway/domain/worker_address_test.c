/* Addresses under which workers may join. */
#include "gateway/domain/worker_address.h"

#include "tests/support/cmocka_all.h"

static void
assert_all(const char *const *addresses, size_t count, bool is_ok)
{
    for (size_t index = 0; index < count; index++) {
        if (worker_address_is_ok(slice_from_string(addresses[index])) != is_ok) {
            fail_msg("'%s' is %s", addresses[index], is_ok ? "refused" : "taken");
        }
    }
}

static void
numbers_of_one_host_with_a_port_are_taken(void **state)
{
    static const char *const addresses[] = {"127.0.0.1:8471", "10.0.0.7:1", "223.255.255.255:65535",
        "[::1]:8471", "[fd00::7]:8471", "[2001:db8:1:2:3:4:5:6]:8471"};
    (void)state;
    assert_all(addresses, COUNT_OF(addresses), true);
}

static void
names_groups_and_addresses_of_nobody_are_refused(void **state)
{
    static const char *const addresses[] = {"", ":", ":8471", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
        "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80x", "127.0.0.1:08471", "0.0.0.0:8471", "0.1.2.3:8471",
        "224.0.0.1:8471", "255.255.255.255:8471", "localhost:8471", "w1.pool:8471", "1.2.3:8471", "[::]:8471",
        "[ff02::1]:8471", "::1:8471", "[::1]", "[::1]8471", "[]:8471", "127.0.0.1 :8471", " 127.0.0.1:8471",
        "dns:workers:8471", "[127.0.0.1]:8471", "[fd00::7%eth0]:8471",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:1"};
    (void)state;
    assert_all(addresses, COUNT_OF(addresses), false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_one_host_with_a_port_are_taken),
        cmocka_unit_test(names_groups_and_addresses_of_nobody_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
