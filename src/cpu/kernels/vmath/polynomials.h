// polynomials.h - the coefficients of vmath.c, highest power first, which code that is made in
// place (emit_math.c) has too. FIRST(p, x, c) begins a sum p in powers of x, NEXT(p, x, c) is
// p = p x + c.
//
// They are minimax fits of our own (weighted least squares iterated to equal ripple, in 50 digits),
// with errors below 2e-9 relative before rounding.
#pragma once

// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2
#define HSC_POLY_EXP(FIRST, NEXT, p, x) \
  FIRST(p, x, 0.0001990758319152519f) \
  NEXT(p, x, 0.0013933652080595493f) \
  NEXT(p, x, 0.00833328627049923f) \
  NEXT(p, x, 0.04166646674275398f) \
  NEXT(p, x, 0.1666666716337204f) \
  NEXT(p, x, 0.5f)

// (log(1 + f) - f + f^2 / 2) / f^3 for 1 + f in [sqrt(1/2), sqrt(2))
#define HSC_POLY_LOG(FIRST, NEXT, p, x) \
  FIRST(p, x, 0.06915368139743805f) \
  NEXT(p, x, -0.11789807677268982f) \
  NEXT(p, x, 0.11872976273298264f) \
  NEXT(p, x, -0.1238434836268425f) \
  NEXT(p, x, 0.14218658208847046f) \
  NEXT(p, x, -0.16669251024723053f) \
  NEXT(p, x, 0.20002226531505585f) \
  NEXT(p, x, -0.24999986588954926f) \
  NEXT(p, x, 0.3333331048488617f)

// (sin(r) - r) / r^3 in s = r^2 for |r| <= pi / 4
#define HSC_POLY_SIN(FIRST, NEXT, p, x) \
  FIRST(p, x, 2.724938894971274e-06f) \
  NEXT(p, x, -0.00019840082677546889f) \
  NEXT(p, x, 0.008333331905305386f) \
  NEXT(p, x, -0.1666666716337204f)

// (cos(r) - 1 + s / 2) / s^2 in s = r^2 for |r| <= pi / 4
#define HSC_POLY_COS(FIRST, NEXT, p, x) \
  FIRST(p, x, -2.7300504257254943e-07f) \
  NEXT(p, x, 2.480059629306197e-05f) \
  NEXT(p, x, -0.00138888880610466f) \
  NEXT(p, x, 0.0416666679084301f)

// ln 2 and pi / 2 in two parts, of which the first has so few digits that its multiples are exact
#define HSC_LN2_HIGH 0.693145751953125f
#define HSC_LN2_LOW 1.428606765330187e-06f
#define HSC_HALF_PI_HIGH 1.5707963267341256
#define HSC_HALF_PI_LOW 6.077100506506192e-11
#define HSC_LOG2_E 1.44269504088896341f
#define HSC_TWO_OVER_PI 0.63661977236758134308
