/* Linear algebra, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
matrices_are_decomposed_and_solved(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Cholesky",
            .inputs = {"float32[3,3] 4.05 0.15 -0.42 0.15 4.12 -0.85 -0.42 -0.85 3.95"},
            .outputs = {"float32[3,3] 2.0124612 0 0 0.0745356 2.0284092 0 -0.20869967 -0.41137874 1.933187"}},
        {.op = "Cholesky",
            .inputs = {"float64[2,2,2,2] 2.13 -0.09 -0.09 2.43 2.93 -0.47 -0.47 3 2.75 0.26 0.26 2.94 3.1 "
                       "-0.35 -0.35 2.68"},
            .outputs = {"float64[2,2,2,2] 1.4594519519326423 0 -0.061666983884477854 1.557625495136296 "
                        "1.711724276862369 0 -0.2745769317833834 1.7101483878694337 1.6583123951777 0 "
                        "0.1567858991804371 1.7074595695998724 1.760681686165901 0 -0.19878664198647267 "
                        "1.6249565751021602"}},
        {.op = "Cholesky", .inputs = {"float32[0,0]"}, .outputs = {"float32[0,0]"}},
        {.op = "Cholesky", /* matrices that are not positive definite */
            .inputs = {"float32[3,2,2] 1 2 2 1 4 2 2 3 4 2 2 1"},
            .outputs = {"float32[3,2,2] nan 0 nan nan 2 0 1 1.4142135 nan 0 nan nan"}},
        {.op = "Cholesky", .inputs = {"float32[2,2] 1 nan nan 1"}, .outputs = {"float32[2,2] 1 0 nan nan"}},
        {.op = "Cholesky", .inputs = {"float64[1,1] 0"}, .outputs = {"float64[1,1] nan"}},
        {.op = "Cholesky",
            .inputs = {"float32[2,3] -1.47 0.09 1 0.68 -0.13 -1.18"},
            .error = "the size of a square matrix is 2 on one side and 3 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Cholesky",
            .inputs = {"float32[2] -0.04 -0.51"},
            .error = "rank 1 is no matrix",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "MatrixInverse",
            .inputs = {"float32[2,3,3] -0.1 -0.8 2 1.6 -1.1 0.4 -1.3 -0.3 -0.9 0.9 -0.8 -0.2 1.3 -0.5 2.4 "
                       "-1.9 1.4 -0.5"},
            .outputs = {"float32[2,3,3] -0.23784015 0.2828369 -0.4028284 -0.19712877 -0.5763874 -0.69423616 "
                        "0.40925646 -0.21641311 -0.2978359 -20.064503 -4.3870935 -13.03225 -25.22579 "
                        "-5.354835 -15.612892 5.6129 1.6774186 3.8064492"},
            .tolerance = 1e-05},
        {.op = "MatrixInverse",
            .attrs = "adjoint=true",
            .inputs = {"float32[2,2] -0.4 0.8 0.1 -0.5"},
            .outputs = {"float32[2,2] -4.1666665 -0.83333325 -6.6666665 -3.3333333"},
            .tolerance = 1e-05},
        {.op = "MatrixDeterminant",
            .inputs = {"float32[2,3,3] -3 -2.4 1.3 0.1 1.2 2.7 1.1 -2.7 -1.1 0.6 -1.6 2.8 2.7 2.1 -0.2 2 "
                       "-2.2 -1.1"},
            .outputs = {"float32[2] -27.369009 -34.154"},
            .tolerance = 1e-05},
        {.op = "LogMatrixDeterminant",
            .inputs =
                {"float32[2,2,3,3] -0.2 1.5 -0.1 -2.2 -0.9 -1.1 -1.2 -2 -0.5 -0.3 1.6 1.8 0.1 -0.2 1.7 2.3 1 "
                 "1.8 2.6 -2.8 2.3 -1.3 -0.1 1.8 1.3 -2.1 1 -2.6 -0.9 1.9 -0.4 0.6 1.4 1.9 1.6 -3"},
            .outputs = {"float32[2,2] 1 ...", "float32[2,2] -1.0555525 2.0273585 1.784063 1.7592362"},
            .tolerance = 1e-05},
        {.op = "MatrixSolve",
            .inputs = {"float32[3,3] -0.5 -0.2 -2.7 0.2 0.6 2 2.7 -2.2 -1.6",
                "float32[3,2] 0.64 -1.47 -1.1 0.3 -1.32 1.13"},
            .outputs = {"float32[3,2] -2.0722017 -0.7383985 -2.1665678 -2.024314 0.30719048 0.8311341"},
            .tolerance = 1e-05},
        {.op = "MatrixSolve",
            .attrs = "adjoint=true",
            .inputs = {"float32[2,2,2] 2.1 -2.8 0.2 1.8 2.9 -1.4 -2 2.3",
                "float32[2,2,1] 1.64 -1.21 -0.23 0.88"},
            .outputs = {"float32[2,2,1] 0.7359447 0.47258064 0.31808785 0.5762274"},
            .tolerance = 1e-05},
        {.op = "MatrixTriangularSolve",
            .attrs = "lower=true; adjoint=true",
            .inputs = {"float32[3,3] 4.03 0.14 -0.15 0.14 3.84 -1.03 -0.15 -1.03 4.43",
                "float32[3,2] -1.82 -1.97 -0.55 -1.75 -1.4 -1.91"},
            .outputs =
                {"float32[3,2] -0.45545518 -0.48503223 -0.22799687 -0.57137656 -0.31602708 -0.43115124"},
            .tolerance = 1e-05},
        {.op = "MatrixTriangularSolve",
            .attrs = "lower=true; adjoint=false",
            .inputs = {"float32[3,3] 3.18 -0.2 0.51 -0.2 3.68 -1.07 0.51 -1.07 5.01",
                "float32[3,2] -1.96 1.32 1.71 -0.17 1.09 1.46"},
            .outputs = {"float32[3,2] -0.6163522 0.41509435 0.4311765 -0.023636177 0.3723949 0.24411401"},
            .tolerance = 1e-05},
        {.op = "MatrixTriangularSolve",
            .attrs = "lower=false; adjoint=true",
            .inputs = {"float32[3,3] 4.51 0.29 -0.85 0.29 3.98 -0.22 -0.85 -0.22 4.68",
                "float32[3,2] -1.71 -0.56 -0.33 -1.27 0.08 0.14"},
            .outputs =
                {"float32[3,2] -0.3791574 -0.12416851 -0.055287533 -0.31004804 -0.054369032 -0.0072123515"},
            .tolerance = 1e-05},
        {.op = "MatrixTriangularSolve",
            .attrs = "lower=false; adjoint=false",
            .inputs = {"float32[3,3] 3.82 0.25 0.17 0.25 3.52 -0.04 0.17 -0.04 4.48",
                "float32[3,2] -1.57 -0.52 -1.07 -0.2 -0.89 0.01"},
            .outputs =
                {"float32[3,2] -0.38211232 -0.13250819 -0.30623478 -0.056792818 -0.19866072 0.0022321427"},
            .tolerance = 1e-05},
        {.op = "MatrixInverse",
            .inputs =
                {"float64[2,3,3] 2.5 -0.7 0.9 0.6 1.5 -2.6 1.5 2.7 0.6 -1.3 1 1.3 0.9 -2.1 2.8 2.7 -0.5 0.6"},
            .outputs = {"float64[2,3,3] 0.35651586765698856 0.12829169480081026 0.02115687598469501 "
                        "-0.19176232275489533 0.006752194463200533 0.31690299347287865 -0.028359216745442263 "
                        "-0.35111411208642807 0.187711006076975 0.010275983558426299 -0.09174985320023489 "
                        "0.40590135055783905 0.515267175572519 -0.31488549618320616 0.35305343511450377 "
                        "0.3831473869641808 0.1504697592483852 0.13432178508514384"},
            .tolerance = 1e-11},
        {.op = "MatrixInverse",
            .attrs = "adjoint=true",
            .inputs = {"float64[2,2] -2.8 2.9 1.9 0.8"},
            .outputs = {"float64[2,2] -0.1032258064516129 0.24516129032258066 0.37419354838709673 "
                        "0.3612903225806451"},
            .tolerance = 1e-11},
        {.op = "MatrixDeterminant",
            .inputs = {"float64[2,3,3] 1.6 -1.9 -1.2 -1.5 0.6 -2.4 2.4 -0.2 -0.3 -2.4 1.1 1.9 0.8 -1.5 1.7 "
                       "-2.1 2 0.5"},
            .outputs = {"float64[2] 12.111000000000002 2.647999999999999"},
            .tolerance = 1e-11},
        {.op = "LogMatrixDeterminant",
            .inputs =
                {"float64[2,2,3,3] -1.3 0.1 0.8 -1.4 2.1 -0.5 2.4 2 -2.4 0.9 -1.1 1.5 0.3 -0.3 2.4 -2.7 0.3 "
                 "-1 -2.8 1.5 0.4 2.4 0.6 -1 2.9 -2.3 -2.7 1.4 -0.8 -0.8 2.3 -1 2.3 0.9 -1 -2.6"},
            .outputs = {"float64[2,2] -1 1 1 1",
                "float64[2,2] 0.38933572617828216 1.6752256529721035 2.598384133547774 0.43178241642553783"},
            .tolerance = 1e-11},
        {.op = "MatrixSolve",
            .inputs = {"float64[3,3] -1.5 2.8 -0.6 -2 -1.2 2.4 -2 1.7 -2.2",
                "float64[3,2] 1.85 0.12 -1.83 1.72 -0.57 0.93"},
            .outputs = {"float64[3,2] 0.7698906560636182 -0.7081510934393638 1.1729125248508947 "
                        "-0.34652087475149107 0.46553180914512915 -0.04671968190854872"},
            .tolerance = 1e-11},
        {.op = "MatrixSolve",
            .attrs = "adjoint=true",
            .inputs = {"float64[2,2,2] 0.1 -2.4 -2.4 -2.1 -2 -2.7 -2.7 2.7",
                "float64[2,2,1] -1.63 0.03 -1.53 -1.14"},
            .outputs = {"float64[2,2,1] -0.585427135678392 0.6547738693467337 0.5680851063829787 "
                        "0.14586288416075655"},
            .tolerance = 1e-11},
        {.op = "MatrixTriangularSolve",
            .attrs = "lower=true; adjoint=true",
            .inputs = {"float64[3,3] 4.05 0.41 -0.1 0.41 5.79 -0.41 -0.1 -0.41 3.67",
                "float64[3,2] 1.29 0.44 -0.41 1.34 1.48 1.49"},
            .outputs = {"float64[3,2] 0.33275351466915426 0.09232705007624652 -0.04225550959325718 "
                        "0.2601826883709111 0.4032697547683924 0.4059945504087194"},
            .tolerance = 1e-11},
        {.op = "MatrixTriangularSolve",
            .attrs = "lower=true; adjoint=false",
            .inputs = {"float64[3,3] 4 -0.29 -0.39 -0.29 3.44 -0.15 -0.39 -0.15 3.45",
                "float64[3,2] 1.1 -1.22 -0.09 -1.59 -1.15 1.74"},
            .outputs = {"float64[3,2] 0.275 -0.305 -0.0029796511627906965 -0.487921511627907 "
                        "-0.3023759268621503 0.44865558645096054"},
            .tolerance = 1e-11},
        {.op = "MatrixTriangularSolve",
            .attrs = "lower=false; adjoint=true",
            .inputs = {"float64[3,3] 3.76 0.76 -1 0.76 5 -1.49 -1 -1.49 4.51",
                "float64[3,2] -1.34 -0.63 1.81 -0.06 0.63 0.96"},
            .outputs = {"float64[3,2] -0.3563829787234043 -0.1675531914893617 0.41617021276595745 "
                        "0.013468085106382983 0.1981620040571779 0.1801583714676605"},
            .tolerance = 1e-11},
        {.op = "MatrixTriangularSolve",
            .attrs = "lower=false; adjoint=false",
            .inputs = {"float64[3,3] 4.75 0.24 -0.99 0.24 3.67 -0.43 -0.99 -0.43 4.12",
                "float64[3,2] 1.17 0.94 -1.57 1.33 -1.05 1.23"},
            .outputs = {"float64[3,2] 0.21632230559202695 0.2400395283332799 -0.4576532366868602 "
                        "0.3973770535171028 -0.25485436893203883 0.29854368932038833"},
            .tolerance = 1e-11},
        {.op = "MatrixInverse",
            .inputs = {"float32[2,2] 1 2 2 4"},
            .error = "matrix 0 is not invertible",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "MatrixDeterminant", .inputs = {"float32[2,2] 1 2 2 4"}, .outputs = {"float32[] -0"}},
        {.op = "LogMatrixDeterminant",
            .inputs = {"float64[2,2] 1 2 2 4"},
            .outputs = {"float64[] -0", "float64[] -inf"}},
        {.op = "MatrixDeterminant", .inputs = {"float32[0,0]"}, .outputs = {"float32[] 1"}},
        {.op = "LogMatrixDeterminant",
            .inputs = {"float32[2,0,0]"},
            .outputs = {"float32[2] 1 1", "float32[2] 0 0"}},
        {.op = "MatrixInverse", .inputs = {"float32[0,2,2]"}, .outputs = {"float32[0,2,2]"}},
        {.op = "MatrixSolve",
            .inputs = {"float32[2,2] -0 -2 1.4 1.8", "float32[3,1] 0.8 1.86 -0.98"},
            .error = "right sides of shape [3,1] do not fit a matrix of shape [2,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
singular_values_and_eigenvalues_are_found(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=true",
            .inputs = {"float32[3,3] -1.6 -2.1 0.2 -0.6 -0.9 -0.2 -1.4 -3 -0.2"},
            .outputs = {"float32[3] 4.348148 0.52516735 0.19443794", "", ""},
            .tolerance = 1e-05},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=false",
            .inputs = {"float32[3,3] -1.6 -2.1 0.2 -0.6 -0.9 -0.2 -1.4 -3 -0.2"},
            .outputs = {"float32[3] 4.348148 0.52516735 0.19443794", "", ""},
            .tolerance = 1e-05},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=true",
            .inputs = {"float64[2,3,3] -1.3 -0.3 2.6 -1.9 0.8 0.9 -1.3 -0.2 2.8 -0.9 1.3 2 -0.8 2.9 0.8 0 "
                       "1.3 -0.5"},
            .outputs = {"float64[2,3] 4.570810016789357 1.5057826547107314 0.10155977151604015 "
                        "3.8889456335413732 1.7329928988149244 0.05326792671500396",
                "", ""},
            .tolerance = 1e-11},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=false",
            .inputs = {"float64[2,3,3] -1.3 -0.3 2.6 -1.9 0.8 0.9 -1.3 -0.2 2.8 -0.9 1.3 2 -0.8 2.9 0.8 0 "
                       "1.3 -0.5"},
            .outputs = {"float64[2,3] 4.570810016789357 1.5057826547107314 0.10155977151604015 "
                        "3.8889456335413732 1.7329928988149244 0.05326792671500396",
                "", ""},
            .tolerance = 1e-11},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=true",
            .inputs = {"float32[2,4,3] 0.85 -0.9 1.71 0.17 -1.03 -0.25 1.58 1.23 -0.06 -0.59 -0.5 1.92 -1.55 "
                       "1.56 1.43 -1.1 -0.6 0.28 1.21 1.8 1.97 -0.88 -1.23 -0.05"},
            .outputs = {"float32[2,3] 2.8241825 2.0784411 1.2690067 3.5592995 2.431021 0.90869385", "", ""},
            .tolerance = 1e-05},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=false",
            .inputs = {"float32[2,4,3] 0.85 -0.9 1.71 0.17 -1.03 -0.25 1.58 1.23 -0.06 -0.59 -0.5 1.92 -1.55 "
                       "1.56 1.43 -1.1 -0.6 0.28 1.21 1.8 1.97 -0.88 -1.23 -0.05"},
            .outputs = {"float32[2,3] 2.8241825 2.0784411 1.2690067 3.5592995 2.431021 0.90869385", "", ""},
            .tolerance = 1e-05},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=true",
            .inputs = {"float64[3,5] 0.23 0.63 -1.57 0.59 1.69 1.66 1.78 1.69 1.84 -1.81 1.66 -0.92 -0.72 "
                       "-0.17 1.82"},
            .outputs = {"float64[3] 4.299058224012564 2.77768811787202 1.6807578964212948", "", ""},
            .tolerance = 1e-11},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=false",
            .inputs = {"float64[3,5] 0.23 0.63 -1.57 0.59 1.69 1.66 1.78 1.69 1.84 -1.81 1.66 -0.92 -0.72 "
                       "-0.17 1.82"},
            .outputs = {"float64[3] 4.299058224012564 2.77768811787202 1.6807578964212948", "", ""},
            .tolerance = 1e-11},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=true",
            .inputs = {"float32[2,2] 1 2 2 4"},
            .outputs = {"float32[2] 5 0", "", ""},
            .tolerance = 1e-05},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=false",
            .inputs = {"float32[2,2] 1 2 2 4"},
            .outputs = {"float32[2] 5 0", "", ""},
            .tolerance = 1e-05},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=true",
            .inputs = {"float64[2,2] 0 ..."},
            .outputs = {"float64[2] 0 0", "", ""},
            .tolerance = 1e-11},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=false",
            .inputs = {"float64[2,2] 0 ..."},
            .outputs = {"float64[2] 0 0", "", ""},
            .tolerance = 1e-11},
        {.op = "SelfAdjointEigV2",
            .attrs = "compute_v=false",
            .inputs = {"float32[4,4] 4.85 0.27 0.1 -0.3 0.27 5.26 -0.22 0.61 0.1 -0.22 4.67 -0.05 -0.3 0.61 "
                       "-0.05 6.23"},
            .outputs = {"float32[4] 4.39493 4.7754254 5.2893467 6.5502996", ""},
            .tolerance = 1e-05},
        {.op = "SelfAdjointEigV2",
            .attrs = "compute_v=false",
            .inputs = {"float64[4,4] 4.41 -0.48 0.11 -0.46 -0.48 5.13 -0.13 1.02 0.11 -0.13 4.2 0.11 -0.46 "
                       "1.02 0.11 5.34"},
            .outputs = {"float64[4] 4.02212861425668 4.159884603391795 4.423716954626272 6.474269827725259",
                ""},
            .tolerance = 1e-11},
    };
    RUN(cases);
}

/* A basis is completed in time that grows with the cube of its size: with its fourth power, these columns
 * would take minutes. */
static void
long_columns_have_whole_bases(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Svd",
            .attrs = "compute_uv=true; full_matrices=true",
            .inputs = {"float64[3,1] 0 2 0"},
            .outputs = {"float64[1] 2", "float64[3,3] 0 1 0 1 0 0 0 0 1", "float64[1,1] 1"}},
        {.op = "Svd",
            .attrs = "compute_uv=true; full_matrices=false",
            .inputs = {"float64[400,1] 1 ..."},
            .outputs = {"float64[1] 20", "float64[400,1] 0.05 ...", "float64[1,1] 1"},
            .tolerance = 1e-12},
        {.op = "Svd",
            .attrs = "compute_uv=false; full_matrices=true",
            .inputs = {"float64[10000,1] 1 ..."},
            .outputs = {"float64[1] 100", "", ""},
            .tolerance = 1e-12},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_are_decomposed_and_solved),
        cmocka_unit_test(singular_values_and_eigenvalues_are_found),
        cmocka_unit_test(long_columns_have_whole_bases),
    };
    return cmocka_run_group_tests_name("reference/linear_algebra", tests, NULL, NULL);
}
