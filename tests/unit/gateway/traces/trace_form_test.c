/* A trace in each of its forms, whole and when allocations fail. */
#include "gateway/traces/trace_form.h"

#include "shared/base/memory.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

/* A row has node, iteration, scheduled, start, end, thread, output, allocated, scratch, device, pulled. */
static StepTrace *
trace_of(const char *first, const char *second)
{
    StepTrace *trace = memory_new(1, sizeof *trace + 2 * sizeof(TraceSlot));
    assert_non_null(trace);
    trace->reference_count = 1;
    trace->attempt = 1;
    trace->elapsed_ns = 100000;
    trace->slot_count = 2;
    trace->slots[0] =
        (TraceSlot){.task = 3, .sent_ns = 1000, .answered_ns = 90000, .nodes = slice_from_string(first)};
    trace->slots[1] = (TraceSlot){
        .number = 1, .task = 4, .sent_ns = 2000, .answered_ns = 80000, .nodes = slice_from_string(second)};
    return trace;
}

static StepTrace *
usual_trace(void)
{
    return trace_of("{\"elapsed_ns\":50000,\"frames\":[],\"iterations\":[],\"rows\":["
                    "[[\"xw\",\"MatMul\",\"\"],0,500,4000,9500,1,8,8,64,128,0],"
                    "[[\"_send_xw\",\"_Send\",\"a;b;xw;\"],0,9500,9600,9900,1,0,0,0,0,0]],"
                    "\"left_out\":0,\"left_out_iterations\":0}",
        "");
}

static void
step_stats_are_as_tensorflow_writes_them(void **state)
{
    (void)state;
    AUTO_STEP_TRACE trace = usual_trace();
    AUTO_BUFFER json = {0};
    Call call = {0};
    const TraceForm *form = trace_form_find(SLICE("step_stats"));
    assert_non_null(form);
    assert_status(&call, STATUS_OK, form->write(&call, trace, &json));
    assert_string_equal(buffer_string(&json),
        "{\"devStats\":[{\"device\":\"/job:worker/replica:0/task:3/device:CPU:0\",\"nodeStats\":["
        "{\"nodeName\":\"xw\",\"timelineLabel\":\"xw = MatMul()\",\"threadId\":1,"
        "\"scheduledMicros\":1,\"scheduledNanos\":1500,\"allStartMicros\":5,\"allStartNanos\":5000,"
        "\"opStartRelMicros\":0,\"opStartRelNanos\":0,\"opEndRelMicros\":5,\"opEndRelNanos\":5500,"
        "\"allEndRelMicros\":5,\"allEndRelNanos\":5500,"
        "\"memory\":[{\"allocatorName\":\"cpu\",\"totalBytes\":72,\"peakBytes\":72,\"liveBytes\":8,"
        "\"allocatorBytesInUse\":128}],\"memoryStats\":{\"tempMemorySize\":64},"
        "\"output\":[{\"slot\":0,\"tensorDescription\":{\"allocationDescription\":{\"allocatorName\":\"cpu\","
        "\"requestedBytes\":8,\"allocatedBytes\":8}}}]},"
        "{\"nodeName\":\"_send_xw\",\"timelineLabel\":\"_send_xw = _Send(a;b;xw;)\",\"threadId\":1,"
        "\"scheduledMicros\":10,\"scheduledNanos\":10500,\"allStartMicros\":10,\"allStartNanos\":10600,"
        "\"opStartRelMicros\":0,\"opStartRelNanos\":0,\"opEndRelMicros\":0,\"opEndRelNanos\":300,"
        "\"allEndRelMicros\":0,\"allEndRelNanos\":300,"
        "\"memory\":[{\"allocatorName\":\"cpu\",\"totalBytes\":0,\"peakBytes\":0,\"liveBytes\":0,"
        "\"allocatorBytesInUse\":0}],\"memoryStats\":{\"tempMemorySize\":0}}]},"
        "{\"device\":\"/job:worker/replica:0/task:4/device:CPU:0\",\"nodeStats\":[]}]}");
}

static void
a_node_that_a_gpu_computed_is_among_that_devices_own(void **state)
{
    (void)state;
    AUTO_STEP_TRACE trace = trace_of(
        "{\"rows\":[[[\"a\",\"Neg\",\"\"],0,1,2,3,1,0,0,0,0,0],[[\"b\",\"Neg\",\"\"],0,1,2,3,1,0,0,0,0,0]],"
        "\"accelerator\":\"/device:GPU:0\",\"accelerated\":[1]}",
        "");
    AUTO_BUFFER stats = {0};
    AUTO_BUFFER events = {0};
    Call call = {0};
    assert_status(&call, STATUS_OK, trace_form_find(SLICE("step_stats"))->write(&call, trace, &stats));
    const char *host =
        strstr(buffer_string(&stats), "task:3/device:CPU:0\",\"nodeStats\":[{\"nodeName\":\"a\"");
    assert_non_null(host);
    assert_non_null(strstr(host, "task:3/device:GPU:0\",\"nodeStats\":[{\"nodeName\":\"b\""));
    assert_null(strstr(buffer_string(&stats), "task:4/device:GPU:0"));
    assert_status(&call, STATUS_OK, trace_form_find(SLICE("chrome"))->write(&call, trace, &events));
    const char *gpu = strstr(buffer_string(&events), "\"device\":\"/device:GPU:0\"");
    assert_non_null(gpu);
    assert_null(strstr(gpu + 1, "\"device\":"));
}

static void
what_a_worker_told_wrongly_is_refused_in_every_form(void **state)
{
    static const char *const names[] = {"chrome", "step_stats"};
    (void)state;
    AUTO_STEP_TRACE trace = trace_of("", "{\"rows\":7}");
    for (size_t index = 0; index < COUNT_OF(names); index++) {
        AUTO_BUFFER json = {0};
        Call call = {0};
        const TraceForm *form = trace_form_find(slice_from_string(names[index]));
        assert_non_null(form);
        assert_int_equal(form->write(&call, trace, &json), STATUS_INTERNAL);
        assert_non_null(strstr(call.error.message, "the trace of slot 1 cannot be read: "));
    }
    assert_null(trace_form_find(SLICE("xml")));
}

static const TraceForm *subject;

static bool
write_subject(void)
{
    size_t at = fail_alloc_at;
    fail_alloc_at = 0;
    AUTO_STEP_TRACE trace = usual_trace();
    AUTO_BUFFER json = {0};
    Call call = {0};
    fail_alloc_count = 0;
    fail_alloc_at = at;
    Status status = subject->write(&call, trace, &json);
    fail_alloc_at = 0;
    assert_true(status == STATUS_OK || call.error.message[0] != '\0');
    return status == STATUS_OK && buffer_is_ok(&json);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    subject = trace_form_find(SLICE("chrome"));
    assert_each_allocation_may_fail(write_subject, 4);
    subject = trace_form_find(SLICE("step_stats"));
    assert_each_allocation_may_fail(write_subject, 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_stats_are_as_tensorflow_writes_them),
        cmocka_unit_test(a_node_that_a_gpu_computed_is_among_that_devices_own),
        cmocka_unit_test(what_a_worker_told_wrongly_is_refused_in_every_form),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("forms of a trace", tests, NULL, NULL);
}
