/* Random numbers, the same bits as TensorFlow's for the same seeds. */
#include "tests/support/cmocka_all.h"
#include "tests/support/graph_case.h"
#include "tests/support/loop_graphs.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
seeded_numbers_are_tensorflows(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "RandomUniform",
            .attrs = "seed=87654321; seed2=3; dtype=float32",
            .inputs = {"int32[2] 3 3"},
            .outputs = {"float32[3,3] 0.3869294 0.36002624 0.9768796 0.08651638 0.5038012 0.3585019 "
                        "0.20932388 0.027142525 0.4244014"}},
        {.op = "RandomUniform",
            .attrs = "seed=87654321; seed2=3; dtype=float64",
            .inputs = {"int32[1] 5"},
            .outputs = {"float64[5] 0.0954352046549809 0.8150370178493045 0.030410284844230695 "
                        "0.6745911073445203 0.3952113641569046"}},
        {.op = "RandomUniform",
            .attrs = "seed=87654321; seed2=3; dtype=float16",
            .inputs = {"int32[1] 6"},
            .outputs = {"float16[6] 0.72559 0.33496 0.59766 0.74219 0.139648 0.84766"}},
        {.op = "RandomUniform",
            .attrs = "seed=87654321; seed2=3; dtype=bfloat16",
            .inputs = {"int32[1] 5"},
            .outputs = {"bfloat16[5] 0.80469 0.67969 0.78125 0.9375 0.117188"}},
        {.op = "RandomUniform",
            .attrs = "seed=-5; seed2=1099511627776; dtype=float32",
            .inputs = {"int64[1] 7"},
            .outputs =
                {"float32[7] 0.45631897 0.27367473 0.45081043 0.45746982 0.090780735 0.6906699 0.78365207"}},
        {.op = "RandomStandardNormal",
            .attrs = "seed=87654321; seed2=3; dtype=float32",
            .inputs = {"int32[2] 3 3"},
            .outputs = {"float32[3,3] 1.0616621 -0.8785783 0.11187216 0.18511717 0.90922564 -0.73787236 "
                        "0.30015013 1.742887 -0.063165545"}},
        {.op = "RandomStandardNormal",
            .attrs = "seed=87654321; seed2=3; dtype=float64",
            .inputs = {"int32[1] 5"},
            .outputs = {"float64[5] -1.9891512607565875 0.8613319661711827 -2.3519238994697904 "
                        "-1.2059862321712569 -1.36111682121295"}},
        {.op = "RandomStandardNormal",
            .attrs = "seed=87654321; seed2=3; dtype=float16",
            .inputs = {"int32[1] 6"},
            .outputs = {"float16[6] 1.06152 -0.87842 0.111877 0.18506 0.90918 -0.7378"}},
        {.op = "RandomStandardNormal",
            .attrs = "seed=87654321; seed2=3; dtype=bfloat16",
            .inputs = {"int32[1] 5"},
            .outputs = {"bfloat16[5] 1.0625 -0.8789 0.111816 0.185547 0.91016"}},
        {.op = "RandomStandardNormal",
            .attrs = "seed=-5; seed2=1099511627776; dtype=float32",
            .inputs = {"int64[1] 7"},
            .outputs =
                {"float32[7] 1.2388144 -0.18564835 0.33331934 -1.2175035 -2.0401206 -0.7978246 -0.08056722"}},
        {.op = "TruncatedNormal",
            .attrs = "seed=87654321; seed2=3; dtype=float32",
            .inputs = {"int32[2] 3 3"},
            .outputs = {"float32[3,3] 1.0616621 -0.8785783 0.11187216 0.18511717 -0.16233478 -0.891386 "
                        "-0.81663954 0.6149269 0.82711715"}},
        {.op = "TruncatedNormal",
            .attrs = "seed=87654321; seed2=3; dtype=float64",
            .inputs = {"int32[1] 5"},
            .outputs = {"float64[5] -1.9891512607565875 0.8613319661711827 0.5001542461196736 "
                        "0.22716356511291347 -1.5363172811301835"}},
        {.op = "TruncatedNormal",
            .attrs = "seed=87654321; seed2=3; dtype=float16",
            .inputs = {"int32[1] 6"},
            .outputs = {"float16[6] 1.06152 -0.87842 0.111877 0.18506 -0.162354 -0.8916"}},
        {.op = "TruncatedNormal",
            .attrs = "seed=87654321; seed2=3; dtype=bfloat16",
            .inputs = {"int32[1] 5"},
            .outputs = {"bfloat16[5] 1.0625 -0.8789 0.111816 0.185547 -0.16211"}},
        {.op = "TruncatedNormal",
            .attrs = "seed=-5; seed2=1099511627776; dtype=float32",
            .inputs = {"int64[1] 7"},
            .outputs = {"float32[7] 1.2388144 -0.18564835 0.33331934 -1.2175035 -0.7149392 0.031793952 "
                        "-0.53595865"}},
        {.op = "RandomUniform",
            .attrs = "seed=1; dtype=float32",
            .inputs = {"int32[2] 0 2"},
            .outputs = {"float32[0,2]"}},
        {.op = "RandomUniform",
            .attrs = "seed=1; dtype=float32",
            .inputs = {"int32[0]"},
            .outputs = {"float32[] 0.81269646"}},
        {.op = "RandomUniform",
            .attrs = "seed=1; dtype=float32",
            .inputs = {"int32[1] -1"},
            .error = "dimension 0 is -1, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
seeded_integers_are_tensorflows(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "RandomUniformInt",
            .attrs = "seed=7; seed2=8",
            .inputs = {"int32[1] 9", "int32[] -3", "int32[] 100"},
            .outputs = {"int32[9] 24 -3 93 59 35 61 0 93 23"}},
        {.op = "RandomUniformInt",
            .attrs = "seed=7; seed2=8",
            .inputs = {"int32[1] 5", "int64[] -1152921504606846976", "int64[] 2305843009213693952"},
            .outputs = {"int64[5] 960864640162733518 483387179140592495 1126983454007147240 "
                        "2032128069710082118 2248840077404530943"}},
        {.op = "RandomUniformInt",
            .attrs = "seed=7",
            .inputs = {"int32[1] 5", "int32[] 3", "int32[] 3"},
            .error = "minval is 3, not below maxval, 3",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
stateless_numbers_are_tensorflows(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "StatelessRandomUniform",
            .attrs = "dtype=float32",
            .inputs = {"int32[2] 2 3", "int64[2] 12 34"},
            .outputs = {"float32[2,3] 0.54033375 0.7418119 0.57434464 0.30746174 0.105561376 0.47128153"}},
        {.op = "StatelessRandomUniform",
            .attrs = "dtype=float64",
            .inputs = {"int32[2] 2 3", "int64[2] 12 34"},
            .outputs = {"float64[2,3] 0.32267029907891875 0.5947575668012011 0.8444917527423828 "
                        "0.36005045273385283 0.7073871001067054 0.40359094979666876"}},
        {.op = "StatelessRandomUniform",
            .attrs = "dtype=float16",
            .inputs = {"int32[2] 2 3", "int64[2] 12 34"},
            .outputs = {"float16[2,3] 0.41406 0.92285 0.03125 0.72656 0.75879 0.73828"}},
        {.op = "StatelessRandomNormal",
            .attrs = "dtype=float32",
            .inputs = {"int32[2] 2 3", "int64[2] 12 34"},
            .outputs = {"float32[2,3] -1.1080979 -0.057059083 0.9852196 -0.37201285 0.38057443 -2.086166"}},
        {.op = "StatelessRandomNormal",
            .attrs = "dtype=float64",
            .inputs = {"int32[2] 2 3", "int64[2] 12 34"},
            .outputs = {"float64[2,3] -0.8435209387414119 -1.2452794352380918 0.4478686055179007 "
                        "-0.3707483370818745 0.4737718538551005 -0.6840282936642054"}},
        {.op = "StatelessRandomNormal",
            .attrs = "dtype=float16",
            .inputs = {"int32[2] 2 3", "int64[2] 12 34"},
            .outputs = {"float16[2,3] -1.1084 -0.057068 0.98535 -0.37207 0.380615 -2.08594"}},
        {.op = "StatelessTruncatedNormal",
            .attrs = "dtype=float32",
            .inputs = {"int32[2] 2 3", "int64[2] 12 34"},
            .outputs =
                {"float32[2,3] -1.1080979 -0.057059083 0.9852196 -0.37201285 -0.014384284 -1.1368351"}},
        {.op = "StatelessTruncatedNormal",
            .attrs = "dtype=float64",
            .inputs = {"int32[2] 2 3", "int64[2] 12 34"},
            .outputs = {"float64[2,3] -0.8435209387414119 -1.2452794352380918 -0.07710147388911665 "
                        "-0.5066095525329667 0.35389062876331445 -1.7823812527529204"}},
        {.op = "StatelessTruncatedNormal",
            .attrs = "dtype=float16",
            .inputs = {"int32[2] 2 3", "int64[2] 12 34"},
            .outputs = {"float16[2,3] -1.1084 -0.057068 0.98535 -0.37207 -0.0143814 -1.13672"}},
        {.op = "StatelessRandomUniformInt",
            .inputs = {"int32[1] 5", "int32[2] 1 2", "int32[] 0", "int32[] 50"},
            .outputs = {"int32[5] 40 49 44 29 27"}},
        {.op = "StatelessRandomUniformInt",
            .inputs = {"int32[1] 5", "int64[2] 1 2", "int64[] -7", "int64[] 50"},
            .outputs = {"int64[5] 41 8 37 -1 20"}},
        {.op = "StatelessRandomUniform",
            .inputs = {"int32[1] 2", "int64[1] 1"},
            .error = "the number of seeds is 1 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
numbers_of_a_key_and_a_counter_are_tensorflows(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "StatelessRandomGetKeyCounter",
            .inputs = {"int64[2] 7 3"},
            .outputs = {"uint64[1] 16462074819610970571", "uint64[2] 0 11441687329003789843"}},
        {.op = "StatelessRandomGetKeyCounter",
            .inputs = {"int64[2] -1 1099511627776"},
            .outputs = {"uint64[1] 10657524833782568969", "uint64[2] 0 2387097384896187166"}},
        {.op = "StatelessRandomUniformV2",
            .attrs = "dtype=float32",
            .inputs = {"int32[1] 5", "uint64[1] 81985529216486895", "uint64[2] 5 18446744073709551615",
                "int32[] 1"},
            .outputs = {"float32[5] 0.37219262 0.52697635 0.8123181 0.47524178 0.63573563"}},
        {.op = "StatelessRandomUniformV2",
            .attrs = "dtype=float64",
            .inputs = {"int32[1] 5", "uint64[1] 81985529216486895", "uint64[2] 5 18446744073709551615",
                "int32[] 1"},
            .outputs = {"float64[5] 0.9775412558149106 0.4985447367192093 0.0858851754343537 "
                        "0.5769142738977118 0.8961757702191684"}},
        {.op = "StatelessRandomNormalV2",
            .attrs = "dtype=float32",
            .inputs = {"int32[1] 5", "uint64[1] 81985529216486895", "uint64[2] 5 18446744073709551615",
                "int32[] 1"},
            .outputs = {"float32[5] -0.2371649 -1.3857995 0.09989642 -0.6369829 0.22090799"}},
        {.op = "StatelessTruncatedNormalV2",
            .attrs = "dtype=float32",
            .inputs = {"int32[1] 5", "uint64[1] 81985529216486895", "uint64[2] 5 18446744073709551615",
                "int32[] 3"},
            .outputs = {"float32[5] -0.2371649 -1.3857995 0.09989642 -0.6369829 -1.4239707"}},
        {.op = "StatelessRandomUniformIntV2",
            .inputs = {"int32[1] 5", "uint64[1] 81985529216486895", "uint64[2] 5 18446744073709551615",
                "int32[] 1", "int32[] -3", "int32[] 10"},
            .outputs = {"int32[5] -2 2 -1 0 8"}},
        {.op = "StatelessRandomUniformIntV2",
            .inputs = {"int32[1] 5", "uint64[1] 81985529216486895", "uint64[2] 5 18446744073709551615",
                "int32[] 1", "int64[] -3", "int64[] 10"},
            .outputs = {"int64[5] 4 0 1 5 0"}},
        {.op = "StatelessRandomNormalV2",
            .attrs = "dtype=float32",
            .inputs = {"int64[2] 2 0", "uint64[1] 81985529216486895", "uint64[2] 5 18446744073709551615",
                "int32[] 3"},
            .outputs = {"float32[2,0]"}},
    };
    RUN(cases);
}

static void
keys_and_counters_of_other_generators_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "StatelessRandomNormalV2",
            .attrs = "dtype=float32",
            .inputs = {"int32[1] 5", "uint64[1] 81985529216486895", "uint64[2] 5 18446744073709551615",
                "int32[] 2"},
            .error = "generator 2 is not known; Philox is 1, and 3 leaves the choice",
            .error_code = STATUS_UNIMPLEMENTED},
        {.op = "StatelessRandomNormalV2",
            .attrs = "dtype=float32",
            .inputs = {"int32[1] 5", "uint64[2] 1 2", "uint64[2] 1 2", "int32[] 1"},
            .error = "the size of the key is 2 on one side and 1 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "StatelessRandomNormalV2",
            .attrs = "dtype=float32",
            .inputs = {"int32[1] 5", "uint64[1] 1", "uint64[1] 2", "int32[] 1"},
            .error = "the size of the counter is 1 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "StatelessRandomUniformIntV2",
            .inputs = {"int32[1] 5", "uint64[1] 81985529216486895", "uint64[2] 5 18446744073709551615",
                "int32[] 1", "int32[] 3", "int32[] 3"},
            .error = "minval is 3, not below maxval, 3",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "StatelessRandomGetKeyCounter",
            .inputs = {"int64[3] 1 2 3"},
            .error = "the number of seeds is 3 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
seeded_choices_are_tensorflows(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "RandomShuffle",
            .attrs = "seed=3; seed2=4",
            .inputs = {"int32[9] 0 1 2 3 4 5 6 7 8"},
            .outputs = {"int32[9] 6 5 0 1 8 3 7 4 2"}},
        {.op = "RandomShuffle",
            .attrs = "seed=3; seed2=4",
            .inputs = {"float32[4,3] 0 1 2 3 4 5 6 7 8 9 1e+01 11"},
            .outputs = {"float32[4,3] 3 4 5 6 7 8 9 1e+01 11 0 1 2"}},
        {.op = "RandomShuffle",
            .attrs = "seed=3",
            .inputs = {"float32[1,2] 1 2"},
            .outputs = {"float32[1,2] 1 2"}},
        {.op = "RandomShuffle", .attrs = "seed=3", .inputs = {"float32[] 5"}, .outputs = {"float32[] 5"}},
        {.op = "Multinomial",
            .attrs = "seed=3; seed2=9",
            .inputs = {"float32[2,3] 1 2 3 3 -inf 0", "int32[] 8"},
            .outputs = {"int64[2,8] 2 2 2 1 2 1 2 1 0 0 0 0 0 0 0 0"}},
        {.op = "Multinomial",
            .attrs = "seed=3; seed2=9; output_dtype=int32",
            .inputs = {"float64[1,4] 0 ...", "int32[] 9"},
            .outputs = {"int32[1,9] 1 2 1 1 3 0 2 0 1"}},
        {.op = "Multinomial",
            .attrs = "seed=3",
            .inputs = {"float32[1,2] 0 0", "int32[] 0"},
            .outputs = {"int64[1,0]"}},
        {.op = "Multinomial",
            .attrs = "seed=3",
            .inputs = {"float32[1,2] 0 0", "int32[] -1"},
            .error = "num_samples is -1",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

#define SHAPE "s = Const() dtype=int32 value=int32<1>(2)\n"
#define UNIFORM "r = RandomUniform(s) dtype=float32 T=int32 seed=87654321 seed2=3\n"

/* The cases of one call are runs of one session; each is a partition of its own. */
static void
a_seeded_node_goes_on_in_its_session_whatever_the_signature(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = SHAPE UNIFORM "o = _Retval(r) T=float32 index=0\n",
            .fetches = {"float32[2] 0.3869294 0.36002624"}},
        {.graph = SHAPE UNIFORM "q = Identity(r) T=float32\no = _Retval(q) T=float32 index=0\n",
            .fetches = {"float32[2] 0.19575107 0.07571161"}},
        {.graph = SHAPE UNIFORM "q = Identity(r) T=float32\no = _Retval(q) T=float32 index=0\n"
                                "p = _Retval(r) T=float32 index=1\n",
            .fetches = {"float32[2] 0.9180825 0.94347167", "float32[2] 0.9180825 0.94347167"}},
        {.graph = SHAPE "t = RandomUniform(s) dtype=float32 T=int32 seed=87654321 seed2=3\n"
                        "o = _Retval(t) T=float32 index=0\n",
            .fetches = {"float32[2] 0.3869294 0.36002624"}},
        {.graph = SHAPE "r = RandomUniform(s) dtype=float32 T=int32 seed=-5 seed2=1099511627776\n"
                        "o = _Retval(r) T=float32 index=0\n",
            .fetches = {"float32[2] 0.45631897 0.27367473"}},
    };
    graph_cases_run(cases, COUNT_OF(cases));
    graph_cases_run(cases, 1); /* another session begins anew */
}

