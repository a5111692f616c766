#include "worker/reference/cast.h"

#include "worker/reference/elements.h"

/* A run of elements is converted through the widest type of its class, which holds every value exactly. */
enum { RUN_ELEMENTS = 256 };

typedef enum ValueClass { CLASS_NONE, CLASS_SIGNED, CLASS_UNSIGNED, CLASS_REAL, CLASS_COMPLEX } ValueClass;

typedef union Values {
    int64_t signed_integers[RUN_ELEMENTS];
    uint64_t unsigned_integers[RUN_ELEMENTS];
    double reals[RUN_ELEMENTS];
    double complex complexes[RUN_ELEMENTS];
} Values;

#define READ_LOOP(name, member, wide, upper, lower, storage, compute, read, write)                           \
    static void name##_##lower(const void *input, int64_t count, Values *values)                             \
    {                                                                                                        \
        const storage *x = input;                                                                            \
        for (int64_t n = 0; n < count; n++) {                                                                \
            values->member[n] = (wide)read(x[n]);                                                            \
        }                                                                                                    \
    }

SIGNED_ELEMENTS(READ_LOOP, load, signed_integers, int64_t)
UNSIGNED_ELEMENTS(READ_LOOP, load, unsigned_integers, uint64_t)
BOOL_ELEMENTS(READ_LOOP, load, unsigned_integers, uint64_t)
FLOATING_ELEMENTS(READ_LOOP, load, reals, double)
COMPLEX_ELEMENTS(READ_LOOP, load, complexes, double complex)

typedef struct Reader {
    ValueClass value_class;
    void (*load)(const void *input, int64_t count, Values *values);
} Reader;

#define READER(name, class, upper, lower, ...) [DTYPE_##upper] = {class, name##_##lower},
static const Reader readers[DTYPE_COUNT] = {SIGNED_ELEMENTS(READER, load, CLASS_SIGNED)
        UNSIGNED_ELEMENTS(READER, load, CLASS_UNSIGNED) BOOL_ELEMENTS(READER, load, CLASS_UNSIGNED)
            FLOATING_ELEMENTS(READER, load, CLASS_REAL) COMPLEX_ELEMENTS(READER, load, CLASS_COMPLEX)};

/* Truncates within [-end, end); all other numbers and NaN give -end. */
static int64_t
truncate_within(double value, double end)
{
    return (int64_t)(value >= -end && value < end ? value : -end);
}

static int64_t
truncate_signed(double value, size_t size)
{
    return truncate_within(value, size < sizeof(int64_t) ? 0x1p31 : 0x1p63);
}

/* Converts a number below zero as C converts the signed integer. */
static uint64_t
truncate_unsigned(double value, size_t size)
{
    double end = size < sizeof(uint64_t) ? 0x1p31 : 0x1p63;
    bool is_large = size >= sizeof(uint32_t) && value >= end && value < 2 * end;
    return is_large ? (uint64_t)value : (uint64_t)truncate_within(value, end);
}

#define WRITE_LOOP(name, member, conversion, upper, lower, storage, compute, read, write)                    \
    static void name##_##lower(const Values *values, int64_t count, void *output)                            \
    {                                                                                                        \
        storage *z = output;                                                                                 \
        for (int64_t n = 0; n < count; n++) {                                                                \
            z[n] = write((compute)conversion(values->member[n]));                                            \
        }                                                                                                    \
    }

#define TRUNCATE_LOOP(name, member, conversion, part, upper, lower, storage, compute, read, write)           \
    static void name##_##lower(const Values *values, int64_t count, void *output)                            \
    {                                                                                                        \
        storage *z = output;                                                                                 \
        for (int64_t n = 0; n < count; n++) {                                                                \
            z[n] = write(conversion(part(values->member[n]), sizeof(storage)));                              \
        }                                                                                                    \
    }

#define IS_TRUE(value) ((value) != 0)

#define INTEGER_WRITE_LOOPS(name, member)                                                                    \
    SIGNED_ELEMENTS(WRITE_LOOP, name, member, )                                                              \
    UNSIGNED_ELEMENTS(WRITE_LOOP, name, member, )                                                            \
    WRITE_LOOPS(name, member, , )

#define FLOATING_WRITE_LOOPS(name, member, part)                                                             \
    SIGNED_ELEMENTS(TRUNCATE_LOOP, name, member, truncate_signed, part)                                      \
    UNSIGNED_ELEMENTS(TRUNCATE_LOOP, name, member, truncate_unsigned, part)                                  \
    WRITE_LOOPS(name, member, part, )

