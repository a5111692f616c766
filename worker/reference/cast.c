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

static int64_t
truncate_signed(double value)
{
    if (value >= 0x1p63) {
        return INT64_MAX;
    }
    if (value >= -0x1p63) {
        return (int64_t)value;
    }
    return value < 0 ? INT64_MIN : 0; /* NaN is not below zero */
}

/* Converts a number below zero as C converts the signed integer. */
static uint64_t
truncate_unsigned(double value)
{
    if (value >= 0x1p63) {
        return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
    }
    return (uint64_t)truncate_signed(value);
}

#define WRITE_LOOP(name, member, conversion, upper, lower, storage, compute, read, write)                    \
    static void name##_##lower(const Values *values, int64_t count, void *output)                            \
    {                                                                                                        \
        storage *z = output;                                                                                 \
        for (int64_t n = 0; n < count; n++) {                                                                \
            z[n] = write((compute)conversion(values->member[n]));                                            \
        }                                                                                                    \
    }

#define IS_TRUE(value) ((value) != 0)

#define WRITE_LOOPS(name, member, to_signed, to_unsigned, to_real, to_complex)                               \
    SIGNED_ELEMENTS(WRITE_LOOP, name, member, to_signed)                                                     \
    UNSIGNED_ELEMENTS(WRITE_LOOP, name, member, to_unsigned)                                                 \
    BOOL_ELEMENTS(WRITE_LOOP, name, member, IS_TRUE)                                                         \
    FLOATING_ELEMENTS(WRITE_LOOP, name, member, to_real)                                                     \
    COMPLEX_ELEMENTS(WRITE_LOOP, name, member, to_complex)

#define SIGNED_PART(value) truncate_signed(creal(value))
#define UNSIGNED_PART(value) truncate_unsigned(creal(value))

WRITE_LOOPS(store_signed, signed_integers, , , , )
WRITE_LOOPS(store_unsigned, unsigned_integers, , , , )
WRITE_LOOPS(store_real, reals, truncate_signed, truncate_unsigned, , )
WRITE_LOOPS(store_complex, complexes, SIGNED_PART, UNSIGNED_PART, creal, )

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

bool
cast_supports(Dtype from, Dtype to)
{
    return readers[from].load != NULL && stores[CLASS_REAL][to] != NULL;
}

void
cast_elements(Dtype from, const void *input, Dtype to, void *output, int64_t count)
{
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