typedef struct Drawn {
    const char *node; /* reads what stands in front of it */
    const char *dtype;
    const char *runs[3];
} Drawn;

static void
later_runs_are_tensorflows_too(void **state)
{
    (void)state;
    static const Drawn rows[] = {
        {"r = RandomUniform(s) dtype=float64 T=int32 seed=7 seed2=8", "float64",
            {"float64[3] 0.13227664431436192 0.4500572931332316 0.4206317053736641",
                "float64[3] 0.220227954255642 0.683873668892627 0.9931188705189411",
                "float64[3] 0.021126477057086257 0.37469416223199437 0.08837788446742922"}},
        {"r = RandomStandardNormal(s) dtype=float32 T=int32 seed=7 seed2=8", "float32",
            {"float32[3] -1.421837568283081 -0.7892279028892517 0.7690075039863586",
                "float32[3] -0.9112921953201294 -0.6698147654533386 0.7664903402328491",
                "float32[3] 0.023608796298503876 0.7535098791122437 -0.39121291041374207"}},
        {"r = TruncatedNormal(s) dtype=float32 T=int32 seed=7 seed2=8", "float32",
            {"float32[3] -1.421837568283081 -0.7892279028892517 0.7690075039863586",
                "float32[3] -0.9112921953201294 -0.6698147654533386 0.7664903402328491",
                "float32[3] 0.023608796298503876 0.7535098791122437 -0.39121291041374207"}},
        {"r = RandomUniformInt(s, a, b) Tout=int32 T=int32 seed=7 seed2=8", "int32",
            {"int32[3] 46 88 87", "int32[3] 13 76 17", "int32[3] 16 53 91"}},
        {"r = RandomShuffle(v) T=int32 seed=7 seed2=8", "int32",
            {"int32[6] 3 5 6 4 2 1", "int32[6] 4 5 2 3 6 1", "int32[6] 4 6 2 1 5 3"}},
        {"p = Slice(v, z, f) T=int32 Index=int32\nr = RandomShuffle(p) T=int32 seed=7 seed2=8", "int32",
            {"int32[5] 2 1 3 4 5", "int32[5] 4 1 3 2 5", "int32[5] 2 4 5 3 1"}},
        {"r = RandomShuffle(l) T=float32 seed=7 seed2=8", "float32",
            {"float32[2,3] 0 0 0 1 2 0", "float32[2,3] 0 0 0 1 2 0", "float32[2,3] 1 2 0 0 0 0"}},
        {"r = Multinomial(l, n) T=float32 output_dtype=int64 seed=7 seed2=8", "int64",
            {"int64[2,5] 0 1 1 2 2 1 1 1 1 0", "int64[2,5] 0 0 2 0 1 1 0 1 1 0",
                "int64[2,5] 0 0 0 0 0 1 1 0 0 1"}},
    };
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        char graph[512];
        GraphCase cases[3];
        (void)snprintf(graph, sizeof graph,
            "s = Const() dtype=int32 value=int32<1>(3)\na = Const() dtype=int32 value=int32(0)\n"
            "b = Const() dtype=int32 value=int32(100)\nn = Const() dtype=int32 value=int32(5)\n"
            "z = Const() dtype=int32 value=int32<1>(0)\nf = Const() dtype=int32 value=int32<1>(5)\n"
            "v = _Arg() T=int32 index=0\nl = _Arg() T=float32 index=1\n%s\no = _Retval(r) T=%s index=0\n",
            rows[row].node, rows[row].dtype);
        for (size_t run = 0; run < COUNT_OF(cases); run++) {
            cases[run] = (GraphCase){.graph = graph,
                .feeds = {"int32[6] 1 2 3 4 5 6", "float32[2,3] 0 0 0 1 2 0"},
                .fetches = {rows[row].runs[run]}};
        }
        graph_cases_run(cases, COUNT_OF(cases));
    }
}

