/* Lists of tensors on the card: graphs that write, read, join and add up elements there. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_fixture.h"
#include "tests/support/graph_case.h"

static void
run_on_card(const GraphCase *cases, size_t count)
{
    CudaFixture card;
    cuda_fixture_begin(&card);
    graph_cases_run_in(&card.run, cases, count);
    cuda_fixture_end(&card);
}

#define RUN(cases) run_on_card(cases, COUNT_OF(cases))

/* `y` is computed on the card of an element that was read. */
#define BEGIN                                                                                                \
    "x = _Arg() T=float32 index=0\n"                                                                         \
    "i = _Arg() T=int32 index=1\n"                                                                           \
    "n = Const() dtype=int32 value=int32(3)\n"                                                               \
    "i0 = Const() dtype=int32 value=int32(0)\n"                                                              \
    "i1 = Const() dtype=int32 value=int32(1)\n"                                                              \
    "c = Neg(x) T=float32\n"                                                                                 \
    "a = TensorArrayV3(n) dtype=float32 element_shape=<2>\n"

static void
elements_are_written_and_read(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = BEGIN "w = TensorArrayWriteV3(a, i0, c, a:1) T=float32\n"
                        "r = TensorArrayReadV3(a, i, w) dtype=float32\n"
                        "y = Square(r) T=float32\n"
                        "z = TensorArraySizeV3(a, w)\n"
                        "o0 = _Retval(y) T=float32 index=0\n"
                        "o1 = _Retval(z) T=int32 index=1\n",
            .feeds = {"float32[2] 1 2", "int32[] 0"},
            .fetches = {"float32[2] 1 4", "int32[] 3"}},
        {.graph = BEGIN "w = TensorArrayWriteV3(a, i0, c, a:1) T=float32\n"
                        "r = TensorArrayReadV3(a, i, w) dtype=float32\n"
                        "y = Exp(r) T=float32\n"
                        "o0 = _Retval(y) T=float32 index=0\n",
            .feeds = {"float32[2] 1 2", "int32[] 2"},
            .fetches = {"float32[2] 1 1"}}, /* zeros, which were never written */
        {.graph = BEGIN "w = TensorArrayWriteV3(a, i, c, a:1) T=float32\n"
                        "o0 = _Retval(w) T=float32 index=0\n",
            .feeds = {"float32[2] 1 2", "int32[] 3"},
            .error = "index 3 cannot be written in a tensor array of 3 elements that does not grow",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
rows_are_scattered_split_gathered_and_joined(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = BEGIN "s = TensorArrayScatterV3(a, i, c, a:1) T=float32\n"
                        "back = Const() dtype=int32 value=int32<3>(0;1;2)\n"
                        "g = TensorArrayGatherV3(a, back, s) dtype=float32\n"
                        "y = Abs(g) T=float32\n"
                        "o0 = _Retval(y) T=float32 index=0\n",
            .feeds = {"float32[3,2] 1 2 3 4 5 6", "int32[3] 2 0 1"},
            .fetches = {"float32[3,2] 3 4 5 6 1 2"}},
        {.graph = BEGIN "none = _Arg() T=int32 index=2\n"
                        "g = TensorArrayGatherV3(a, none, a:1) dtype=float32\n"
                        "o0 = _Retval(g) T=float32 index=0\n",
            .feeds = {"float32[1] 1", "int32[] 0", "int32[0]"},
            .fetches = {"float32[0,2]"}},
        {.graph = "x = _Arg() T=float32 index=0\n"
                  "n = Const() dtype=int32 value=int32(3)\n"
                  "lengths = Const() dtype=int64 value=int64<3>(1;0;2)\n"
                  "c = Neg(x) T=float32\n"
                  "a = TensorArrayV3(n) dtype=float32\n"
                  "s = TensorArraySplitV3(a, c, lengths, a:1) T=float32\n"
                  "j = TensorArrayConcatV3(a, s) dtype=float32\n"
                  "y = Neg(j) T=float32\n"
                  "o0 = _Retval(y) T=float32 index=0\n"
                  "o1 = _Retval(j:1) T=int64 index=1\n",
            .feeds = {"float32[3,1] 1 2 3"},
            .fetches = {"float32[3,1] 1 2 3", "int64[3] 1 0 2"}},
        {.graph = BEGIN "s = TensorArrayScatterV3(a, i, c, a:1) T=float32\n"
                        "g = TensorArrayGatherV3(a, i, s) dtype=int32\n"
                        "o0 = _Retval(g) T=int32 index=0\n",
            .feeds = {"float32[1,2] 1 2", "int32[1] 0"},
            .error = "an element is float32, not int32",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

/* The first gradient is somebody else's tensor, the sum is the array's own. */
static void
gradients_add_up(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = BEGIN "w = TensorArrayWriteV3(a, i0, c, a:1) T=float32\n"
                        "d = TensorArrayGradV3(a, w) source='grad'\n"
                        "w1 = TensorArrayWriteV3(d, i, x, d:1) T=float32\n"
                        "w2 = TensorArrayWriteV3(d, i, x, w1) T=float32\n"
                        "w3 = TensorArrayWriteV3(d, i, c, w2) T=float32\n"
                        "w4 = TensorArrayWriteV3(d, i, x, w3) T=float32\n"
                        "r = TensorArrayReadV3(d, i, w4) dtype=float32\n"
                        "both = Add(r, x) T=float32\n"
                        "o0 = _Retval(both) T=float32 index=0\n"
                        "o1 = _Retval(x) T=float32 index=1\n",
            .feeds = {"float32[2] 1 20", "int32[] 0"},
            .fetches = {"float32[2] 3 60", "float32[2] 1 20"}},
    };
    RUN(cases);
}

