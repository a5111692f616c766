#include "shared/wire/messages.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
assert_slice(Slice slice, const char *expected)
{
    assert_int_equal(slice.size, strlen(expected));
    assert_memory_equal(slice.data, expected, slice.size);
}

/* Compares the message alone, without the position that the scanner adds. */
static void
assert_refused(Call *call, Status status, const char *message)
{
    assert_int_equal(status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(call->error.message, message));
}

static void
a_run_comes_back_as_it_was_written(void **state)
{
    WirePeer written_peers[] = {
        {.slot = 1,
            .address = SLICE("127.0.0.1:4711"),
            .incarnation = SLICE("00ff"),
            .push_token = SLICE("cc"),
            .sender_count = 3},
        {.slot = 255, .address = SLICE("[::1]:1"), .incarnation = SLICE("11"), .push_token = SLICE("dd")},
    };
    WireRun run = {
        .partition = SLICE(DIGEST),
        .session = SLICE("ses_1"),
        .attempt = 3,
        .slot = 15,
        .feed_count = 2,
        .fetch_count = 65535,
        .push_token = SLICE("aabb"),
        .memory_limit = INT64_C(1) << 40,
        .open_size = 17,
        .has_trace = true,
        .peers = written_peers,
        .peer_count = COUNT_OF(written_peers),
        .is_once = true,
        .once_age_ms = 12,
        .holder = 5,
        .bound = written_peers + 1,
        .bound_count = 1,
    };
    AUTO_BUFFER json = {0};
    WireRun read;
    wire_run_write(&json, &run);
    assert_int_equal(wire_run_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_slice(read.partition, DIGEST);
    assert_slice(read.session, "ses_1");
    assert_int_equal(read.attempt, 3);
    assert_int_equal(read.slot, 15);
    assert_int_equal(read.feed_count, 2);
    assert_int_equal(read.fetch_count, 65535);
    assert_slice(read.push_token, "aabb");
    assert_true(read.memory_limit == INT64_C(1) << 40);
    assert_int_equal(read.open_size, 17);
    assert_true(read.has_trace);
    assert_int_equal(read.peer_count, 2);
    assert_int_equal(read.peers[0].slot, 1);
    assert_slice(read.peers[0].address, "127.0.0.1:4711");
    assert_slice(read.peers[0].incarnation, "00ff");
    assert_slice(read.peers[0].push_token, "cc");
    assert_int_equal(read.peers[0].sender_count, 3);
    assert_int_equal(read.peers[1].slot, 255);
    assert_slice(read.peers[1].address, "[::1]:1");
    assert_true(read.is_once);
    assert_int_equal(read.once_age_ms, 12);
    assert_int_equal(read.holder, 5);
    assert_int_equal(read.bound_count, 1);
    assert_slice(read.bound[0].push_token, "dd");
}

static void
a_binding_comes_back_as_it_was_written(void **state)
{
    Call *call = *state;
    WirePeer slot = {.slot = 7,
        .address = SLICE("127.0.0.1:4711"),
        .incarnation = SLICE("00ff"),
        .push_token = SLICE("cc")};
    AUTO_BUFFER json = {0};
    AUTO_BUFFER nothing = {0};
    WireBinding read;
    wire_binding_write(
        &json, &(WireBinding){.is_known = true, .attempt = 18, .slots = &slot, .slot_count = 1});
    assert_int_equal(wire_binding_read(call, buffer_slice(&json), &read), STATUS_OK);
    assert_true(read.is_known);
    assert_int_equal(read.attempt, 18);
    assert_int_equal(read.slot_count, 1);
    assert_int_equal(read.slots[0].slot, 7);
    assert_slice(read.slots[0].push_token, "cc");
    wire_binding_write(&nothing, &(WireBinding){.is_known = false});
    assert_int_equal(wire_binding_read(call, buffer_slice(&nothing), &read), STATUS_OK);
    assert_false(read.is_known);
    assert_refused(call, wire_binding_read(call, SLICE("{\"known\":true}"), &read), "'attempt'");
}

#define RUN_HEAD "{\"partition\":\"" DIGEST "\",\"attempt\":1,\"slot\":0"

static void
a_run_has_defaults_for_what_is_optional(void **state)
{
    WireRun run;
    assert_int_equal(wire_run_read(*state, SLICE(RUN_HEAD "}"), &run), STATUS_OK);
    assert_int_equal(run.feed_count, 0);
    assert_int_equal(run.push_token.size, 0);
    assert_int_equal(run.peer_count, 0);
    assert_false(run.has_trace);
    assert_int_equal(wire_run_read(*state, SLICE(RUN_HEAD ",\"trace\":\"none\"}"), &run), STATUS_OK);
    assert_false(run.has_trace);
}

static void
members_of_a_later_version_are_passed_over(void **state)
{
    WireRun run;
    WireStats stats;
    Slice later = SLICE(RUN_HEAD ",\"colour\":{\"a\":[1,2,{\"b\":null}]},"
                                 "\"peers\":[{\"slot\":4,\"zone\":\"x\"}]}");
    assert_int_equal(wire_run_read(*state, later, &run), STATUS_OK);
    assert_int_equal(run.peer_count, 1);
    assert_int_equal(run.peers[0].slot, 4);
    assert_int_equal(
        wire_stats_read(*state, SLICE("{\"joules\":1.5,\"nodes\":7,\"why\":true}"), &stats), STATUS_OK);
    assert_int_equal(stats.node_count, 7);
}

static void
a_run_out_of_range_is_refused(void **state)
{
    static const char *const ranges[] = {
        "{\"partition\":\"" DIGEST "\",\"slot\":0}",
        "{\"partition\":\"" DIGEST "\",\"attempt\":1}",
        "{\"partition\":\"" DIGEST "\",\"attempt\":0,\"slot\":0}",
        "{\"partition\":\"" DIGEST "\",\"attempt\":1,\"slot\":256}",
        "{\"partition\":\"" DIGEST "\",\"attempt\":1,\"slot\":-1}",
        RUN_HEAD ",\"feeds\":-1}",
        RUN_HEAD ",\"feeds\":65536}",
        RUN_HEAD ",\"fetches\":65536}",
        RUN_HEAD ",\"memory_limit\":-1}",
        RUN_HEAD ",\"once_age_ms\":-1}",
        RUN_HEAD ",\"once_age_ms\":2147483648}",
    };
    WireRun run = {.attempt = 99};
    for (size_t index = 0; index < COUNT_OF(ranges); index++) {
        assert_refused(*state, wire_run_read(*state, slice_from_string(ranges[index]), &run),
            "'attempt', 'slot', 'feeds', 'fetches', 'memory_limit' or 'once_age_ms' is missing or out of "
            "range");
    }
    assert_refused(*state,
        wire_run_read(*state, SLICE("{\"partition\":\"00\",\"attempt\":1,\"slot\":0}"), &run),
        "'partition' must be a sha256 digest of 64 hex digits");
    assert_int_equal(run.attempt, 99);
}

static void
a_peer_for_each_slot_is_read_and_one_more_refused(void **state)
{
    AUTO_BUFFER json = {0};
    WireRun run;
    buffer_append_string(&json, RUN_HEAD ",\"peers\":[{\"slot\":0}");
    for (int index = 1; index < SLOT_COUNT_MAX; index++) {
        buffer_append_format(&json, ",{\"slot\":%d}", index);
    }
    size_t size = json.size;
    buffer_append_string(&json, "]}");
    assert_int_equal(wire_run_read(*state, buffer_slice(&json), &run), STATUS_OK);
    assert_int_equal(run.peer_count, SLOT_COUNT_MAX);
    json.size = size;
    buffer_append_string(&json, ",{\"slot\":1}]}");
    assert_refused(*state, wire_run_read(*state, buffer_slice(&json), &run), "more than 256 peers");
}

static void
what_is_no_document_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "null",
        "{",
        RUN_HEAD,
        RUN_HEAD "}x",
        RUN_HEAD ",\"peers\":{}}",
        RUN_HEAD ",\"peers\":[1]}",
        RUN_HEAD ",\"feeds\":1.5}",
        RUN_HEAD ",\"feeds\":9223372036854775808}",
        RUN_HEAD ",\"trace\":1}",
        RUN_HEAD ",\"later\":}",
    };
    for (size_t index = 0; index < COUNT_OF(texts); index++) {
        WireRun run;
        assert_int_equal(
            wire_run_read(*state, slice_from_string(texts[index]), &run), STATUS_INVALID_ARGUMENT);
    }
}