#define WRITE_LOOPS(name, member, to_real, to_complex)                                                       \
    BOOL_ELEMENTS(WRITE_LOOP, name, member, IS_TRUE)                                                         \
    FLOATING_ELEMENTS(WRITE_LOOP, name, member, to_real)                                                     \
    COMPLEX_ELEMENTS(WRITE_LOOP, name, member, to_complex)

INTEGER_WRITE_LOOPS(store_signed, signed_integers)
INTEGER_WRITE_LOOPS(store_unsigned, unsigned_integers)
FLOATING_WRITE_LOOPS(store_real, reals, )
FLOATING_WRITE_LOOPS(store_complex, complexes, creal)

typedef void (*Store)(const Values *values, int64_t count, void *output);

#define STORES(name)                                                                                         \
    {                                                                                                        \
        INTEGER_LOOPS(name) BOOL_LOOPS(name) FLOATING_LOOPS(name) COMPLEX_LOOPS(name)                        \
    }
static const Store stores[][DTYPE_COUNT] = {
    [CLASS_SIGNED] = STORES(store_signed),
    [CLASS_UNSIGNED] = STORES(store_unsigned),
    [CLASS_REAL] = STORES(store_real),
    [CLASS_COMPLEX] = STORES(store_complex),
};

typedef void (*Convert)(const void *input, int64_t count, void *output);

/* Conversions that models are full of, without the widest type in between: C converts them as it is said
 * above. */
#define DIRECT_LOOP(name, from, to)                                                                          \
    static void name(const void *input, int64_t count, void *output)                                         \
    {                                                                                                        \
        const from *x = input;                                                                               \
        to *z = output;                                                                                      \
        for (int64_t n = 0; n < count; n++) {                                                                \
            z[n] = (to)x[n];                                                                                 \
        }                                                                                                    \
    }

DIRECT_LOOP(byte_to_float, uint8_t, float)
DIRECT_LOOP(byte_to_int, uint8_t, int32_t)
DIRECT_LOOP(byte_to_long, uint8_t, int64_t)
DIRECT_LOOP(int_to_float, int32_t, float)
DIRECT_LOOP(int_to_long, int32_t, int64_t)
DIRECT_LOOP(long_to_float, int64_t, float)
DIRECT_LOOP(long_to_int, int64_t, int32_t)
DIRECT_LOOP(float_to_double, float, double)
DIRECT_LOOP(double_to_float, double, float)

static const Convert conversions[DTYPE_COUNT][DTYPE_COUNT] = {
    [DTYPE_BOOL] =
        {[DTYPE_FLOAT32] = byte_to_float, [DTYPE_INT32] = byte_to_int, [DTYPE_INT64] = byte_to_long},
    [DTYPE_UINT8] =
        {[DTYPE_FLOAT32] = byte_to_float, [DTYPE_INT32] = byte_to_int, [DTYPE_INT64] = byte_to_long},
    [DTYPE_INT32] = {[DTYPE_FLOAT32] = int_to_float, [DTYPE_INT64] = int_to_long},
    [DTYPE_INT64] = {[DTYPE_FLOAT32] = long_to_float, [DTYPE_INT32] = long_to_int},
    [DTYPE_FLOAT32] = {[DTYPE_FLOAT64] = float_to_double},
    [DTYPE_FLOAT64] = {[DTYPE_FLOAT32] = double_to_float},
};

bool
cast_supports(Dtype from, Dtype to)
{
    return readers[from].load != NULL && stores[CLASS_REAL][to] != NULL;
}

void
cast_elements(Dtype from, const void *input, Dtype to, void *output, int64_t count)
{
    if (conversions[from][to] != NULL) {
        conversions[from][to](input, count, output);
        return;
    }
    const Reader *reader = &readers[from];
    Store store = stores[reader->value_class][to];
    Values values;
    for (int64_t first = 0; first < count; first += RUN_ELEMENTS) {
        int64_t size = count - first < RUN_ELEMENTS ? count - first : RUN_ELEMENTS;
        reader->load((const char *)input + first * (int64_t)dtype_size(from), size, &values);
        store(&values, size, (char *)output + first * (int64_t)dtype_size(to));
    }
}

void
cast_tensor(const Tensor *input, Tensor *output)
{
    cast_elements(input->dtype, input->data, output->dtype, output->data, tensor_element_count(input));
}
