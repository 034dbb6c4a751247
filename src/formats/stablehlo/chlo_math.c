// chlo_math.c - special functions as arithmetic of HLO: erfc, erf_inv, bessel_i1e, lgamma, digamma,
// zeta, polygamma, next_after, mulhi.
//
// The approximations are those that StableHLO and XLA use, so that results agree: Cephes (S. L.
// Moshier) for erfc and I1, Giles for the inverse of erf, Lanczos' formula with g = 7 for the gamma
// functions, the Euler-Maclaurin formula for zeta. Bounds against SciPy are in docs/conformance.md.
// Source: stablehlo/transforms/ChloLegalizeToStablehlo.cpp, xla/hlo/builder/lib/math.cc; the
// sources that they name.
#include "formats/stablehlo/chlo_internal.h"

#include <float.h>

#define ADD(x, y) hsc__bin(c, HSC_OP_ADD, x, y)
#define SUB(x, y) hsc__bin(c, HSC_OP_SUBTRACT, x, y)
#define MUL(x, y) hsc__bin(c, HSC_OP_MULTIPLY, x, y)
#define DIV(x, y) hsc__bin(c, HSC_OP_DIVIDE, x, y)
#define AND(x, y) hsc__bin(c, HSC_OP_AND, x, y)
#define OR(x, y) hsc__bin(c, HSC_OP_OR, x, y)
#define NEG(x) hsc__un(c, HSC_OP_NEGATE, x)
#define ABS(x) hsc__un(c, HSC_OP_ABS, x)
#define EXP(x) hsc__un(c, HSC_OP_EXP, x)
#define LOG(x) hsc__un(c, HSC_OP_LOG, x)
#define LOG1P(x) hsc__un(c, HSC_OP_LOG1P, x)
#define SQRT(x) hsc__un(c, HSC_OP_SQRT, x)
#define FLOOR(x) hsc__un(c, HSC_OP_FLOOR, x)
#define LT(x, y) hsc__cmp(c, HSC_LT, x, y)
#define LE(x, y) hsc__cmp(c, HSC_LE, x, y)
#define EQ(x, y) hsc__cmp(c, HSC_EQ, x, y)
#define NE(x, y) hsc__cmp(c, HSC_NE, x, y)
#define SEL(p, x, y) hsc__sel(c, p, x, y)
#define K(value) hsc__like(c, x, value)  // in the shape of the x at hand

// erfc: exp(-x^2) P(|x|)/Q(|x|) under 8, R/S above; erf(x) = x T(x^2)/U(x^2). f32: exp(-x^2)/|x|
// times a polynomial in 1/x^2.
static const double erfc_p[] = {2.4619698147353052e-10, 0.56418956483106886, 7.4632105644226989,
                                48.637197098568137,     196.5208329560771,   526.44519499547732,
                                934.52852717195765,     1027.5518868951572,  557.53533536939938};
static const double erfc_q[] = {1,
                                13.228195115474499,
                                86.707214088598974,
                                354.93777888781989,
                                975.70850174320549,
                                1823.9091668790973,
                                2246.3376081871097,
                                1656.6630919416134,
                                557.53534081772773};
static const double erfc_r[] = {0.56418958354775506, 1.275366707599781,  5.0190504225118051,
                                6.160210979930536,   7.4097426995044895, 2.9788666537210022};
static const double erfc_s[] = {1,
                                2.2605286322011726,
                                9.3960352493800148,
                                12.048953980809666,
                                17.081445074756591,
                                9.6089680906328585,
                                3.3690764510008151};
static const double erf_t[] = {9.6049737398705162, 90.026019720384269, 2232.0053459468431,
                               7003.3251411280507, 55592.301301039493};
static const double erf_u[] = {1,
                               33.561714164750313,
                               521.35794978015269,
                               4594.3238297098014,
                               22629.000061389095,
                               49267.394260863592};
static const double erfc_near[] = {0.0232682,    -0.138703942, 0.368742466,
                                   -0.582473278, 0.621000468,  -0.494451523,
                                   0.340488,     -0.274112701, 0.563825965};
static const double erfc_far[] = {-10.477664,  12.9772,    -7.49551868,  2.92101908,
                                  -1.01526523, 0.42184633, -0.282076746, 0.564189494};
static const double erf_small[] = {7.85386146e-05, -0.00080101937, 0.00518832775, -0.0268538129,
                                   0.112835854,    -0.37612626,    1.12837911};
