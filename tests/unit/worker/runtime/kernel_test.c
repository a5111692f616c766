#include "tests/support/cmocka_all.h"

#include "worker/cpu/device.h"
#include "worker/runtime/kernel.h"

typedef struct Fixture {
    Call call;
    Device *device;
    Tensor inputs[2];
    Tensor outputs[2];
    KernelContext context;
} Fixture;

static void
fill(Fixture *fixture, uint32_t input, Dtype dtype, int64_t count)
{
    Shape shape = shape_vector(count);
    Tensor *tensor = &fixture->inputs[input];
    size_t size = 0;
    assert_true(shape_byte_size(&shape, dtype, &size));
    *tensor = (Tensor){.dtype = dtype, .shape = shape};
    tensor->buffer = fixture->device->allocate(fixture->device, size);
    tensor->data = tensor->buffer->data;
    memset(tensor->data, 1, size);
}

static void
begin(Fixture *fixture)
{
    *fixture = (Fixture){0};
    CpuDeviceOptions options = {.thread_count = 1, .memory_limit = 1024 * 1024};
    assert_status(&fixture->call, STATUS_OK, cpu_device_new(&fixture->call, &options, &fixture->device));
    fixture->context = (KernelContext){
        .call = &fixture->call,
        .device = fixture->device,
        .inputs = fixture->inputs,
        .input_count = 2,
        .outputs = fixture->outputs,
        .output_count = 2,
    };
}

static void
end(Fixture *fixture)
{
    for (int i = 0; i < 2; i++) {
        tensor_unref(&fixture->inputs[i]);
        tensor_unref(&fixture->outputs[i]);
    }
    DeviceMemory memory = {0};
    fixture->device->memory(fixture->device, &memory);
    assert_int_equal(memory.in_use, 0);
    cpu_device_free(fixture->device);
}

static void
an_output_is_device_memory_of_the_wanted_shape(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    Tensor *output = NULL;
    Shape shape = shape_vector(10);
    assert_status(
        &fixture.call, STATUS_OK, kernel_output(&fixture.context, 1, DTYPE_FLOAT32, &shape, &output));
    assert_ptr_equal(output, &fixture.outputs[1]);
    assert_int_equal(tensor_byte_size(output), 40);
    shape = shape_vector(0);
    assert_status(
        &fixture.call, STATUS_OK, kernel_output(&fixture.context, 0, DTYPE_FLOAT32, &shape, &output));
    assert_null(output->data);
    end(&fixture);
}

static void
an_output_past_the_limit_is_refused_with_sizes(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    Tensor *output = NULL;
    Shape shape = shape_vector(1024 * 1024);
    assert_status(&fixture.call, STATUS_RESOURCE_EXHAUSTED,
        kernel_output(&fixture.context, 0, DTYPE_FLOAT32, &shape, &output));
    assert_string_equal(fixture.call.error.message,
        "output 0 of type float32 and shape [1048576] needs 4194304 bytes, but 0 of 1048576 bytes of "
        "the memory of /device:CPU:0 are in use");
    shape = shape_vector(INT64_MAX / 2);
    assert_status(&fixture.call, STATUS_RESOURCE_EXHAUSTED,
        kernel_output(&fixture.context, 0, DTYPE_FLOAT32, &shape, &output));
    end(&fixture);
}

static void
an_input_nobody_else_holds_is_reused_and_stays_readable(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    fill(&fixture, 0, DTYPE_FLOAT32, 10);
    void *data = fixture.inputs[0].data;
    Tensor *output = NULL;
    Shape shape = {.rank = 2, .dims = {2, 5}};
    assert_status(
        &fixture.call, STATUS_OK, kernel_forward(&fixture.context, 0, 0, DTYPE_INT32, &shape, &output));
    assert_ptr_equal(output->data, data);
    assert_ptr_equal(fixture.inputs[0].data, data);
    assert_null(fixture.inputs[0].buffer);
    end(&fixture);
}

static void
a_shared_input_or_one_of_another_size_is_not_reused(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    fill(&fixture, 0, DTYPE_FLOAT32, 10);
    AUTO_TENSOR other = tensor_ref(&fixture.inputs[0]);
    Tensor *output = NULL;
    Shape shape = shape_vector(10);
    assert_status(
        &fixture.call, STATUS_OK, kernel_forward(&fixture.context, 0, 0, DTYPE_FLOAT32, &shape, &output));
    assert_ptr_not_equal(output->data, fixture.inputs[0].data);
    tensor_unref(&other);
    assert_status(
        &fixture.call, STATUS_OK, kernel_forward(&fixture.context, 0, 1, DTYPE_FLOAT64, &shape, &output));
    assert_ptr_not_equal(output->data, fixture.inputs[0].data);
    end(&fixture);
}

static void
one_input_may_be_aliased_twice(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    fill(&fixture, 0, DTYPE_FLOAT32, 10);
    Shape shape = {.rank = 2, .dims = {2, 5}};
    kernel_alias(&fixture.context, 0, 0, &fixture.inputs[0].shape);
    kernel_alias(&fixture.context, 0, 1, &shape);
    assert_ptr_equal(fixture.outputs[0].data, fixture.outputs[1].data);
    assert_int_equal(fixture.outputs[1].shape.rank, 2);
    assert_false(tensor_is_unique(&fixture.outputs[0]));
    end(&fixture);
}

static void
integer_inputs_are_read_and_refused_with_a_sentence(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    int64_t values[3] = {0};
    size_t count = 0;
    fill(&fixture, 0, DTYPE_INT32, 3);
    assert_status(&fixture.call, STATUS_OK, kernel_input_ints(&fixture.context, 0, values, 3, &count));
    assert_int_equal(count, 3);
    assert_int_equal(values[2], 0x01010101);
    assert_status(
        &fixture.call, STATUS_INVALID_ARGUMENT, kernel_input_ints(&fixture.context, 0, values, 2, &count));
    assert_string_equal(fixture.call.error.message, "input 0 must have at most 2 elements, not 3");
    fill(&fixture, 1, DTYPE_FLOAT32, 3);
    assert_status(
        &fixture.call, STATUS_INVALID_ARGUMENT, kernel_input_ints(&fixture.context, 1, values, 3, &count));
    assert_string_equal(fixture.call.error.message, "input 1 must be integers, not float32");
    end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_is_device_memory_of_the_wanted_shape),
        cmocka_unit_test(an_output_past_the_limit_is_refused_with_sizes),
        cmocka_unit_test(an_input_nobody_else_holds_is_reused_and_stays_readable),
        cmocka_unit_test(a_shared_input_or_one_of_another_size_is_not_reused),
        cmocka_unit_test(one_input_may_be_aliased_twice),
        cmocka_unit_test(integer_inputs_are_read_and_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
