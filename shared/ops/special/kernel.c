/* Special functions, element by element, in double and by the methods of the Cephes library, with its results
 * outside their domains; and shifts. */
#include <float.h>
#include <math.h>

#include "worker/reference/elementwise.h"

#define ENDLESS ((double)INFINITY)
#define NOT_A_NUMBER ((double)NAN)

static const double pi = 3.14159265358979323846;

/* Computes log x - 1/2x - Σ B2k / 2k x^2k, exact enough for x from 10 on. */
static double
digamma_asymptotic(double x)
{
    static const double terms[] = {8.33333333333333333333e-2, -8.33333333333333333333e-3,
        3.96825396825396825397e-3, -4.16666666666666666667e-3, 7.57575757575757575758e-3,
        -2.10927960927960927961e-2, 8.33333333333333333333e-2};
    double square = 1 / (x * x);
    double power = square;
    double sum = 0;
    for (int n = 0; n < 7; n++) {
        sum += terms[n] * power;
        power *= square;
    }
    return log(x) - 0.5 / x - sum;
}

static double
special_digamma(double x)
{
    double below = 0;
    if (x <= 0) {
        if (x == floor(x)) {
            return NOT_A_NUMBER;
        }
        below = pi / tan(pi * x);
        x = 1 - x;
    }
    double sum = 0;
    int steps = x < 10 ? (int)ceil(10 - x) : 0;
    for (int n = 0; n < steps; n++) {
        sum += 1 / (x + n);
    }
    return digamma_asymptotic(x + steps) - sum - below;
}

/* Adds the rest of the series from `w` on (Euler and Maclaurin); `last` is the term before it. */
static double
zeta_rest(double x, double w, double last, double sum)
{
    static const double divisors[] = {12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9,
        7.47242496e10, -2.950130727918164224e12, 1.1646782814350067249e14, -4.5979787224074726105e15,
        1.8152105401943546773e17, -7.1661652561756670113e18};
    double factor = 1;
    double power = last;
    sum += last * w / (x - 1) - 0.5 * last;
    for (int n = 0; n < 12; n++) {
        factor *= x + 2 * n;
        power /= w;
        double term = factor * power / divisors[n];
        sum += term;
        if (fabs(term / sum) < DBL_EPSILON / 2) {
            break;
        }
        factor *= x + 2 * n + 1;
        power /= w;
    }
    return sum;
}

/* Computes Hurwitz's zeta: Σ (q + k)^-x. */
static double
special_zeta(double x, double q)
{
    if (x == 1) {
        return ENDLESS;
    }
    if (x != x || q != q || x < 1 || (q <= 0 && q != floor(q) && x != floor(x))) {
        return NOT_A_NUMBER;
    }
    if (q <= 0 && q == floor(q)) {
        return x == floor(x) && fmod(x, 2) == 0 ? ENDLESS : NOT_A_NUMBER;
    }
    double sum = pow(q, -x);
    double a = q;
    double term = sum;
    for (int n = 0; n < 9 || a <= 9; n++) {
        a++;
        term = pow(a, -x);
        sum += term;
        if (fabs(term / sum) < DBL_EPSILON / 2) {
            return sum;
        }
    }
    return zeta_rest(x, a, term, sum);
}

/* Computes the n-th derivative of digamma. */
static double
special_polygamma(double n, double x)
{
    if (n < 0 || n != floor(n)) {
        return NOT_A_NUMBER;
    }
    if (n == 0) {
        return special_digamma(x);
    }
    return (fmod(n, 2) == 0 ? -1 : 1) * tgamma(n + 1) * special_zeta(n + 1, x);
}

enum { TERMS_MAX = 5000 };

/* Computes x^a e^-x / Γ(a). */
static double
gamma_factor(double a, double x)
{
    return exp(a * log(x) - x - lgamma(a));
}

static double
igamma_series(double a, double x)
{
    double term = 1;
    double sum = 1;
    for (int n = 1; n < TERMS_MAX && term > sum * DBL_EPSILON / 2; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return sum * gamma_factor(a, x) / a;
}

/* A divisor of a continued fraction may not be 0 (Lentz's method). */
static double
away_from_zero(double value)
{
    return fabs(value) < DBL_MIN / DBL_EPSILON ? DBL_MIN / DBL_EPSILON : value;
}

static double
igammac_fraction(double a, double x)
{
    double b = x + 1 - a;
    double c = 1 / (DBL_MIN / DBL_EPSILON);
    double d = 1 / away_from_zero(b);
    double result = d;
    for (int n = 1; n < TERMS_MAX; n++) {
        double numerator = -n * (n - a);
        b += 2;
        d = 1 / away_from_zero(numerator * d + b);
        c = away_from_zero(b + numerator / c);
        result *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON) {
            break;
        }
    }
    return result * gamma_factor(a, x);
}

/* Computes the lower incomplete gamma function, regularised. */
static double
special_igamma(double a, double x)
{
    if (x != x || a != a || x < 0 || a <= 0) {
        return x == 0 && a == a ? 0 : NOT_A_NUMBER;
    }
    if (x == 0 || isinf(x)) {
        return x == 0 ? 0 : 1;
    }
    return x > 1 && x > a ? 1 - igammac_fraction(a, x) : igamma_series(a, x);
}