// The inverse of erf by the size of w = -log(1 - x^2) (M. Giles, Approximating the erfinv
// function).
static const double erf_inv_32_small[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                          -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                          -0.00417768164,  0.246640727,    1.50140941};
static const double erf_inv_32_large[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                          -0.00367342844,  0.00573950773,  -0.0076224613,
                                          0.00943887047,   1.00167406,     2.83297682};
static const double erf_inv_64_small[] = {
    -3.6444120640178197e-21, -1.6850591381820166e-19, 1.28584807152564e-18,
    1.1157877678025181e-17,  -1.3331716628546209e-16, 2.0972767875968562e-17,
    6.6376381343583238e-15,  -4.0545662729752069e-14, -8.1519341976054722e-14,
    2.6335093153082323e-12,  -1.2975133253453532e-11, -5.4154120542946279e-11,
    1.0512122733215323e-09,  -4.1126339803469837e-09, -2.9070369957882005e-08,
    4.2347877827932404e-07,  -1.3654692000834679e-06, -1.3882523362786469e-05,
    0.00018673420803405714,  -0.00074070253416626698, -0.0060336708714301491,
    0.24015818242558962,     1.6536545626831027};
static const double erf_inv_64_middle[] = {
    2.2137376921775787e-09, 9.0756561938885391e-08, -2.7517406297064545e-07,
    1.8239629214389228e-08, 1.5027403968909828e-06, -4.013867526981546e-06,
    2.9234449089955446e-06, 1.2475304481671779e-05, -4.7318229009055734e-05,
    6.8284851459573175e-05, 2.4031110387097894e-05, -0.00035503752036284748,
    0.0009532893797373805,  -0.0016882755560235047, 0.0024914420961078508,
    -0.0037512085075692412, 0.0053709145535900636,  1.0052589676941592,
    3.0838856104922208};
static const double erf_inv_64_large[] = {
    -2.7109920616438573e-11, -2.5556418169965252e-10, 1.5076572693500548e-09,
    -3.789465440126737e-09,  7.6157012080783394e-09,  -1.496002662714924e-08,
    2.9147953450901081e-08,  -6.7711997758452339e-08, 2.2900482228026655e-07,
    -9.9298272942317003e-07, 4.5260625972231537e-06,  -1.9681778105531671e-05,
    7.5995277030017761e-05,  -0.00021503011930044477, -0.00013871931833623122,
    1.0103004648645344,      4.8499064014085844};
// exp(-|x|) I1(x): Chebyshev series over [0, 8] and [8, inf].
static const double bessel_32_small[] = {
    9.38153732e-09,  -4.44505908e-08, 2.00329481e-07,  -8.56872e-07,  3.47025139e-06,
    -1.32731639e-05, 4.78156508e-05,  -0.000161760821, 0.000512286,   -0.00151357241,
    0.0041564228,    -0.0105640851,   0.0247264486,    -0.0529459827, 0.102643661,
    -0.176416516,    0.252587199};
static const double bessel_32_large[] = {-3.83538046e-09, -2.63146891e-08, -2.51223611e-07,
                                         -3.88256467e-06, -0.000110588939, -0.00976109784,
                                         0.778576254};
static const double bessel_64_small[] = {
    2.7779141127610464e-18,  -2.111421214358166e-17,  1.5536319577362005e-16,
    -1.1055969477353862e-15, 7.6006842947354077e-15,  -5.0421855047279118e-14,
    3.2237933659455748e-13,  -1.9839743977649436e-12, 1.1736186298890901e-11,
    -6.6634897235020271e-11, 3.6255902815521172e-10,  -1.8872497517228294e-09,
    9.3815373864957726e-09,  -4.4450591287963281e-08, 2.0032947535521353e-07,
    -8.5687202646954547e-07, 3.4702513081376785e-06,  -1.3273163656039436e-05,
    4.7815651075500542e-05,  -0.00016176081582589674, 0.00051228595616857576,
    -0.0015135724506312532,  0.0041564229443128882,   -0.010564084894626197,
    0.024726449030626516,    -0.052945981208094989,   0.10264365868984709,
    -0.17641651835783406,    0.25258718644363365};