/* A node may ask for the CPU, and a loop may read what another wrote: the elements lie on the card all the
 * same. Integers are the host's. */
static void
elements_lie_where_their_dtype_says(void **state)
{
    (void)state;
    CudaFixture card;
    cuda_fixture_begin(&card);
    AUTO_PARTITION partition =
        fixture_compile(&card.run, "x = _Arg() T=float32 index=0\n"
                                   "k = _Arg() T=int32 index=1\n"
                                   "n = Const() dtype=int32 value=int32(1)\n"
                                   "i0 = Const() dtype=int32 value=int32(0)\n"
                                   "a = TensorArrayV3(n) dtype=float32\n"
                                   "b = TensorArrayV3(n) dtype=int32\n"
                                   "w = TensorArrayWriteV3(a, i0, x, a:1) T=float32 @/device:CPU:0\n"
                                   "r = TensorArrayReadV3(a, i0, w) dtype=float32\n"
                                   "v = TensorArrayWriteV3(b, i0, k, b:1) T=int32\n"
                                   "q = TensorArrayReadV3(b, i0, v) dtype=int32\n"
                                   "o0 = _Retval(r) T=float32 index=0\n"
                                   "o1 = _Retval(q) T=int32 index=1\n");
    for (uint32_t index = 0; index < partition->node_count; index++) {
        const ScheduleNode *node = &partition->nodes[index];
        bool is_there = node->kernel != NULL && node->kernel->handles_list && !device_is_host(node->device);
        bool is_expected =
            slice_equals_string(node->node->name, "w") || slice_equals_string(node->node->name, "r");
        assert_int_equal(is_there, is_expected);
    }
    Tensor args[] = {fixture_vector(&card.run, 300, 7), fixture_vector(&card.run, 1, 0)};
    args[1].dtype = DTYPE_INT32;
    RunOutcome outcome = {0};
    fixture_run(&card.run, partition, NULL, args, COUNT_OF(args), &outcome);
    assert_int_equal(outcome.code, STATUS_OK);
    assert_true(tensor_float(&outcome.outputs[0], 299) == 7);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    cuda_fixture_end(&card);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_written_and_read),
        cmocka_unit_test(rows_are_scattered_split_gathered_and_joined),
        cmocka_unit_test(gradients_add_up),
        cmocka_unit_test(elements_lie_where_their_dtype_says),
    };
    return cmocka_run_group_tests_name("worker/cuda/kernels/list", tests, NULL, NULL);
}