#define WIDE "parallel_iterations=32"
#define DRAWING                                                                                              \
    "zero = Const() dtype=int32 value=int32(0)\nn = Const() dtype=int32 value=int32(20)\n"                   \
    "start = Const() dtype=float32 value=float32<2>(0)\n" LOOP_COUNTER("i", "loop", "zero", "n", WIDE)       \
        LOOP_VARIABLE("v", "i", "loop", "start", WIDE) "s = Const(^i_body) dtype=int32 value=int32<1>(2)\n"  \
                                                       "half = Const(^i_body) dtype=float32 "                \
                                                       "value=float32(0.5)\n"                                \
                                                       "r = RandomUniform(s) dtype=float32 T=int32 seed=7 "  \
                                                       "seed2=8\nm = Mul(v_body, half) T=float32\n"          \
                                                       "v_new = Add(m, r) T=float32\n"                       \
                                                       "o = _Retval(v_exit) T=float32 index=0\n"

/* Numbers as TensorFlow draws them with parallel_iterations=1. */
static void
iterations_draw_in_their_order_however_many_may_overlap(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = DRAWING, .fetches = {"float32[2] 0.4561719000339508 1.39841628074646"}},
        {.graph = DRAWING, .fetches = {"float32[2] 0.8248469233512878 1.2676212787628174"}},
    };
    for (int turn = 0; turn < 20; turn++) {
        graph_cases_run(cases, COUNT_OF(cases));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeded_numbers_are_tensorflows),
        cmocka_unit_test(seeded_integers_are_tensorflows),
        cmocka_unit_test(stateless_numbers_are_tensorflows),
        cmocka_unit_test(numbers_of_a_key_and_a_counter_are_tensorflows),
        cmocka_unit_test(keys_and_counters_of_other_generators_are_refused),
        cmocka_unit_test(seeded_choices_are_tensorflows),
        cmocka_unit_test(later_runs_are_tensorflows_too),
        cmocka_unit_test(iterations_draw_in_their_order_however_many_may_overlap),
        cmocka_unit_test(a_seeded_node_goes_on_in_its_session_whatever_the_signature),
    };
    return cmocka_run_group_tests_name("reference/random", tests, NULL, NULL);
}