static const double bessel_64_large[] = {
    7.5172963108421052e-18,  4.4143483230717077e-18,  -4.6503053684893586e-17,
    -3.2095259219934238e-17, 2.9626289976459501e-16,  3.3082023109209285e-16,
    -1.8803547755107825e-15, -3.8144030724370075e-15, 1.0420276984128802e-14,
    4.272440016711951e-14,   -2.1015418427726643e-14, -4.0835511110921974e-13,
    -7.1985517762459084e-13, 2.0356285441470896e-12,  1.4125807436613782e-11,
    3.2526035830154884e-11,  -1.8974958123505413e-11, -5.5897434621965838e-10,
    -3.835380385964237e-09,  -2.6314688468895196e-08, -2.5122362378702088e-07,
    -3.8825648088776906e-06, -0.00011058893876262371, -0.0097610974913614687,
    0.77857623501828011};

// Horner's rule, the highest power first.
#define POLYNOMIAL(x, coefficients) polynomial(c, x, coefficients, HSC_COUNT_OF(coefficients))
static hsc_instr *polynomial(hsc__chlo *c, hsc_instr *x, const double *coefficients, size_t count) {
  hsc_instr *sum = K(coefficients[0]);
  for (size_t i = 1; i < count; i++)
    sum = ADD(MUL(sum, x), K(coefficients[i]));
  return sum;
}

// Clenshaw's rule for a Chebyshev series, the highest term first.
#define CHEBYSHEV(x, coefficients) chebyshev(c, x, coefficients, HSC_COUNT_OF(coefficients))
static hsc_instr *chebyshev(hsc__chlo *c, hsc_instr *x, const double *coefficients, size_t count) {
  hsc_instr *b0 = K(0);
  hsc_instr *b1 = b0;
  hsc_instr *b2 = b0;
  for (size_t i = 0; i < count; i++) {
    b2 = b1;
    b1 = b0;
    b0 = ADD(SUB(MUL(x, b1), b2), K(coefficients[i]));
  }
  return MUL(K(0.5), SUB(b0, b2));
}

static bool is_f64(const hsc_instr *x) {
  return x->shape.type == HSC_TYPE_F64;
}

// ---- error functions ----------------------------------------------------------------------------

hsc_instr *hsc__chlo_erfc(hsc__chlo *c, hsc_instr *x) {
  hsc_instr *square = MUL(x, x);
  hsc_instr *minus = NEG(square);
  hsc_instr *size = ABS(x);
  hsc_instr *bell = EXP(minus);
  hsc_instr *large;
  hsc_instr *small;
  if (is_f64(x)) {
    hsc_instr *middle = DIV(MUL(bell, POLYNOMIAL(size, erfc_p)), POLYNOMIAL(size, erfc_q));
    hsc_instr *far = DIV(MUL(bell, POLYNOMIAL(size, erfc_r)), POLYNOMIAL(size, erfc_s));
    large = SEL(LT(size, K(8)), middle, far);
    small = SUB(K(1), DIV(MUL(x, POLYNOMIAL(square, erf_t)), POLYNOMIAL(square, erf_u)));
  } else {
    hsc_instr *inverse = DIV(K(1), size);
    hsc_instr *y = MUL(inverse, inverse);
    large = MUL(MUL(bell, inverse),
                SEL(LT(size, K(2)), POLYNOMIAL(y, erfc_near), POLYNOMIAL(y, erfc_far)));
    small = SUB(K(1), MUL(x, POLYNOMIAL(square, erf_small)));
  }
  // exp would be subnormal
  large = SEL(LT(minus, K(is_f64(x) ? -709.78271289338397 : -88.7228394)), K(0), large);
  large = SEL(LT(x, K(0)), SUB(K(2), large), large);
  return SEL(LE(size, K(1)), small, large);
}

hsc_instr *hsc__chlo_erf_inv(hsc__chlo *c, hsc_instr *x) {
  hsc_instr *w = NEG(LOG1P(MUL(NEG(x), x)));
  hsc_instr *p;
  if (is_f64(x)) {
    hsc_instr *root = SQRT(w);
    hsc_instr *small = POLYNOMIAL(SUB(w, K(3.125)), erf_inv_64_small);
    hsc_instr *middle = POLYNOMIAL(SUB(root, K(3.25)), erf_inv_64_middle);
    p = SEL(LT(w, K(6.25)), small,
            SEL(LT(w, K(16)), middle, POLYNOMIAL(SUB(root, K(5)), erf_inv_64_large)));
  } else {
    p = SEL(LT(w, K(5)), POLYNOMIAL(SUB(w, K(2.5)), erf_inv_32_small),
            POLYNOMIAL(SUB(SQRT(w), K(3)), erf_inv_32_large));
  }
  return SEL(EQ(ABS(x), K(1)), MUL(x, K(INFINITY)), MUL(p, x));
}

