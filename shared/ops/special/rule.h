/* Special functions in double, by the methods of the Cephes library and with its results outside their
 * domains, for the kernels of the host and, by nvcc, of a card. Valid C11 and C++. Threads: pure functions.
 */
#pragma once

#include <float.h>
#include <math.h>

#ifdef __CUDACC__
#define SPECIAL_FUNCTION static __device__ inline
#else
#define SPECIAL_FUNCTION static inline
#endif

#define SPECIAL_ENDLESS ((double)INFINITY)
#define SPECIAL_NAN ((double)NAN)
#define SPECIAL_PI 3.14159265358979323846

/* Computes log x - 1/2x - Σ B2k / 2k x^2k, exact enough for x from 10 on. */
SPECIAL_FUNCTION double
special_digamma_asymptotic(double x)
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

SPECIAL_FUNCTION double
special_digamma(double x)
{
    double below = 0;
    if (x <= 0) {
        if (x == floor(x)) {
            return SPECIAL_NAN;
        }
        below = SPECIAL_PI / tan(SPECIAL_PI * x);
        x = 1 - x;
    }
    double sum = 0;
    int steps = x < 10 ? (int)ceil(10 - x) : 0;
    for (int n = 0; n < steps; n++) {
        sum += 1 / (x + n);
    }
    return special_digamma_asymptotic(x + steps) - sum - below;
}

/* Adds the rest of the series from `w` on (Euler and Maclaurin); `last` is the term before it. */
SPECIAL_FUNCTION double
special_zeta_rest(double x, double w, double last, double sum)
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

/* Computes Σ (q + k)^-x of positive q. */
SPECIAL_FUNCTION double
special_zeta_of_positive(double x, double q)
{
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
    return special_zeta_rest(x, a, term, sum);
}

/* Computes Hurwitz's zeta: Σ (q + k)^-x. The terms of numbers below 0, as many as q is far from 0, are those
 * of two sums of positive ones. */
SPECIAL_FUNCTION double
special_zeta(double x, double q)
{
    if (x == 1) {
        return SPECIAL_ENDLESS;
    }
    if (x != x || q != q || x < 1 || (q <= 0 && q != floor(q) && x != floor(x))) {
        return SPECIAL_NAN;
    }
    if (q <= 0 && q == floor(q)) {
        return x == floor(x) && fmod(x, 2.0) == 0 ? SPECIAL_ENDLESS : SPECIAL_NAN;
    }
    if (q > 0) {
        return special_zeta_of_positive(x, q);
    }
    double below = special_zeta_of_positive(x, ceil(q) - q) - special_zeta_of_positive(x, 1 - q);
    return special_zeta_of_positive(x, q - floor(q)) + (fmod(x, 2.0) == 1 ? -below : below);
}

/* Computes the n-th derivative of digamma. */
SPECIAL_FUNCTION double
special_polygamma(double n, double x)
{
    if (n < 0 || n != floor(n)) {
        return SPECIAL_NAN;
    }
    if (n == 0) {
        return special_digamma(x);
    }
    return (fmod(n, 2.0) == 0 ? -1 : 1) * tgamma(n + 1) * special_zeta(n + 1, x);
}

enum { SPECIAL_TERMS_MAX = 5000 };

/* Computes x^a e^-x / Γ(a). */
SPECIAL_FUNCTION double
special_gamma_factor(double a, double x)
{
    return exp(a * log(x) - x - lgamma(a));
}

SPECIAL_FUNCTION double
special_igamma_series(double a, double x)
{
    double term = 1;
    double sum = 1;
    for (int n = 1; n < SPECIAL_TERMS_MAX && term > sum * DBL_EPSILON / 2; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return sum * special_gamma_factor(a, x) / a;
}

/* A divisor of a continued fraction may not be 0 (Lentz's method). */
SPECIAL_FUNCTION double
special_away_from_zero(double value)
{
    return fabs(value) < DBL_MIN / DBL_EPSILON ? DBL_MIN / DBL_EPSILON : value;
}

SPECIAL_FUNCTION double
special_igammac_fraction(double a, double x)
{
    double b = x + 1 - a;
    double c = 1 / (DBL_MIN / DBL_EPSILON);
    double d = 1 / special_away_from_zero(b);
    double result = d;
    for (int n = 1; n < SPECIAL_TERMS_MAX; n++) {
        double numerator = -n * (n - a);
        b += 2;
        d = 1 / special_away_from_zero(numerator * d + b);
        c = special_away_from_zero(b + numerator / c);
        result *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON) {
            break;
        }
    }
    return result * special_gamma_factor(a, x);
}

/* Computes the lower incomplete gamma function, regularised. */
SPECIAL_FUNCTION double
special_igamma(double a, double x)
{
    if (x != x || a != a || x < 0 || a <= 0) {
        return x == 0 && a == a ? 0 : SPECIAL_NAN;
    }
    if (x == 0 || x == SPECIAL_ENDLESS) {
        return x == 0 ? 0 : 1;
    }
    return x > 1 && x > a ? 1 - special_igammac_fraction(a, x) : special_igamma_series(a, x);
}

/* Computes 1 less the regularised lower incomplete gamma function. */
SPECIAL_FUNCTION double
special_igammac(double a, double x)
{
    if (x != x || a != a || x < 0 || a <= 0) {
        return SPECIAL_NAN;
    }
    if (x == 0 || x == SPECIAL_ENDLESS) {
        return x == 0 ? 1 : 0;
    }
    return x < 1 || x < a ? 1 - special_igamma_series(a, x) : special_igammac_fraction(a, x);
}

SPECIAL_FUNCTION double
special_betainc_fraction(double a, double b, double x)
{
    double c = 1;
    double d = 1 / special_away_from_zero(1 - (a + b) * x / (a + 1));
    double result = d;
    for (int n = 1; n < SPECIAL_TERMS_MAX; n++) {
        double even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n));
        double odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1));
        d = 1 / special_away_from_zero(1 + even * d);
        c = special_away_from_zero(1 + even / c);
        result *= d * c;
        d = 1 / special_away_from_zero(1 + odd * d);
        c = special_away_from_zero(1 + odd / c);
        result *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON) {
            break;
        }
    }
    return result;
}

SPECIAL_FUNCTION double
special_betainc(double a, double b, double x)
{
    if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1)) {
        return SPECIAL_NAN;
    }
    if (x == 0 || x == 1) {
        return x;
    }
    double factor = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? factor * special_betainc_fraction(a, b, x) / a
                                     : 1 - factor * special_betainc_fraction(b, a, 1 - x) / b;
}
