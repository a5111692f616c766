/* Images sampled at given positions, against ONNX Runtime's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
a_grid_samples_an_image(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::GridSample",
            .attrs = "mode=linear; padding_mode=zeros; align_corners=0",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] 1.397693 0.4266335 -0.7433714 -0.1821468 1.327721 1.113497 0.9638469 "
                "-0.3012669"},
            .outputs = {"float32[1,2,2,2] 0 3.941146 0.02220718 -2.25411 0 -1.532901 -0.02498308 -2.877782"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=linear; padding_mode=zeros; align_corners=1",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] -0.01953555 0.4947302 -1.229752 0.1556691 -0.6399355 1.063023 -1.2202 "
                "0.5017083"},
            .outputs = {"float32[1,2,2,2] -2.366977 3.491527 -0.1502789 2.725305 -5.433499 -0.4287898 "
                        "-8.43279 -3.132523"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=linear; padding_mode=border; align_corners=0",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] 1.036248 -0.7635081 1.107255 1.042147 -1.348152 0.5809876 -1.396641 "
                "0.009419103"},
            .outputs = {"float32[1,2,2,2] -9 8 2.385556 4.957614 -3 -9 -7.714814 0.8587132"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=linear; padding_mode=border; align_corners=1",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] -0.1773323 -0.8308921 -0.4901606 0.8574029 -0.5139341 -0.9826919 0.5558336 "
                "-0.1440765"},
            .outputs = {"float32[1,2,2,2] 3.870594 -0.6312453 3.939445 -0.7809459 -4.308539 -7.792134 "
                        "-6.463893 -4.586826"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=linear; padding_mode=reflection; align_corners=0",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] 0.8370306 -0.7405539 -0.504603 0.8396627 0.01979079 0.017878 -0.7386565 "
                "-1.359298"},
            .outputs = {"float32[1,2,2,2] -8.999999 0.5414269 -1.042008 3.077895 -3 -9 -2.33217 -8.610522"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=linear; padding_mode=reflection; align_corners=1",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] 1.213027 -1.159688 0.965795 -0.3699339 1.262864 -0.2816093 1.222038 "
                "0.1572474"},
            .outputs = {"float32[1,2,2,2] -5.0907 -3.173807 -1.686972 0.6518773 -3.647671 -5.425161 "
                        "-5.003391 -6.37888"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=nearest; padding_mode=zeros; align_corners=0",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] -0.7276211 0.6759807 0.4882912 0.5157746 -0.1012918 -0.778712 0.3946324 "
                "-1.100149"},
            .outputs = {"float32[1,2,2,2] 2 8 5 0 -9 -9 -4 0"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=nearest; padding_mode=zeros; align_corners=1",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] 0.5382224 0.379083 -0.3457649 0.8358654 -0.8567287 -0.306715 0.8342149 "
                "-0.334669"},
            .outputs = {"float32[1,2,2,2] 0 -4 5 0 -7 -9 1 -7"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=nearest; padding_mode=border; align_corners=0",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] 0.597122 0.3150499 1.234803 1.376695 0.6262935 0.8647627 -0.9719779 "
                "0.5960928"},
            .outputs = {"float32[1,2,2,2] 0 8 8 2 -7 -9 -9 -9"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=nearest; padding_mode=border; align_corners=1",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] 0.9733483 -0.2765679 0.1491001 -0.05743429 1.283864 -0.5116221 -0.2741633 "
                "-1.397425"},
            .outputs = {"float32[1,2,2,2] 0 -1 -9 5 -7 -2 -3 -4"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=nearest; padding_mode=reflection; align_corners=0",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] -0.2234833 0.3680211 1.217891 1.186294 -0.4834205 1.368811 -0.8745102 "
                "0.9051057"},
            .outputs = {"float32[1,2,2,2] -4 8 2 2 -9 -9 -9 -9"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=nearest; padding_mode=reflection; align_corners=1",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] -0.9596735 -0.2657238 -1.194275 1.002509 0.9206346 -1.00859 0.07589813 "
                "-0.6772038"},
            .outputs = {"float32[1,2,2,2] 5 2 -9 5 1 -9 -3 -4"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=cubic; padding_mode=zeros; align_corners=0",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] -0.02302804 0.1489768 -1.102466 1.020252 -0.6196503 -0.1480547 -1.239676 "
                "-1.392313"},
            .outputs = {"float32[1,2,2,2] -2.252256 0.3842046 4.986786 -0.01824295 -3.258871 -1.682965 "
                        "-0.3163455 0.06244437"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=cubic; padding_mode=zeros; align_corners=1",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] -0.8535534 -0.4433095 1.198718 1.091239 -0.05459715 -0.1266725 0.4675805 "
                "1.004514"},
            .outputs = {"float32[1,2,2,2] 4.873158 7.60722 0.1940212 1.668235 -3.204774 -6.941848 -1.473222 "
                        "-9.767744"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=cubic; padding_mode=border; align_corners=0",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] -0.455567 0.8222327 -0.2828357 0.2633509 0.6649076 0.003800172 0.5341722 "
                "0.5524778"},
            .outputs = {"float32[1,2,2,2] -0.7642719 -0.6688247 0.07020766 4.974158 -9.963479 -2.937423 "
                        "-7.015601 -8.642632"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=cubic; padding_mode=border; align_corners=1",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] -1.384004 -1.290617 -0.9826927 -0.8018216 -0.8309991 -1.262896 -0.7918081 "
                "0.2826526"},
            .outputs = {"float32[1,2,2,2] 3 3.429829 3.540726 3.029134 -9 -6.975127 -8.28901 -0.9724552"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=cubic; padding_mode=reflection; align_corners=0",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] 1.08101 -0.4213893 -0.3740666 -0.2331232 0.504957 0.7987671 1.234683 "
                "-0.3480399"},
            .outputs = {"float32[1,2,2,2] -8.001829 3.649344 5.838829 -6.181681 -4.535273 -1.21817 -9.356817 "
                        "-4.939205"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .attrs = "mode=cubic; padding_mode=reflection; align_corners=1",
            .inputs = {"float32[1,2,3,3] 3 5 -9 5 -1 0 2 -4 8 -9 -4 -3 1 -2 -7 -9 -9 -9",
                "float32[1,2,2,2] 0.5789678 -0.4434248 0.907205 -0.7541831 1.038838 0.01429471 0.6309633 "
                "0.09798044"},
            .outputs = {"float32[1,2,2,2] -3.216115 -7.978889 0.1710853 0.1198608 -3.920727 -3.380305 "
                        "-7.050413 -6.420207"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .inputs = {"float32[1,1,2,3,2] 4 -4 1 -1 4 -9 -5 -9 8 0 -1 -1",
                "float32[1,1,2,2,3] 0.7995296 -1.151706 0.1365211 -0.02247095 0.2351931 0.5509887 0.05937746 "
                "0.1512917 -0.01971869 0.2764968 -0.6044947 0.1262722"},
            .outputs = {"float32[1,1,1,2,2] -1.370708 2.232454 0.7661737 -5.267551"},
            .tolerance = 1e-5},
        {.op = "onnx::GridSample",
            .inputs = {"float16[1,1,2] 1 3", "float64[1,3,1] -1 0 1"},
            .outputs = {"float16[1,1,3] 0.5 2 1.5"}},
        {.op = "onnx::GridSample",
            .attrs = "mode=nearest",
            .inputs = {"int32[1,1,2,2] 1 2 3 4", "float32[1,1,2,2] nan 0 0.5 0.5"},
            .outputs = {"int32[1,1,1,2] 0 4"}},
        {.op = "onnx::GridSample",
            .inputs = {"float32[0,1,2,2]", "float32[0,1,2,2]"},
            .outputs = {"float32[0,1,1,2]"}},
        {.op = "onnx::GridSample",
            .attrs = "mode=best",
            .inputs = {"float32[1,1,2] 1 3", "float32[1,1,1] 0"},
            .error = "there is no mode 'best'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::GridSample",
            .inputs = {"float32[1,1,2] 1 3", "float32[1,1,2] 0 0"},
            .error = "the number of coordinates is 2 on one side and 1 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::GridSample",
            .inputs = {"float32[1,1,0]", "float32[1,1,1] 0"},
            .error = "an image without elements is sampled",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
regions_are_pooled_from_sampled_points(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::RoiAlign",
            .attrs = "mode=avg; coordinate_transformation_mode=half_pixel; sampling_ratio=0; "
                     "output_height=2; output_width=2; spatial_scale=0.9",
            .inputs = {"float32[2,1,5,6] 3 6 7 1 0 8 4 6 6 8 0 2 8 3 3 2 0 0 8 0 1 2 2 7 2 1 3 6 4 2 1 0 4 1 "
                       "5 6 3 4 0 4 1 4 0 2 3 4 0 8 3 1 1 6 3 2 4 1 1 2 8 0",
                "float32[2,4] 0 0 5 4 1.2 0.6 3.7 4.4", "int64[2] 0 1"},
            .outputs =
                {"float32[2,1,2,2] 4.891667 4.013542 4.778125 2.304167 2.343498 2.009468 1.524139 2.722366"},
            .tolerance = 1e-5},
        {.op = "onnx::RoiAlign",
            .attrs = "mode=avg; coordinate_transformation_mode=half_pixel; sampling_ratio=2; "
                     "output_height=2; output_width=2; spatial_scale=0.9",
            .inputs = {"float32[2,1,5,6] 4 8 4 3 5 1 6 0 5 0 0 1 6 3 3 5 0 8 4 8 6 2 2 5 7 8 4 0 8 7 6 3 1 7 "
                       "1 2 7 5 2 4 5 0 2 6 5 7 6 4 2 3 1 8 0 3 0 7 5 3 7 3",
                "float32[2,4] 0 0 5 4 1.2 0.6 3.7 4.4", "int64[2] 0 1"},
            .outputs =
                {"float32[2,1,2,2] 4.700781 2.904688 4.763281 3.082031 4.207967 3.075037 3.800404 4.037237"},
            .tolerance = 1e-5},
        {.op = "onnx::RoiAlign",
            .attrs = "mode=avg; coordinate_transformation_mode=output_half_pixel; sampling_ratio=0; "
                     "output_height=2; output_width=2; spatial_scale=0.9",
            .inputs = {"float32[2,1,5,6] 4 3 6 0 4 2 8 2 3 0 4 4 6 3 2 0 8 1 6 8 2 1 6 3 0 8 8 1 6 3 0 7 7 0 "
                       "0 0 8 8 7 6 0 2 4 4 0 2 6 8 0 8 2 0 8 4 5 1 8 3 3 6",
                "float32[2,4] 0 0 5 4 1.2 0.6 3.7 4.4", "int64[2] 0 1"},
            .outputs =
                {"float32[2,1,2,2] 3.704166 2.536458 4.780208 3.472917 4.914006 4.17887 4.067309 1.801854"},
            .tolerance = 1e-5},
        {.op = "onnx::RoiAlign",
            .attrs = "mode=avg; coordinate_transformation_mode=output_half_pixel; sampling_ratio=2; "
                     "output_height=2; output_width=2; spatial_scale=0.9",
            .inputs = {"float32[2,1,5,6] 6 6 2 1 5 2 0 3 6 3 3 6 8 7 1 3 4 3 2 0 5 3 2 8 7 4 8 5 8 5 3 5 6 7 "
                       "8 2 0 2 5 7 8 4 0 8 2 1 1 7 4 4 3 4 6 7 8 1 6 4 3 2",
                "float32[2,4] 0 0 5 4 1.2 0.6 3.7 4.4", "int64[2] 0 1"},
            .outputs =
                {"float32[2,1,2,2] 4.030468 3.195312 3.571875 3.227344 4.044816 4.354195 3.712128 3.568816"},
            .tolerance = 1e-5},
        {.op = "onnx::RoiAlign",
            .attrs = "mode=max; coordinate_transformation_mode=half_pixel; sampling_ratio=0; "
                     "output_height=2; output_width=2; spatial_scale=0.9",
            .inputs = {"float32[2,1,5,6] 0 3 2 7 8 3 3 7 1 0 1 8 3 8 0 6 2 1 5 5 7 1 7 3 0 0 0 0 5 1 4 1 6 7 "
                       "7 2 3 7 7 0 5 0 5 0 5 8 3 7 2 0 4 8 6 2 2 2 5 5 5 1",
                "float32[2,4] 0 0 5 4 1.2 0.6 3.7 4.4", "int64[2] 0 1"},
            .outputs = {"float32[2,1,2,2] 3.71875 6.125 3.75 3.981249 4.084478 4.677291 1.742672 4.247324"},
            .tolerance = 1e-5},
        {.op = "onnx::RoiAlign",
            .attrs = "mode=max; coordinate_transformation_mode=half_pixel; sampling_ratio=2; "
                     "output_height=2; output_width=2; spatial_scale=0.9",
            .inputs = {"float32[2,1,5,6] 6 8 1 3 4 5 8 5 8 2 5 6 7 8 4 5 6 0 6 7 5 6 7 4 0 5 5 2 3 2 1 4 3 0 "
                       "2 5 0 1 2 2 8 8 3 5 4 2 1 6 6 8 3 8 8 7 7 2 5 5 3 5",
                "float32[2,4] 0 0 5 4 1.2 0.6 3.7 4.4", "int64[2] 0 1"},
            .outputs =
                {"float32[2,1,2,2] 6.5 4.674999 4.921875 2.234375 1.834463 1.575534 6.666075 4.247324"},
            .tolerance = 1e-5},
        {.op = "onnx::RoiAlign",
            .attrs = "mode=max; coordinate_transformation_mode=output_half_pixel; sampling_ratio=0; "
                     "output_height=2; output_width=2; spatial_scale=0.9",
            .inputs = {"float32[2,1,5,6] 4 0 3 6 7 4 0 4 3 6 6 0 8 1 4 8 0 2 7 2 5 0 1 2 4 5 4 0 5 2 3 2 0 1 "
                       "3 7 7 8 2 8 3 3 2 0 7 3 5 4 4 3 1 6 8 6 4 8 8 4 1 2",
                "float32[2,4] 0 0 5 4 1.2 0.6 3.7 4.4", "int64[2] 0 1"},
            .outputs = {"float32[2,1,2,2] 2.275 3.4125 3.75 3.75 5.318491 7.362676 3.935175 3.866832"},
            .tolerance = 1e-5},
        {.op = "onnx::RoiAlign",
            .attrs = "mode=max; coordinate_transformation_mode=output_half_pixel; sampling_ratio=2; "
                     "output_height=2; output_width=2; spatial_scale=0.9",
            .inputs = {"float32[2,1,5,6] 5 8 4 7 0 1 4 1 2 5 8 7 2 8 0 0 7 1 7 3 5 4 4 7 6 5 7 4 0 2 0 5 2 5 "
                       "0 8 7 1 5 1 6 3 5 2 4 4 3 1 1 6 7 7 5 0 7 8 2 0 2 2",
                "float32[2,4] 0 0 5 4 1.2 0.6 3.7 4.4", "int64[2] 0 1"},
            .outputs = {"float32[2,1,2,2] 2.475 4.875001 3.375 4.921875 4.468641 3.129613 4.380885 4.511303"},
            .tolerance = 1e-5},
        {.op = "onnx::RoiAlign",
            .inputs = {"float32[1,1,2,2] 1 2 3 4", "float32[0,4]", "int64[0]"},
            .outputs = {"float32[0,1,1,1]"}},
        {.op = "onnx::RoiAlign",
            .inputs = {"float32[1,1,2,2] 1 2 3 4", "float32[1,4] 0 0 1 1", "int64[1] 1"},
            .error = "index 1 at 0 is not within 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RoiAlign",
            .inputs = {"float32[1,1,2,2] 1 2 3 4", "float32[1,4] 0 0 inf 1", "int64[1] 0"},
            .error = "coordinate 2 of region 0 is inf",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RoiAlign",
            .attrs = "mode=best",
            .inputs = {"float32[1,1,1,1] 1", "float32[1,4] 0 0 1 1", "int64[1] 0"},
            .error = "there is no mode 'best'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RoiAlign",
            .attrs = "coordinate_transformation_mode=none",
            .inputs = {"float32[1,1,1,1] 1", "float32[1,4] 0 0 1 1", "int64[1] 0"},
            .error = "there is no coordinate_transformation_mode 'none'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RoiAlign",
            .attrs = "output_height=0",
            .inputs = {"float32[1,1,2,2] 1 2 3 4", "float32[1,4] 0 0 1 1", "int64[1] 0"},
            .error = "the output is 0 by 1, not at least 1",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

/* ONNX Runtime gave the results, but for those of no points and of one. */
static void
an_affine_grid_has_the_places_of_a_transformed_image(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::AffineGrid",
            .attrs = "",
            .inputs = {"float32[2,2,3] -0.74 -0.75 0.88 -0.18 -1.77 1.98 1.55 1.67 -1.01 -0.42 -1.09 -1.5",
                "int64[4] 2 3 2 3"},
            .outputs = {"float32[2,2,3,2] 1.7483333 2.9850001 1.255 2.865 0.76166666 2.745 0.99833333 1.215 "
                        "0.505 1.095 0.011666656 0.975 -2.8783333 -0.67499995 -1.845 -0.955 -0.81166667 "
                        "-1.235 -1.2083333 -1.765 -0.17500001 -2.045 0.85833335 -2.325"},
            .tolerance = 1e-5},
        {.op = "onnx::AffineGrid",
            .attrs = "align_corners=1",
            .inputs = {"float32[1,2,3] -1.87 0.01 -1.51 -1.29 1.44 -0.06", "int64[4] 1 1 3 2"},
            .outputs = {"float32[1,3,2,2] 0.35000002 -0.2100001 -3.3899999 -2.79 0.36 1.23 -3.38 -1.3499999 "
                        "0.37 2.67 -3.37 0.09000009"},
            .tolerance = 1e-5},
        {.op = "onnx::AffineGrid",
            .attrs = "",
            .inputs = {"float32[1,3,4] -1.27 0.68 -0.94 0.11 -0.87 0.06 0.51 0.14 -0.42 1.16 1.49 -1.28",
                "int64[5] 1 1 2 1 3"},
            .outputs = {"float32[1,2,1,3,3] 1.4266667 0.46500003 -1.745 0.58 -0.114999995 -2.025 -0.2666667 "
                        "-0.69500005 -2.3049998 0.48666668 0.975 -0.255 -0.36 0.39499998 -0.53499997 "
                        "-1.2066667 -0.18500005 -0.81499994"},
            .tolerance = 1e-5},
        {.op = "onnx::AffineGrid",
            .attrs = "align_corners=1",
            .inputs = {"float32[1,3,4] -1.45 -1.55 1.92 1.77 -1.08 1.88 -1.17 0.03 -0.01 1.66 -1.84 -0.74",
                "int64[5] 1 2 2 3 2"},
            .outputs =
                {"float32[1,2,3,2,3] 2.85 0.4 -0.54999995 -0.05000007 -1.7600001 -0.56999993 1.3000001 2.28 "
                 "1.11 -1.5999999 0.119999915 1.09 -0.24999976 4.1600003 2.77 -3.15 1.9999999 2.75 6.69 "
                 "-1.9399999 -4.23 3.7899997 -4.1 -4.25 5.14 -0.059999913 -2.5700002 2.2399998 -2.22 "
                 "-2.5900002 3.5900002 1.82 -0.9100001 0.68999994 -0.34 -0.93000007"},
            .tolerance = 1e-5},
        {.op = "onnx::AffineGrid",
            .attrs = "align_corners=1",
            .inputs = {"float32[1,2,3] 0.4 -1.73 -1.05 -0.14 1.52 1.04", "int64[4] 1 1 2 2"},
            .outputs = {"float32[1,2,2,2] 0.2800001 -0.34000003 1.0800002 -0.62 -3.18 2.6999998 -2.38 2.42"},
            .tolerance = 1e-5},
        {.op = "onnx::AffineGrid", /* a side of one point has it in the middle, as in PyTorch */
            .attrs = "align_corners=1",
            .inputs = {"float32[1,2,3] 2 3 0.5 4 5 0.25", "int64[4] 1 1 1 2"},
            .outputs = {"float32[1,1,2,2] -1.5 -3.75 2.5 4.25"}},
        {.op = "onnx::AffineGrid",
            .inputs = {"float32[1,2,3] 2 3 0.5 4 5 0.25", "int64[4] 1 1 0 2"},
            .outputs = {"float32[1,0,2,2]"}},
        {.op = "onnx::AffineGrid",
            .inputs = {"float32[1,2,3] 2 3 0.5 4 5 0.25", "int64[4] 1 1 -1 2"},
            .error = "'size' has -1, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::AffineGrid",
            .inputs = {"float32[1,2,3] 2 3 0.5 4 5 0.25", "int64[3] 1 1 2"},
            .error = "'size' has 3 numbers, not 4 or 5",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_affine_grid_has_the_places_of_a_transformed_image),
        cmocka_unit_test(a_grid_samples_an_image),
        cmocka_unit_test(regions_are_pooled_from_sampled_points),
    };
    return cmocka_run_group_tests_name("reference/sampling", tests, NULL, NULL);
}