hsc_instr *hsc__chlo_bessel_i1e(hsc__chlo *c, hsc_instr *x) {
  hsc_instr *size = ABS(x);
  hsc_instr *near = SUB(MUL(K(0.5), size), K(2));
  hsc_instr *far = SUB(DIV(K(32), size), K(2));
  hsc_instr *small;
  hsc_instr *large;
  small =
      MUL(is_f64(x) ? CHEBYSHEV(near, bessel_64_small) : CHEBYSHEV(near, bessel_32_small), size);
  large = DIV(is_f64(x) ? CHEBYSHEV(far, bessel_64_large) : CHEBYSHEV(far, bessel_32_large),
              SQRT(size));
  return MUL(hsc__un(c, HSC_OP_SIGN, x), SEL(LE(size, K(8)), small, large));
}

// ---- gamma functions ----------------------------------------------------------------------------

static const double lanczos_g = 7;
static const double log_lanczos_g_and_half = 2.0149030205422647;
static const double lanczos_first = 0.99999999999980993;
static const double lanczos[] = {
    676.5203681218851,  -1259.1392167224028,  771.32342877765313,     -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-06, 1.5056327351493116e-07};

// The formulas hold from 1/2 on: below, they take 1 - x, and the reflection formula does the rest.
// Both are of z = x - 1.
static hsc_instr *reflected(hsc__chlo *c, hsc_instr *x, hsc_instr **out_is_reflected) {
  *out_is_reflected = LT(x, K(0.5));
  return SEL(*out_is_reflected, NEG(x), SUB(x, K(1)));
}

// log(z + g + 1/2), accurate for small z.
static hsc_instr *log_of_t(hsc__chlo *c, hsc_instr *x, hsc_instr *z) {
  return ADD(LOG1P(DIV(z, K(lanczos_g + 0.5))), K(log_lanczos_g_and_half));
}

hsc_instr *hsc__chlo_lgamma(hsc__chlo *c, hsc_instr *x) {
  hsc_instr *is_reflected;
  hsc_instr *z = reflected(c, x, &is_reflected);
  hsc_instr *sum = K(lanczos_first);
  for (size_t i = 0; i < HSC_COUNT_OF(lanczos); i++)
    sum = ADD(sum, DIV(K(lanczos[i]), ADD(z, K((double)i + 1))));
  hsc_instr *t = ADD(K(lanczos_g + 0.5), z);
  hsc_instr *log_t = log_of_t(c, x, z);
  // log(2 pi) / 2
  hsc_instr *direct =
      ADD(ADD(MUL(SUB(ADD(z, K(0.5)), DIV(t, log_t)), log_t), K(0.91893853320467267)), LOG(sum));
  // log(pi / |sin(pi x)|) - lgamma(1 - x); the sine of what is left of |x|, in the nearer half.
  hsc_instr *size = ABS(x);
  hsc_instr *fraction = SUB(size, FLOOR(size));
  hsc_instr *sine = hsc__un(c, HSC_OP_SINE,
                            MUL(K(M_PI), SEL(LT(K(0.5), fraction), SUB(K(1), fraction), fraction)));
  // log(pi)
  hsc_instr *log_sine = LOG(sine);
  hsc_instr *mirrored = SUB(SUB(K(1.1447298858494002), log_sine), direct);
  mirrored = SEL(hsc__un(c, HSC_OP_IS_FINITE, log_sine), mirrored, NEG(log_sine));
  return SEL(EQ(size, K(INFINITY)), K(INFINITY), SEL(is_reflected, mirrored, direct));
}

hsc_instr *hsc__chlo_digamma(hsc__chlo *c, hsc_instr *x) {
  hsc_instr *is_reflected;
  hsc_instr *z = reflected(c, x, &is_reflected);
  hsc_instr *slope = K(0);
  hsc_instr *sum = K(lanczos_first);
  for (size_t i = 0; i < HSC_COUNT_OF(lanczos); i++) {
    hsc_instr *at = ADD(z, K((double)i + 1));
    slope = SUB(slope, DIV(K(lanczos[i]), MUL(at, at)));
    sum = ADD(sum, DIV(K(lanczos[i]), at));
  }
  hsc_instr *t = ADD(K(lanczos_g + 0.5), z);
  hsc_instr *direct = SUB(ADD(log_of_t(c, x, z), DIV(slope, sum)), DIV(K(lanczos_g), t));
  hsc_instr *angle = MUL(K(M_PI), ADD(x, ABS(FLOOR(ADD(x, K(0.5))))));  // tan has period pi
  hsc_instr *mirrored = SUB(
      direct, DIV(MUL(K(M_PI), hsc__un(c, HSC_OP_COSINE, angle)), hsc__un(c, HSC_OP_SINE, angle)));
  hsc_instr *is_pole = AND(LE(x, K(0)), EQ(x, FLOOR(x)));
  return SEL(is_pole, K(NAN), SEL(is_reflected, mirrored, direct));
}

