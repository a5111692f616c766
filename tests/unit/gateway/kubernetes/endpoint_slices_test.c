/* EndpointSlices, read and kept. */
#include "gateway/kubernetes/endpoint_slices.h"

#include "tests/support/call_fixture.h"

#define META(name) "\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"7\",\"labels\":{\"a\":\"b\"}}"
#define PORTS                                                                                                \
    "\"ports\":[{\"name\":\"metrics\",\"port\":9},{\"name\":\"h2c\",\"port\":8471,\"protocol\":\"TCP\"}]"
#define ENDPOINT(address, conditions)                                                                        \
    "{\"addresses\":[\"" address "\"],\"conditions\":{" conditions "},\"nodeName\":\"n\"}"
#define V4(name, endpoints)                                                                                  \
    "{" META(name) ",\"addressType\":\"IPv4\"," PORTS ",\"endpoints\":[" endpoints "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}"

static EndpointSlices *slices;

static int
set_up(void **state)
{
    slices = endpoint_slices_new(SLICE("h2c"));
    return slices == NULL || call_set_up(state) != 0;
}

static int
tear_down(void **state)
{
    endpoint_slices_free(slices);
    return call_tear_down(state);
}

static void
read_event(Call *call, const char *line)
{
    SliceNews news;
    assert_status(call, STATUS_OK, endpoint_slices_read_event(call, slices, slice_from_string(line), &news));
}

/* Asserts that the endpoints are these, in any order: "10.0.0.1:8471 10.0.0.2:8471!", of which one with '!'
 * takes no steps. */
static void
assert_endpoints(const char *wanted)
{
    AUTO_BUFFER endpoints = {0};
    assert_true(endpoint_slices_collect(slices, &endpoints));
    const Endpoint *items = (const Endpoint *)(const void *)endpoints.data;
    size_t count = endpoints.size / sizeof *items;
    size_t wanted_count = 0;
    Slice rest = slice_from_string(wanted);
    for (Slice one; rest.size > 0 && slice_split(&rest, ' ', &one); wanted_count++) {
        bool is_found = false;
        for (size_t index = 0; index < count; index++) {
            char text[ADDRESS_TEXT_SIZE + 1];
            (void)snprintf(
                text, sizeof text, "%s%s", items[index].address, items[index].takes_steps ? "" : "!");
            is_found = is_found || slice_equals_string(one, text);
        }
        assert_true(is_found);
    }
    assert_int_equal(count, wanted_count);
}

static void
an_endpoint_takes_steps_unless_it_is_not_ready_or_is_being_ended(void **state)
{
    read_event(*state,
        EVENT("ADDED",
            V4("a",
                ENDPOINT("10.0.0.1", "") "," ENDPOINT("10.0.0.2", "\"ready\":null") "," ENDPOINT("10.0.0.3",
                    "\"ready\":true,\"serving\":true,\"terminating\":false") "," ENDPOINT("10.0.0.4",
                    "\"ready\":false") "," ENDPOINT("10.0.0.5", "\"ready\":true,\"terminating\":true"))));
    assert_endpoints("10.0.0.1:8471 10.0.0.2:8471 10.0.0.3:8471 10.0.0.4:8471! 10.0.0.5:8471!");
}

static void
events_add_change_and_delete(void **state)
{
    read_event(*state, EVENT("ADDED", V4("a", ENDPOINT("10.0.0.1", ""))));
    read_event(*state, EVENT("ADDED", V4("b", ENDPOINT("10.0.0.2", ""))));
    assert_endpoints("10.0.0.1:8471 10.0.0.2:8471");
    read_event(*state, EVENT("MODIFIED", V4("a", ENDPOINT("10.0.0.3", ""))));
    assert_endpoints("10.0.0.3:8471 10.0.0.2:8471");
    read_event(*state, EVENT("DELETED", V4("b", ENDPOINT("10.0.0.2", ""))));
    read_event(*state, EVENT("DELETED", V4("unknown", "")));
    assert_endpoints("10.0.0.3:8471");
}

static void
an_address_in_two_slices_is_one_endpoint_that_takes_steps_if_one_says_so(void **state)
{
    read_event(*state, EVENT("ADDED", V4("a", ENDPOINT("10.0.0.1", "\"ready\":false"))));
    read_event(*state, EVENT("ADDED", V4("b", ENDPOINT("10.0.0.1", "\"ready\":true"))));
    assert_endpoints("10.0.0.1:8471");
}

static void
addresses_of_ipv6_have_brackets_and_names_are_no_addresses(void **state)
{
    read_event(*state, EVENT("ADDED", "{" META("a") ",\"addressType\":\"IPv6\"," PORTS
                                                    ",\"endpoints\":[" ENDPOINT("fd00::7", "") "]}"));
    read_event(*state, EVENT("ADDED", "{" META("b") ",\"addressType\":\"FQDN\"," PORTS
                                                    ",\"endpoints\":[" ENDPOINT("w.test", "") "]}"));
    assert_endpoints("[fd00::7]:8471");
}

static void
a_slice_without_the_port_has_no_endpoints(void **state)
{
    static const char *const ports[] = {"null", "[]", "[{\"name\":\"http\",\"port\":80}]",
        "[{\"name\":\"h2c\",\"port\":null}]", "[{\"name\":\"h2c\",\"port\":70000}]", "[{\"port\":8471}]"};
    for (size_t index = 0; index < COUNT_OF(ports); index++) {
        char line[512];
        (void)snprintf(line, sizeof line,
            "{\"type\":\"ADDED\",\"object\":{" META(
                "a") ",\"addressType\":\"IPv4\",\"ports\":%s,\"endpoints\":[" ENDPOINT("10.0.0.1", "") "]}}",
            ports[index]);
        read_event(*state, line);
        assert_endpoints("");
    }
}

