#include "worker/cuda/kernel_name.h"

#include "tests/support/cmocka_all.h"

enum { NAME_SIZE = 48 };

static void
expect_name(const char *symbol, const char *expected)
{
    char name[NAME_SIZE];
    kernel_name_read(symbol, name, sizeof name);
    assert_string_equal(name, expected);
}

static void
mangled_names_lose_their_types(void **state)
{
    (void)state;
    expect_name("_Z3addPKfS0_Pf", "add");
    expect_name("_ZN6sluice3addIfEEvPKT_", "sluice::add");
    expect_name("_ZN12_GLOBAL__N_16unary_I3NegEEvT_", "unary_");
    expect_name("_ZN54_GLOBAL__N__0123456789abcdef_0_elementwise_cu_0123456711elementwise", "elementwise");
}

static void
other_names_stay_as_they_are(void **state)
{
    (void)state;
    expect_name("sm90_xmma_gemm_f32f32", "sm90_xmma_gemm_f32f32");
    expect_name("", "");
    expect_name("_Z", "_Z");
    expect_name("_ZN", "_ZN");
    expect_name("_Z99short", "_Z99short");
    expect_name("_ZNK", "_ZNK");
}

static void
long_names_are_cut(void **state)
{
    (void)state;
    char name[8];
    kernel_name_read("_ZN6sluice11elementwiseEv", name, sizeof name);
    assert_string_equal(name, "sluice:");
    kernel_name_read("a_plain_name", name, sizeof name);
    assert_string_equal(name, "a_plain");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mangled_names_lose_their_types),
        cmocka_unit_test(other_names_stay_as_they_are),
        cmocka_unit_test(long_names_are_cut),
    };
    return cmocka_run_group_tests_name("worker/cuda/kernel_name", tests, NULL, NULL);
}
