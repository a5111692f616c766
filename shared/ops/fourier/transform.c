#include "shared/ops/fourier/transform.h"

#include <assert.h>
#include <math.h>

#include "worker/reference/scratch.h"

enum { FACTOR_MAX = 13 };

static Complex
multiply(Complex a, Complex b)
{
    return (Complex){
        a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

static Complex
add(Complex a, Complex b)
{
    return (Complex){a.real + b.real, a.imaginary + b.imaginary};
}

static Complex
subtract(Complex a, Complex b)
{
    return (Complex){a.real - b.real, a.imaginary - b.imaginary};
}

static Complex
conjugate(Complex a)
{
    return (Complex){a.real, -a.imaginary};
}

/* Returns e^(-2πi·part/whole), for 0 ≤ part < whole. */
static Complex
turn_of(int64_t part, int64_t whole)
{
    static const double full_turn = 6.283185307179586;
    double angle = full_turn * ((double)part / (double)whole);
    return (Complex){cos(angle), -sin(angle)};
}

/* Cuts a length into factors of at most FACTOR_MAX; returns false when it has a larger prime factor. */
static bool
cut(int64_t length, int64_t *ret_factors)
{
    static const int64_t primes[] = {4, 2, 3, 5, 7, 11, FACTOR_MAX};
    size_t count = 0;
    for (size_t index = 0; index < COUNT_OF(primes); index++) {
        while (length % primes[index] == 0) {
            assert(count < TRANSFORM_FACTORS_MAX);
            ret_factors[count++] = primes[index];
            length /= primes[index];
        }
    }
    return length == 1;
}

/* Joins two transforms of `size` numbers, of the even ones and of the odd ones. */
static void
join_two(const Stages *stages, Complex *to, int64_t size, int64_t step)
{
    for (int64_t n = 0; n < size; n++) {
        Complex odd = multiply(to[n + size], stages->turns[n * step]);
        to[n + size] = subtract(to[n], odd);
        to[n] = add(to[n], odd);
    }
}

static void
join_four(const Stages *stages, Complex *to, int64_t size, int64_t step)
{
    for (int64_t n = 0; n < size; n++) {
        Complex first = multiply(to[n + size], stages->turns[n * step]);
        Complex second = multiply(to[n + 2 * size], stages->turns[2 * n * step]);
        Complex third = multiply(to[n + 3 * size], stages->turns[3 * n * step]);
        Complex even = add(to[n], second);
        Complex odd = add(first, third);
        Complex even_rest = subtract(to[n], second);
        Complex odd_rest = subtract(first, third);
        Complex turned = {odd_rest.imaginary, -odd_rest.real}; /* × -i */
        to[n] = add(even, odd);
        to[n + size] = add(even_rest, turned);
        to[n + 2 * size] = subtract(even, odd);
        to[n + 3 * size] = subtract(even_rest, turned);
    }
}

static void
join_many(const Stages *stages, Complex *to, int64_t size, int64_t step, int64_t factor)
{
    Complex parts[FACTOR_MAX];
    for (int64_t n = 0; n < size; n++) {
        for (int64_t part = 0; part < factor; part++) {
            parts[part] = to[n + part * size];
        }
        for (int64_t k = n; k < factor * size; k += size) {
            int64_t turn = 0;
            Complex sum = parts[0];
            for (int64_t part = 1; part < factor; part++) {
                turn = (turn + k * step) % stages->length;
                sum = add(sum, multiply(parts[part], stages->turns[turn]));
            }
            to[k] = sum;
        }
    }
}

/* Transforms every `step`th number: as many parts as this level's factor, each by the next level, joined. */
static void
run_level(const Stages *stages, const int64_t *factor, const Complex *from, int64_t step, Complex *to)
{
    int64_t count = stages->length / step;
    if (count == 1) {
        *to = *from;
        return;
    }
    int64_t size = count / *factor;
    for (int64_t part = 0; part < *factor; part++) {
        run_level(stages, factor + 1, from + part * step, step * *factor, to + part * size);
    }
    if (*factor == 2) {
        join_two(stages, to, size, step);
    } else if (*factor == 4) {
        join_four(stages, to, size, step);
    } else {
        join_many(stages, to, size, step, *factor);
    }
}

static void
run_stages(const Stages *stages, const Complex *from, Complex *to)
{
    run_level(stages, stages->factors, from, 1, to);
}

/* Σ x[n]·w^(kn) = w^(k²/2)·Σ (x[n]·w^(n²/2))·w^(-(k-n)²/2), a convolution. */
static void
run_convolution(const Transform *transform, const Complex *from, Complex *to, Complex *room)
{
    int64_t size = transform->stages.length;
    Complex *spectrum = room + size;
    memset(room, 0, (size_t)size * sizeof *room);
    for (int64_t n = 0; n < transform->length; n++) {
        room[n] = multiply(from[n], transform->chirp[n]);
    }
    run_stages(&transform->stages, room, spectrum);
    for (int64_t k = 0; k < size; k++) {
        spectrum[k] = conjugate(multiply(spectrum[k], transform->mirrors[k]));
    }
    run_stages(&transform->stages, spectrum, room);
    for (int64_t k = 0; k < transform->length; k++) {
        to[k] = multiply(conjugate(room[k]), transform->chirp[k]);
    }
}

void
transform_run(const Transform *transform, const Complex *from, Complex *to, Complex *room)
{
    if (transform->chirp == NULL) {
        run_stages(&transform->stages, from, to);
    } else {
        run_convolution(transform, from, to, room);
    }
}

/* Fills the tables of a convolution. `mirrored` is room for one of its operands. */
static void
fill_convolution(Transform *transform, Complex *chirp, Complex *mirrors, Complex *mirrored)
{
    int64_t size = transform->stages.length;
    int64_t period = 2 * transform->length;
    int64_t square = 0; /* n² modulo the period, which an angle of n² would lose digits without */
    memset(mirrored, 0, (size_t)size * sizeof *mirrored);
    for (int64_t n = 0; n < transform->length; n++) {
        chirp[n] = turn_of(square, period);
        Complex scaled = {chirp[n].real / (double)size, -chirp[n].imaginary / (double)size};
        mirrored[n] = scaled;
        mirrored[(size - n) % size] = scaled;
        square = (square + 2 * n + 1) % period;
    }
    run_stages(&transform->stages, mirrored, mirrors);
    transform->chirp = chirp;
    transform->mirrors = mirrors;
}

Status
transform_new(KernelContext *context, int64_t length, Transform *ret_transform)
{
    assert(length >= 1);
    Stages *stages = &ret_transform->stages;
    bool is_cut = cut(length, stages->factors);
    ret_transform->length = length;
    stages->length = is_cut ? length : 1;
    if (length > INT64_MAX / 64 / (int64_t)sizeof(Complex)) {
        return call_fail_memory(context->call, "a Fourier transform");
    }
    while (!is_cut && stages->length < 2 * length - 1) {
        stages->length *= 2;
    }
    int64_t tables = is_cut ? 1 : 4;
    ret_transform->room_size = is_cut ? 0 : 2 * stages->length;
    TRY(scratch_bytes(context, tables * stages->length, sizeof(Complex), &ret_transform->memory));
    Complex *turns = ret_transform->memory.data;
    for (int64_t k = 0; k < stages->length; k++) {
        turns[k] = turn_of(k, stages->length);
    }
    stages->turns = turns;
    if (!is_cut) {
        memset(stages->factors, 0, sizeof stages->factors);
        (void)cut(stages->length, stages->factors);
        fill_convolution(
            ret_transform, turns + stages->length, turns + 2 * stages->length, turns + 3 * stages->length);
    }
    return STATUS_OK;
}

void
transform_done(Transform *transform)
{
    tensor_unref(&transform->memory);
}