hsc_instr *hsc__chlo_zeta(hsc__chlo *c, hsc_instr *x, hsc_instr *q) {
  // (2k)! over the Bernoulli number B_2k, the highest first.
  static const double terms[] = {
      -1.3954464685812522e-19, 5.5090028283602295e-18,  -2.1748686985580618e-16,
      8.5860620562778446e-15,  -3.3896802963225828e-13, 1.3382536530684679e-11,
      -5.2841901386874932e-10, 2.0876756987868098e-08,  -8.2671957671957672e-07,
      3.3068783068783069e-05,  -1.3888888888888889e-03};
  hsc_op power = HSC_OP_POWER;
  hsc_instr *minus_x = NEG(x);
  hsc_instr *a = q;
  hsc_instr *last = hsc__bin(c, power, q, minus_x);
  hsc_instr *sum = last;
  for (int i = 0; i < 9; i++) {
    a = ADD(a, K(1));
    last = hsc__bin(c, power, a, minus_x);
    sum = ADD(sum, last);
  }
  a = ADD(a, K(1));
  last = hsc__bin(c, power, a, minus_x);
  hsc_instr *integral = DIV(MUL(last, a), SUB(x, K(1)));
  hsc_instr *inverse = DIV(K(1), MUL(a, a));
  hsc_instr *series = K(0);
  for (int i = 0; i < (int)HSC_COUNT_OF(terms); i++) {
    int k = 2 * ((int)HSC_COUNT_OF(terms) - i);
    series = MUL(MUL(MUL(ADD(x, K(k)), ADD(x, K(k - 1))), inverse), ADD(series, K(terms[i])));
  }
  hsc_instr *rest = MUL(last, ADD(K(0.5), MUL(DIV(x, a), ADD(K(1.0 / 12), series))));
  hsc_instr *value = ADD(ADD(sum, integral), rest);
  // the rest may be no number then
  value = SEL(LT(ABS(last), MUL(ABS(sum), K(is_f64(x) ? DBL_EPSILON / 16 : FLT_EPSILON / 16))), sum,
              value);
  value = SEL(LT(x, K(1)), K(NAN), value);
  // For q <= 0 there is a pole at every integer, and no real value elsewhere unless x is an
  // integer.
  hsc_instr *not_positive = LE(q, K(0));
  hsc_instr *whole = EQ(x, FLOOR(x));
  hsc_instr *even = AND(whole, EQ(hsc__bin(c, HSC_OP_REMAINDER, x, K(2)), K(0)));
  value = SEL(AND(not_positive, NE(x, FLOOR(x))), K(NAN), value);
  value = SEL(AND(not_positive, EQ(q, FLOOR(q))), SEL(even, K(INFINITY), K(NAN)), value);
  return SEL(EQ(x, K(1)), K(INFINITY), value);
}

hsc_instr *hsc__chlo_polygamma(hsc__chlo *c, hsc_instr *n, hsc_instr *x) {
  hsc_instr *order = ADD(n, K(1));
  hsc_instr *is_odd = NE(hsc__bin(c, HSC_OP_REMAINDER, n, K(2)), K(0));
  hsc_instr *value = MUL(EXP(hsc__chlo_lgamma(c, order)), hsc__chlo_zeta(c, order, x));
  value = SEL(is_odd, value, NEG(value));
  value = SEL(EQ(n, K(0)), hsc__chlo_digamma(c, x), value);
  return SEL(OR(LT(n, K(0)), NE(n, FLOOR(n))), K(NAN), value);
}

// ---- bits ---------------------------------------------------------------------------------------

static hsc_instr *bitcast(hsc__chlo *c, hsc_instr *x, hsc_type type) {
  return hsc_build(c->b, HSC_OP_BITCAST_CONVERT, hsc_shape_with_type(x->shape, type), 1, &x);
}

static hsc_instr *whole_number(hsc__chlo *c, hsc_instr *like, uint64_t value) {
  hsc_shape scalar = hsc_shape_scalar(like->shape.type);
  hsc_literal *literal = NULL;
  hsc_status *status = hsc_literal_create(c->im->module->arena, &scalar, &literal);
  if (status) {
    if (c->b->status)
      hsc_status_free(status);
    else
      c->b->status = status;
    return like;
  }
  hsc_literal_set_int(literal, 0, (int64_t)value);
  return hsc_build_broadcast(c->b, hsc_build_constant(c->b, literal), like->shape, (hsc_dims){0});
}

