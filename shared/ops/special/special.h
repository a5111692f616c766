/* Special functions in double, by the methods of the Cephes library, with its results outside their
 * domains.
 * Threads: any. */
#pragma once

double special_digamma(double x);
double special_zeta(double x, double q);      /* Hurwitz's zeta: Σ (q + k)^-x */
double special_polygamma(double n, double x); /* the n-th derivative of digamma */
double special_igamma(double a, double x);    /* the lower incomplete gamma function, regularised */
double special_igammac(double a, double x);   /* 1 less the regularised lower incomplete gamma function */
double special_betainc(double a, double b, double x);
