/* onnx::Resize: each mode with each place of positions, larger and smaller, along one dimension and several,
 * in every dtype. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static const char *const places[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
    "align_corners", "asymmetric", "tf_half_pixel_for_nn"};
static const char *const modes[] = {"nearest", "linear", "cubic"};
static const char *const nearest_modes[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

static void
compare_resized(const char *attrs)
{
    const CudaKernelCase cases[] = {
        {"onnx::Resize", attrs, {"T[1,2,3,5]", "", "float32[4] 1 1 2.6 1.5"}},
        {"onnx::Resize", attrs, {"T[7,33]", "", "", "int64[2] 3 10"}},
        {"onnx::Resize", attrs, {"T[5]", "", "float32[1] 0.25"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_mode_finds_the_neighbours_of_every_place(void **state)
{
    (void)state;
    char attrs[160];
    for (size_t mode = 0; mode < COUNT_OF(modes); mode++) {
        for (size_t place = 0; place < COUNT_OF(places); place++) {
            (void)snprintf(attrs, sizeof attrs, "mode=%s; coordinate_transformation_mode=%s", modes[mode],
                places[place]);
            compare_resized(attrs);
        }
    }
}

static void
positions_between_two_elements_go_to_either(void **state)
{
    (void)state;
    char attrs[160];
    for (size_t mode = 0; mode < COUNT_OF(nearest_modes); mode++) {
        (void)snprintf(attrs, sizeof attrs, "nearest_mode=%s", nearest_modes[mode]);
        compare_resized(attrs);
    }
}

static void
antialiased_filters_are_as_wide_as_what_shrinks(void **state)
{
    (void)state;
    compare_resized("mode=linear; antialias=1");
    compare_resized("mode=cubic; antialias=1; exclude_outside=1");
    compare_resized("mode=cubic; cubic_coeff_a=-0.5; exclude_outside=1");
}

#define CROP "coordinate_transformation_mode=tf_crop_and_resize; extrapolation_value=10"

static const CudaKernelCase edges[] = {
    {"onnx::Resize", "mode=linear; " CROP, {"T[4,5]", "float32[4] -0.5 0.2 0.8 1.4", "", "int64[2] 3 7"}},
    {"onnx::Resize", "mode=nearest; " CROP, {"T[4,5]", "float32[4] 0.4 0.2 0.6 0.8", "", "int64[2] 4 5"}},
    {"onnx::Resize", "mode=cubic; axes=[1]; " CROP, {"T[2,5]", "float32[2] 0 1", "", "int64[1] 5"}},
    {"onnx::Resize", "mode=linear", {"T[2,33]", "", "float32[2] 1 1"}},
    {"onnx::Resize", "mode=nearest", {"T[2,33]", "", "", "int64[2] 2 33"}},
    {"onnx::Resize", "mode=linear", {"float32[3] 1 inf nan", "", "float32[1] 2"}},
    {"onnx::Resize", "mode=linear", {"T[300]", "", "float32[1] 2"}},
    {"onnx::Resize", "mode=linear", {"T[0,2]", "", "float32[2] 2 1"}},
    {"onnx::Resize", "mode=linear; antialias=1", {"T[2]", "", "float32[1] 1e-38"}},
    {"onnx::Resize", "mode=nearest", {"T[]", "", "float32[0]", "int64[0]"}},
    {"onnx::Resize", "keep_aspect_ratio_policy=not_larger", {"T[2,4]", "", "", "int64[2] 4 4"}},
    {"onnx::Resize", "mode=spline", {"float32[2]", "", "float32[1] 2"}},
    {"onnx::Resize", "nearest_mode=up", {"float32[2]", "", "float32[1] 2"}},
};

static void
crops_and_tensors_that_keep_their_size(void **state)
{
    (void)state;
    cuda_kernels_compare(edges, COUNT_OF(edges));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("interpolate");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_finds_the_neighbours_of_every_place),
        cmocka_unit_test(positions_between_two_elements_go_to_either),
        cmocka_unit_test(antialiased_filters_are_as_wide_as_what_shrinks),
        cmocka_unit_test(crops_and_tensors_that_keep_their_size),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/interpolate", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