// Floats of one sign are ordered as their bits are: the next one is one more or one less.
hsc_instr *hsc__chlo_next_after(hsc__chlo *c, hsc_instr *x, hsc_instr *y) {
  int bits = 8 * (int)hsc_type_bytes(x->shape.type);
  hsc_type type;
  if (bits == 64)
    type = HSC_TYPE_U64;
  else if (bits == 32)
    type = HSC_TYPE_U32;
  else if (bits == 16)
    type = HSC_TYPE_U16;
  else
    type = HSC_TYPE_U8;
  uint64_t sign_bit = UINT64_C(1) << (bits - 1);
  hsc_instr *xb = bitcast(c, x, type);
  hsc_instr *yb = bitcast(c, y, type);
  hsc_instr *sign = whole_number(c, xb, sign_bit);
  hsc_instr *one = whole_number(c, xb, 1);
  hsc_instr *zero = whole_number(c, xb, 0);
  hsc_instr *size_bits = whole_number(c, xb, sign_bit - 1);
  hsc_instr *x_size = AND(xb, size_bits);
  hsc_instr *y_size = AND(yb, size_bits);
  hsc_instr *signs_differ = NE(AND(xb, sign), AND(yb, sign));
  hsc_instr *towards_zero = OR(hsc__cmp(c, HSC_GT, x_size, y_size), signs_differ);
  hsc_instr *moved = SEL(towards_zero, SUB(xb, one), ADD(xb, one));
  hsc_instr *from_zero = OR(AND(yb, sign), one);  // the smallest number, with y's sign
  hsc_instr *result =
      bitcast(c, SEL(EQ(x_size, zero), SEL(EQ(y_size, zero), yb, from_zero), moved), x->shape.type);
  result = SEL(EQ(x, y), y, result);
  hsc_instr *is_nan = OR(NE(x, x), NE(y, y));
  return SEL(is_nan, ADD(x, y), result);
}

// The upper half of the product, from a type of twice the width; of 64 bits from halves.
hsc_instr *hsc__chlo_mulhi(hsc__chlo *c, hsc_instr *x, hsc_instr *y) {
  hsc_type type = x->shape.type;
  bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  int bits = hsc_type_bits(type);
  if (bits < 64) {
    hsc_type wide = is_signed ? HSC_TYPE_S64 : HSC_TYPE_U64;
    hsc_instr *product = MUL(hsc_build_convert(c->b, wide, x), hsc_build_convert(c->b, wide, y));
    hsc_instr *upper =
        hsc__bin(c, is_signed ? HSC_OP_SHIFT_RIGHT_ARITH : HSC_OP_SHIFT_RIGHT_LOGICAL, product,
                 whole_number(c, product, (uint64_t)bits));
    return hsc_build_convert(c->b, type, upper);
  }
  hsc_instr *a = is_signed ? bitcast(c, x, HSC_TYPE_U64) : x;
  hsc_instr *b = is_signed ? bitcast(c, y, HSC_TYPE_U64) : y;
  hsc_instr *mask = whole_number(c, a, UINT32_MAX);
  hsc_instr *half = whole_number(c, a, 32);
#define UPPER(v) hsc__bin(c, HSC_OP_SHIFT_RIGHT_LOGICAL, v, half)
  hsc_instr *a_low = AND(a, mask);
  hsc_instr *a_high = UPPER(a);
  hsc_instr *b_low = AND(b, mask);
  hsc_instr *b_high = UPPER(b);
  hsc_instr *middle = ADD(MUL(a_high, b_low), UPPER(MUL(a_low, b_low)));
  hsc_instr *other = ADD(MUL(a_low, b_high), AND(middle, mask));
  hsc_instr *upper = ADD(ADD(MUL(a_high, b_high), UPPER(middle)), UPPER(other));
#undef UPPER
  if (!is_signed)
    return upper;
  // Two's complement: a negative factor was read as 2^64 more.
  hsc_instr *zero = whole_number(c, x, 0);
  hsc_instr *none = whole_number(c, a, 0);
  upper = SUB(upper, SEL(LT(x, zero), b, none));
  upper = SUB(upper, SEL(LT(y, zero), a, none));
  return bitcast(c, upper, type);
}
