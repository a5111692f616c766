/* Ops and reference kernels belong together. */
#include "shared/ops/registry.h"
#include "tests/support/cmocka_all.h"
#include "worker/runtime/kernel.h"

static const Kernel *
find_kernel(Slice name)
{
    for (size_t family = 0; family < reference_table_count; family++) {
        for (size_t index = 0; index < reference_table[family]->kernel_count; index++) {
            if (slice_equals_string(name, reference_table[family]->kernels[index].op)) {
                return &reference_table[family]->kernels[index];
            }
        }
    }
    return NULL;
}

/* What the runtime itself does: edges of a partition and control flow. */
static bool
is_done_by_the_runtime(const Op *op)
{
    return (op->name.data[0] == '_' && !slice_starts_with(op->name, SLICE("_Fused"))) ||
           (op->flags & OP_CONTROL_FLOW) != 0;
}

static void
every_op_has_a_reference_kernel(void **state)
{
    (void)state;
    size_t lacking = 0;
    for (size_t index = 0; index < op_count(); index++) {
        const Op *op = op_at(index);
        if (!is_done_by_the_runtime(op) && find_kernel(op->name) == NULL) {
            print_error("'%.*s' has no reference kernel\n", SLICE_PRINT(op->name));
            lacking++;
        }
    }
    assert_int_equal(lacking, 0);
}

static void
every_reference_kernel_has_an_op(void **state)
{
    (void)state;
    size_t lacking = 0;
    for (size_t family = 0; family < reference_table_count; family++) {
        for (size_t index = 0; index < reference_table[family]->kernel_count; index++) {
            const char *name = reference_table[family]->kernels[index].op;
            if (op_find(slice_from_string(name)) == NULL) {
                print_error("'%s' has a kernel, but is no op\n", name);
                lacking++;
            }
        }
    }
    assert_int_equal(lacking, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_a_reference_kernel),
        cmocka_unit_test(every_reference_kernel_has_an_op),
    };
    return cmocka_run_group_tests_name("reference/coverage", tests, NULL, NULL);
}