/* Computes 1 less the regularised lower incomplete gamma function. */
static double
special_igammac(double a, double x)
{
    if (x != x || a != a || x < 0 || a <= 0) {
        return NOT_A_NUMBER;
    }
    if (x == 0 || isinf(x)) {
        return x == 0 ? 1 : 0;
    }
    return x < 1 || x < a ? 1 - igamma_series(a, x) : igammac_fraction(a, x);
}

static double
betainc_fraction(double a, double b, double x)
{
    double c = 1;
    double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
    double result = d;
    for (int n = 1; n < TERMS_MAX; n++) {
        double even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n));
        double odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        result *= d * c;
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        result *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON) {
            break;
        }
    }
    return result;
}

static double
special_betainc(double a, double b, double x)
{
    if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1)) {
        return NOT_A_NUMBER;
    }
    if (x == 0 || x == 1) {
        return x;
    }
    double factor = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? factor * betainc_fraction(a, b, x) / a
                                     : 1 - factor * betainc_fraction(b, a, 1 - x) / b;
}

/* A loop of three inputs, whose elements are the arguments of a function. */
#define TERNARY_LOOP(name, function, upper, lower, storage, compute, read, write)                            \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *a = run->inputs[0];                                                                   \
        const storage *b = run->inputs[1];                                                                   \
        const storage *x = run->inputs[2];                                                                   \
        storage *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            z[n] = write((compute)function((double)read(a[n * run->strides[0]]),                             \
                (double)read(b[n * run->strides[1]]), (double)read(x[n * run->strides[2]])));                \
        }                                                                                                    \
    }

#define FLOATS(loop, name, expression)                                                                       \
    FLOATING_ELEMENTS(loop, name, expression)                                                                \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};                             \
    ELEMENTWISE(name, 0, NULL, NULL)

FLOATS(UNARY_LOOP, digamma, (__typeof__(a))special_digamma((double)a))
FLOATS(BINARY_LOOP, zeta, (__typeof__(a))special_zeta((double)a, (double)b))
FLOATS(BINARY_LOOP, polygamma, (__typeof__(a))special_polygamma((double)a, (double)b))
FLOATS(BINARY_LOOP, igamma, (__typeof__(a))special_igamma((double)a, (double)b))
FLOATS(BINARY_LOOP, igammac, (__typeof__(a))special_igammac((double)a, (double)b))
FLOATS(TERNARY_LOOP, betainc, special_betainc)

BINARY_LOOP(next, nextafterf(a, b), FLOAT32, float32, float, float, , (float))
BINARY_LOOP(next, nextafter(a, b), FLOAT64, float64, double, double, , (double))
static const ElementLoop next_loops[DTYPE_COUNT] = {
    [DTYPE_FLOAT32] = next_float32, [DTYPE_FLOAT64] = next_float64};

/* Shifts are limited to the width. */
#define WIDTH(a) (8 * (int64_t)sizeof(__typeof__(x[0])))
#define HELD(b) ((b) < 0 ? 0 : (b) >= WIDTH(b) ? WIDTH(b) - 1 : (b))
#define HELD_UNSIGNED(b) ((b) >= (uint64_t)WIDTH(b) ? (uint64_t)WIDTH(b) - 1 : (b))
SIGNED_ELEMENTS(BINARY_LOOP, shift_left, (int64_t)((uint64_t)a << HELD(b)))
UNSIGNED_ELEMENTS(BINARY_LOOP, shift_left, a << HELD_UNSIGNED(b))
SIGNED_ELEMENTS(BINARY_LOOP, shift_right, a >> HELD(b))
UNSIGNED_ELEMENTS(BINARY_LOOP, shift_right, a >> HELD_UNSIGNED(b))
static const ElementLoop shift_left_loops[DTYPE_COUNT] = {INTEGER_LOOPS(shift_left)};
static const ElementLoop shift_right_loops[DTYPE_COUNT] = {INTEGER_LOOPS(shift_right)};

ELEMENTWISE(next, 0, NULL, NULL)
ELEMENTWISE(shift_left, 0, NULL, NULL)
ELEMENTWISE(shift_right, 0, NULL, NULL)

static const Kernel special_kernels[] = {
    ELEMENTWISE_KERNEL("Digamma", digamma),
    ELEMENTWISE_KERNEL("Zeta", zeta),
    ELEMENTWISE_KERNEL("Polygamma", polygamma),
    ELEMENTWISE_KERNEL("Igamma", igamma),
    ELEMENTWISE_KERNEL("Igammac", igammac),
    ELEMENTWISE_KERNEL("Betainc", betainc),
    ELEMENTWISE_KERNEL("NextAfter", next),
    ELEMENTWISE_KERNEL("LeftShift", shift_left),
    ELEMENTWISE_KERNEL("RightShift", shift_right),
};

KERNEL_FAMILY(reference, special, special_kernels);