static void
a_status_comes_back_as_it_was_written(void **state)
{
    const Slice digests[] = {SLICE(DIGEST), SLICE("two")};
    WireStatus status = {
        .failure = failure_of(
            STATUS_FAILED_PRECONDITION, SLICE("layer/MatMul"), "a \"quoted\" line\nand more \xc3\xa9"),
        .reason = SLICE("missing_blobs"),
        .incarnation = SLICE("00ff"),
        .lost_peer = SLICE("10.0.0.1:7070"),
        .missing_blobs = digests,
        .missing_blob_count = COUNT_OF(digests),
    };
    AUTO_BUFFER json = {0};
    WireStatus read;
    wire_status_write(&json, &status);
    assert_int_equal(wire_status_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_int_equal(read.failure.code, STATUS_FAILED_PRECONDITION);
    assert_string_equal(read.failure.message, "a \"quoted\" line\nand more \xc3\xa9");
    assert_string_equal(read.failure.node, "layer/MatMul");
    assert_slice(read.reason, "missing_blobs");
    assert_slice(read.incarnation, "00ff");
    assert_slice(read.lost_peer, "10.0.0.1:7070");
    assert_int_equal(read.missing_blob_count, 2);
    assert_slice(read.missing_blobs[0], DIGEST);
    assert_slice(read.missing_blobs[1], "two");
}

static void
every_code_has_a_name_on_the_wire(void **state)
{
    for (int code = STATUS_OK; code <= (int)STATUS_UNAUTHENTICATED; code++) {
        AUTO_BUFFER json = {0};
        WireStatus read;
        wire_status_write(&json, &(WireStatus){.failure.code = (Status)code});
        assert_int_equal(wire_status_read(*state, buffer_slice(&json), &read), STATUS_OK);
        assert_int_equal(read.failure.code, code);
    }
}

static void
a_status_without_a_known_code_is_not_ok(void **state)
{
    WireStatus status;
    assert_int_equal(wire_status_read(*state, SLICE("{}"), &status), STATUS_OK);
    assert_int_equal(status.failure.code, STATUS_UNKNOWN);
    assert_int_equal(
        wire_status_read(*state, SLICE("{\"code\":\"FINE\"}"), &status), STATUS_INVALID_ARGUMENT);
    assert_int_equal(wire_status_read(*state, SLICE("{\"code\":0}"), &status), STATUS_INVALID_ARGUMENT);
    assert_int_equal(
        wire_status_read(*state, SLICE("{\"missing_blobs\":[1]}"), &status), STATUS_INVALID_ARGUMENT);
}

static void
a_fetch_comes_back_as_it_was_written(void **state)
{
    WireFetch fetch = {
        .address = SLICE("10.0.0.1:7070"), .incarnation = SLICE("00ff"), .size = (int64_t)20 << 30};
    AUTO_BUFFER json = {0};
    WireFetch read;
    wire_fetch_write(&json, &fetch);
    assert_int_equal(wire_fetch_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_slice(read.address, "10.0.0.1:7070");
    assert_slice(read.incarnation, "00ff");
    assert_int_equal(read.size, (int64_t)20 << 30);
    assert_refused(*state, wire_fetch_read(*state, SLICE("{\"size\":1}"), &read),
        "'address' or 'size' is missing or out of range");
    assert_refused(*state, wire_fetch_read(*state, SLICE("{\"address\":\"a:1\",\"size\":-1}"), &read),
        "'address' or 'size' is missing or out of range");
}

static void
statistics_come_back_as_they_were_written(void **state)
{
    WireStats stats = {.elapsed_us = 12,
        .computed_us = 11,
        .node_count = 34,
        .bytes_in = INT64_MAX,
        .bytes_out = 56,
        .planned_bytes = 78,
        .peak_bytes = 90};
    AUTO_BUFFER json = {0};
    WireStats read;
    wire_stats_write(&json, &stats);
    assert_int_equal(wire_stats_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_memory_equal(&read, &stats, sizeof stats);
    WireRest rest = {.rests = true, .feed_count = 2, .computed_us = 99};
    WireRest rest_read;
    buffer_clear(&json);
    wire_rest_write(&json, &rest);
    assert_int_equal(wire_rest_read(*state, buffer_slice(&json), &rest_read), STATUS_OK);
    assert_true(rest_read.rests && rest_read.feed_count == 2 && rest_read.computed_us == 99);
}

static void
a_worker_comes_back_as_it_was_written(void **state)
{
    WireDevice device = {.type = SLICE("CPU"),
        .id = 0,
        .isa = SLICE("avx2"),
        .thread_count = 8,
        .slot_count = 6,
        .memory_limit = INT64_C(1) << 40,
        .memory_in_use = 5};
    WireWorker worker = {
        .name = SLICE("w1"),
        .incarnation = SLICE("0123456789abcdef"),
        .state = SLICE("draining"),
        .running_count = 3,
        .partition_count = 4,
        .devices = &device,
        .device_count = 1,
    };
    AUTO_BUFFER json = {0};
    WireWorker read;
    wire_worker_write(&json, &worker);
    assert_int_equal(wire_worker_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_slice(read.name, "w1");
    assert_slice(read.incarnation, "0123456789abcdef");
    assert_slice(read.state, "draining");
    assert_int_equal(read.running_count, 3);
    assert_int_equal(read.partition_count, 4);
    assert_int_equal(read.device_count, 1);
    assert_slice(read.devices[0].type, "CPU");
    assert_slice(read.devices[0].isa, "avx2");
    assert_int_equal(read.devices[0].thread_count, 8);
    assert_int_equal(read.devices[0].slot_count, 6);
    assert_true(read.devices[0].memory_limit == INT64_C(1) << 40);
    assert_int_equal(read.devices[0].memory_in_use, 5);
}

static void
a_gpu_comes_back_with_its_card_and_libraries(void **state)
{
    const WireLibrary libraries[] = {
        {.name = SLICE("cuBLAS"), .version = SLICE("13.1.0.3")},
        {.name = SLICE("cuDNN"), .reason = SLICE("libcudnn.so.9 was not found")},
    };
    const WireDevice devices[] = {
        {.type = SLICE("CPU"), .isa = SLICE("avx2"), .thread_count = 8, .slot_count = 8},
        {.type = SLICE("GPU"),
            .isa = SLICE("sm_90/132"),
            .memory_limit = INT64_C(80) << 30,
            .card = SLICE("NVIDIA H100"),
            .driver = SLICE("580.65"),
            .fault = SLICE("an illegal address"),
            .libraries = libraries,
            .library_count = COUNT_OF(libraries)},
    };
    WireWorker worker = {.name = SLICE("w1"),
        .incarnation = SLICE("0123456789abcdef"),
        .devices = devices,
        .device_count = COUNT_OF(devices)};
    AUTO_BUFFER json = {0};
    WireWorker read;
    wire_worker_write(&json, &worker);
    assert_int_equal(wire_worker_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_int_equal(read.device_count, 2);
    assert_int_equal(read.devices[0].library_count, 0);
    assert_int_equal(read.devices[0].card.size, 0);
    assert_slice(read.devices[1].card, "NVIDIA H100");
    assert_slice(read.devices[1].driver, "580.65");
    assert_slice(read.devices[1].fault, "an illegal address");
    assert_int_equal(read.devices[1].library_count, 2);
    assert_slice(read.devices[1].libraries[0].version, "13.1.0.3");
    assert_int_equal(read.devices[1].libraries[0].reason.size, 0);
    assert_slice(read.devices[1].libraries[1].name, "cuDNN");
    assert_slice(read.devices[1].libraries[1].reason, "libcudnn.so.9 was not found");
    assert_int_equal(read.no_gpu.size, 0);
}

static void
a_worker_tells_why_it_has_no_gpu(void **state)
{
    WireWorker worker = {
        .name = SLICE("w1"), .incarnation = SLICE("0123456789abcdef"), .no_gpu = SLICE("no CUDA driver")};
    AUTO_BUFFER json = {0};
    WireWorker read;
    wire_worker_write(&json, &worker);
    assert_int_equal(wire_worker_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_slice(read.no_gpu, "no CUDA driver");
}

static void
an_assignment_comes_back_as_it_was_written(void **state)
{
    const Slice on_gpu[] = {SLICE("a"), SLICE("b/c")};
    const Slice on_host[] = {SLICE("s")};
    const Slice copies[] = {SLICE("a:0/_copy_to_host")};
    const WireNodes groups[] = {
        {.device = SLICE("/device:GPU:0"), .count = 2, .names = on_gpu, .name_count = 2},
        {.device = SLICE("/device:CPU:0"),
            .reason = SLICE("it follows from shapes"),
            .count = 1,
            .names = on_host,
            .name_count = 1},
    };
    WireAssignment assignment = {
        .groups = groups, .group_count = 2, .copy_count = 1, .copies = copies, .copy_name_count = 1};
    AUTO_BUFFER json = {0};
    WireAssignment read;
    wire_assignment_write(&json, &assignment);
    assert_int_equal(wire_assignment_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_int_equal(read.group_count, 2);
    assert_slice(read.groups[0].device, "/device:GPU:0");
    assert_int_equal(read.groups[0].reason.size, 0);
    assert_int_equal(read.groups[0].count, 2);
    assert_slice(read.groups[0].names[1], "b/c");
    assert_slice(read.groups[1].reason, "it follows from shapes");
    assert_int_equal(read.copy_count, 1);
    assert_slice(read.copies[0], "a:0/_copy_to_host");
    buffer_clear(&json);
    wire_assignment_write(&json, &(WireAssignment){0});
    assert_slice(buffer_slice(&json), "{}"); /* as workers answered before there were accelerators */
    assert_int_equal(wire_assignment_read(*state, SLICE("{}"), &read), STATUS_OK);
    assert_int_equal(read.group_count, 0);
}

static void
an_assignment_names_as_many_nodes_as_there_is_room_for_and_counts_all(void **state)
{
    enum { NODES = 100000 };
    static Slice names[NODES];
    for (int index = 0; index < NODES; index++) {
        names[index] = SLICE("a_node_of_a_large_graph");
    }
    WireNodes group = {.device = SLICE("/device:GPU:0"), .count = NODES, .names = names, .name_count = NODES};
    WireAssignment assignment = {.groups = &group, .group_count = 1};
    AUTO_BUFFER json = {0};
    WireAssignment read;
    wire_assignment_write(&json, &assignment);
    assert_true(json.size > WIRE_NAMES_SIZE_MAX / 2 && json.size < 2 * WIRE_NAMES_SIZE_MAX);
    assert_int_equal(wire_assignment_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_int_equal(read.groups[0].count, NODES);
    assert_int_equal(read.groups[0].name_count, WIRE_NAMES_SIZE_MAX / sizeof "a_node_of_a_large_graph");
}

static void
a_worker_without_a_name_or_with_too_many_devices_is_refused(void **state)
{
    AUTO_BUFFER json = {0};
    WireWorker worker;
    assert_refused(*state, wire_worker_read(*state, SLICE("{\"incarnation\":\"0123456789abcdef\"}"), &worker),
        "'name' or 'incarnation' is missing");
    assert_refused(*state, wire_worker_read(*state, SLICE("{\"name\":\"w\",\"incarnation\":\"0\"}"), &worker),
        "'name' or 'incarnation' is missing");
    buffer_append_string(&json, "{\"devices\":[{}");
    for (int index = 0; index < WIRE_DEVICE_COUNT_MAX; index++) {
        buffer_append_string(&json, ",{}");
    }
    buffer_append_string(&json, "]}");
    assert_refused(*state, wire_worker_read(*state, buffer_slice(&json), &worker), "more than 64 devices");
    buffer_clear(&json);
    buffer_append_string(&json, "{\"devices\":[{\"libraries\":[{}");
    for (int index = 0; index < WIRE_LIBRARY_COUNT_MAX; index++) {
        buffer_append_string(&json, ",{}");
    }
    buffer_append_string(&json, "]}]}");
    assert_refused(*state, wire_worker_read(*state, buffer_slice(&json), &worker), "more than 32 libraries");
}

static void
a_worker_with_more_slots_than_can_be_added_up_is_refused(void **state)
{
    WireWorker worker;
    assert_refused(*state,
        wire_worker_read(*state,
            SLICE("{\"name\":\"w\",\"incarnation\":\"0123456789abcdef\",\"devices\":[{\"threads\":4,"
                  "\"slots\":9223372036854775807}]}"),
            &worker),
        "a device has 4 threads and 9223372036854775807 slots, each may be 0 to 65536");
}

static void
a_key_goes_into_a_path_and_comes_back(void **state)
{
    const Call *call = *state;
    char bytes[256];
    AUTO_BUFFER text = {0};
    AUTO_BUFFER all = {0};
    Slice key;
    for (int byte = 0; byte < 256; byte++) {
        bytes[byte] = (char)byte;
    }
    wire_key_encode(&text, SLICE("/slot:0;a-b_c.d~E9"));
    assert_slice(buffer_slice(&text), "%2Fslot%3A0%3Ba-b_c.d~E9");
    wire_key_encode(&all, slice_of(bytes, sizeof bytes));
    assert_true(wire_key_decode(call->arena, buffer_slice(&all), &key));
    assert_true(slice_equal(key, slice_of(bytes, sizeof bytes)));
    assert_true(wire_key_decode(call->arena, SLICE(""), &key));
    assert_int_equal(key.size, 0);
}

static void
a_broken_escape_is_refused(void **state)
{
    static const char *const texts[] = {"%", "a%2", "%G0", "%0g", "%2f", "%-1", "% 1"};
    const Call *call = *state;
    for (size_t index = 0; index < COUNT_OF(texts); index++) {
        Slice key;
        assert_false(wire_key_decode(call->arena, slice_from_string(texts[index]), &key));
    }
}

static void
a_reset_comes_back_as_it_was_written(void **state)
{
    Call *call = *state;
    const Slice containers[] = {SLICE("localhost"), SLICE("a \"b\"")};
    WireReset written = {.session = SLICE("ses_1"), .containers = containers, .container_count = 2};
    AUTO_BUFFER json = {0};
    AUTO_BUFFER answer = {0};
    WireReset reset = {0};
    int64_t count = 0;
    wire_reset_write(&json, &written);
    assert_status(call, STATUS_OK, wire_reset_read(call, buffer_slice(&json), &reset));
    assert_true(slice_equals_string(reset.session, "ses_1"));
    assert_int_equal(reset.container_count, 2);
    assert_true(slice_equals_string(reset.containers[1], "a \"b\""));
    wire_reset_answer_write(&answer, 7);
    assert_status(call, STATUS_OK, wire_reset_answer_read(call, buffer_slice(&answer), &count));
    assert_int_equal(count, 7);
    assert_status(call, STATUS_INVALID_ARGUMENT, wire_reset_answer_read(call, SLICE("{}"), &count));
    assert_status(
        call, STATUS_INVALID_ARGUMENT, wire_reset_read(call, SLICE("{\"containers\":[1]}"), &reset));
}

static void
reading_survives_the_loss_of_any_allocation(void **state)
{
    (void)state;
    Slice json = SLICE("{\"code\":\"ABORTED\",\"message\":\"a\\nb\",\"missing_blobs\":[\"a\\u0041\"]}");
    for (size_t at = 1; at < 20; at++) {
        AUTO_ARENA arena = arena_new(1 << 20);
        Call call = {.arena = arena};
        WireStatus status = {.failure.code = STATUS_INTERNAL};
        assert_non_null(arena);
        fail_alloc_count = 0;
        fail_alloc_at = at;
        Status read = wire_status_read(&call, json, &status);
        fail_alloc_at = 0;
        assert_int_equal(status.failure.code, read == STATUS_OK ? STATUS_ABORTED : STATUS_INTERNAL);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_run_comes_back_as_it_was_written),
        CALL_TEST(a_binding_comes_back_as_it_was_written),
        CALL_TEST(a_run_has_defaults_for_what_is_optional),
        CALL_TEST(members_of_a_later_version_are_passed_over),
        CALL_TEST(a_run_out_of_range_is_refused),
        CALL_TEST(a_peer_for_each_slot_is_read_and_one_more_refused),
        CALL_TEST(what_is_no_document_is_refused),
        CALL_TEST(a_status_comes_back_as_it_was_written),
        CALL_TEST(every_code_has_a_name_on_the_wire),
        CALL_TEST(a_status_without_a_known_code_is_not_ok),
        CALL_TEST(a_fetch_comes_back_as_it_was_written),
        CALL_TEST(statistics_come_back_as_they_were_written),
        CALL_TEST(a_worker_comes_back_as_it_was_written),
        CALL_TEST(a_gpu_comes_back_with_its_card_and_libraries),
        CALL_TEST(a_worker_tells_why_it_has_no_gpu),
        CALL_TEST(an_assignment_comes_back_as_it_was_written),
        CALL_TEST(an_assignment_names_as_many_nodes_as_there_is_room_for_and_counts_all),
        CALL_TEST(a_worker_without_a_name_or_with_too_many_devices_is_refused),
        CALL_TEST(a_worker_with_more_slots_than_can_be_added_up_is_refused),
        CALL_TEST(a_reset_comes_back_as_it_was_written),
        CALL_TEST(a_key_goes_into_a_path_and_comes_back),
        CALL_TEST(a_broken_escape_is_refused),
        cmocka_unit_test(reading_survives_the_loss_of_any_allocation),
    };
    return cmocka_run_group_tests_name("wire/messages", tests, NULL, NULL);
}