static void
the_only_port_is_taken_when_none_is_named(void **state)
{
    endpoint_slices_free(slices);
    slices = endpoint_slices_new(SLICE(""));
    read_event(*state, EVENT("ADDED", V4("two", ENDPOINT("10.0.0.1", ""))));
    read_event(*state,
        EVENT("ADDED",
            "{" META("one") ",\"addressType\":\"IPv4\",\"ports\":[{\"port\":9000}],\"endpoints\":[" ENDPOINT(
                "10.0.0.2", "") "]}"));
    assert_endpoints("10.0.0.2:9000");
}

static void
endpoints_without_an_address_are_passed_over(void **state)
{
    read_event(
        *state, EVENT("ADDED", V4("a", "{\"conditions\":{}},{\"addresses\":[]}," ENDPOINT("10.0.0.1", ""))));
    read_event(
        *state, EVENT("ADDED", "{" META("b") ",\"addressType\":\"IPv4\"," PORTS ",\"endpoints\":null}"));
    assert_endpoints("10.0.0.1:8471");
}

static void
a_list_drops_what_it_does_not_name_when_its_last_page_has_come(void **state)
{
    Call *call = *state;
    SliceNews news;
    read_event(call, EVENT("ADDED", V4("old", ENDPOINT("10.0.0.9", ""))));
    endpoint_slices_begin(slices);
    assert_status(call, STATUS_OK,
        endpoint_slices_read_page(call, slices,
            SLICE("{\"kind\":\"EndpointSliceList\",\"metadata\":{\"resourceVersion\":\"12\",\"continue\":"
                  "\"next\"},\"items\":[" V4("a", ENDPOINT("10.0.0.1", "")) "]}"),
            &news));
    assert_true(
        slice_equals_string(news.resource_version, "12") && slice_equals_string(news.next_page, "next"));
    assert_endpoints("10.0.0.1:8471 10.0.0.9:8471");
    assert_status(call, STATUS_OK,
        endpoint_slices_read_page(
            call, slices, SLICE("{\"metadata\":{\"resourceVersion\":\"12\"},\"items\":null}"), &news));
    assert_int_equal(news.next_page.size, 0);
    endpoint_slices_end(slices);
    assert_endpoints("10.0.0.1:8471");
}

static void
bookmarks_bring_a_version_and_errors_a_code(void **state)
{
    Call *call = *state;
    SliceNews news;
    read_event(call, EVENT("ADDED", V4("a", ENDPOINT("10.0.0.1", ""))));
    assert_status(call, STATUS_OK,
        endpoint_slices_read_event(call, slices,
            SLICE(
                EVENT("BOOKMARK", "{\"kind\":\"EndpointSlice\",\"metadata\":{\"resourceVersion\":\"99\"}}")),
            &news));
    assert_true(slice_equals_string(news.resource_version, "99") && !news.is_error);
    assert_status(call, STATUS_OK,
        endpoint_slices_read_event(call, slices,
            SLICE(EVENT("ERROR", "{\"kind\":\"Status\",\"metadata\":{},\"message\":\"too "
                                 "old\",\"reason\":\"Expired\",\"code\":410}")),
            &news));
    assert_true(news.is_error && news.code == 410 && slice_equals_string(news.message, "too old"));
    assert_int_equal(news.resource_version.size, 0);
    assert_endpoints("10.0.0.1:8471");
}

static void
what_is_no_event_is_refused_and_leaves_what_was_known(void **state)
{
    Call *call = *state;
    static const char *const lines[] = {"", "{", "[]", "{\"type\":\"ADDED\",\"object\":7}",
        EVENT("RENAMED", "{\"metadata\":{}}"), "{\"type\":\"ADDED\"", EVENT("ADDED", V4("a", "7"))};
    SliceNews news;
    read_event(call, EVENT("ADDED", V4("a", ENDPOINT("10.0.0.1", ""))));
    for (size_t index = 0; index < COUNT_OF(lines); index++) {
        assert_int_equal(endpoint_slices_read_event(call, slices, slice_from_string(lines[index]), &news),
            STATUS_INVALID_ARGUMENT);
    }
    assert_endpoints("10.0.0.1:8471");
}

#define SLICES_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SLICES_TEST(an_endpoint_takes_steps_unless_it_is_not_ready_or_is_being_ended),
        SLICES_TEST(events_add_change_and_delete),
        SLICES_TEST(an_address_in_two_slices_is_one_endpoint_that_takes_steps_if_one_says_so),
        SLICES_TEST(addresses_of_ipv6_have_brackets_and_names_are_no_addresses),
        SLICES_TEST(a_slice_without_the_port_has_no_endpoints),
        SLICES_TEST(the_only_port_is_taken_when_none_is_named),
        SLICES_TEST(endpoints_without_an_address_are_passed_over),
        SLICES_TEST(a_list_drops_what_it_does_not_name_when_its_last_page_has_come),
        SLICES_TEST(bookmarks_bring_a_version_and_errors_a_code),
        SLICES_TEST(what_is_no_event_is_refused_and_leaves_what_was_known),
    };
    return cmocka_run_group_tests_name("endpoint_slices", tests, NULL, NULL);
}
