// growth.c - how the work of a compile grows with the program: 17 shapes of programs in three
// sizes, up to 50,000 instructions; the exponent of each phase and each pass.
//
//   growth [--largest N] [--all] [SHAPE...]      a line for each exponent above the bound; 1: any
//   growth --quick [SHAPE...]                    the short form, for any build; 1: any
//
// In the build that `make growth` makes, compilers put a count into every piece of straight code
// and the clock reads that count (base/core/clock.c): what is printed is work, the same at every
// run. In another build it is time, and nothing fails by it. LLVM's work and the C library's are
// not counted. The short form takes processor time, of whole phases only and up to 6,000
// instructions, repeats what looks bad, and lets everything up to n^1.8 pass: it sees what is
// quadratic, on a machine that others use too. The file goes from the shapes of programs over what
// is measured of one (`measure`) to what is said of it (`judge`).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "cpu/core/cpu_internal.h"
#include "formats/common/formats.h"
#include "passes/manager/passes.h"

enum { SIZES = 3, STEP = 4, LARGEST = 50000, QUICK_LARGEST = 6000, MAX_PARTS = 200 };
enum { QUICK_ATTEMPTS = 5 };
static const double BOUND = 1.1;
static const double QUICK_BOUND = 1.8;
static const double QUICK_LEAST_NS = 4e6;  // what takes less is too short to tell
static bool quick;
static const double LEAST_SHARE = 0.01;  // of the compile; what is smaller is not judged

// ---- shapes of programs -------------------------------------------------------------------------
// Each writes a program of about n instructions.

static void add(hsc_bytes *t, const char *text) {
  hsc_bytes_append_text(t, text);
}

// What each of `count` instructions named like `name` with numbers 0.. is, all in one tuple.
static void root_tuple(hsc_bytes *t, const char *name, const char *shape, int count) {
  add(t, "  ROOT out = (");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t, "%s%s", i ? ", " : "", shape);
  add(t, ") tuple(");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t, "%s%s%d", i ? ", " : "", name, i);
  add(t, ")\n}\n");
}

static void elementwise_chain(hsc_bytes *t, int n) {
  add(t, "ENTRY e {\n  x = f32[64] parameter(0)\n  a0 = f32[64] sine(x)\n");
  for (int i = 1; i < n; i++)
    hsc_bytes_printf(t, "  a%d = f32[64] %s(a%d, x)\n", i, i % 3 ? "multiply" : "add", i - 1);
  hsc_bytes_printf(t, "  ROOT r = f32[64] negate(a%d)\n}\n", n - 1);
}

static void layers(hsc_bytes *t, int n) {
  int count = n / 4;
  add(t,
      "ENTRY e {\n  x0 = f32[4,8] parameter(0)\n  w = f32[8,8] parameter(1)\n"
      "  b = f32[8] parameter(2)\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "  d%d = f32[4,8] dot(x%d, w), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={0}\n  c%d = f32[4,8] broadcast(b), dimensions={1}\n"
                     "  s%d = f32[4,8] add(d%d, c%d)\n  x%d = f32[4,8] tanh(s%d)\n",
                     i, i, i, i, i, i, i + 1, i);
  hsc_bytes_printf(t, "  ROOT r = f32[4,8] negate(x%d)\n}\n", count);
}

// A sum of products of different slices.
static void sum_of_products(hsc_bytes *t, int n) {
  int count = n / 4;
  hsc_bytes_printf(t, "ENTRY e {\n  x = f32[%d,8] parameter(0)\n  s0 = f32[8] parameter(1)\n",
                   count);
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "  p%d = f32[1,8] slice(x), slice={[%d:%d], [0:8]}\n"
                     "  q%d = f32[8] reshape(p%d)\n  m%d = f32[8] multiply(q%d, q%d)\n"
                     "  s%d = f32[8] add(s%d, m%d)\n",
                     i, i, i + 1, i, i, i, i, i, i + 1, i, i);
  hsc_bytes_printf(t, "  ROOT r = f32[8] negate(s%d)\n}\n", count);
}

static void parameters(hsc_bytes *t, int n) {
  int count = n / 5;
  add(t, "ENTRY e {\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "  w%d = f32[16] parameter(%d)\n  g%d = f32[16] parameter(%d)\n"
                     "  c%d = f32[] constant(0.%d)\n  b%d = f32[16] broadcast(c%d), dimensions={}\n"
                     "  m%d = f32[16] multiply(g%d, b%d)\n  u%d = f32[16] subtract(w%d, m%d)\n",
                     i, 2 * i, i, 2 * i + 1, i, 1 + i % 7, i, i, i, i, i, i, i, i);
  root_tuple(t, "u", "f32[16]", count);
}

// Forward, then backward, where each step reads what its step forward made.
static void gradient(hsc_bytes *t, int n) {
  int count = n / 5;
  add(t, "ENTRY e {\n  x0 = f32[8,8] parameter(0)\n  w = f32[8,8] parameter(1)\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "  d%d = f32[8,8] dot(x%d, w), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={0}\n  x%d = f32[8,8] tanh(d%d)\n",
                     i, i, i + 1, i);
  hsc_bytes_printf(t, "  g%d = f32[8,8] negate(x%d)\n", count, count);
  for (int i = count - 1; i >= 0; i--)
    hsc_bytes_printf(t,
                     "  y%d = f32[8,8] multiply(x%d, x%d)\n  z%d = f32[8,8] multiply(y%d, g%d)\n"
                     "  g%d = f32[8,8] dot(z%d, w), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={1}\n",
                     i, i + 1, i + 1, i, i, i + 1, i, i);
  add(t, "  ROOT r = f32[8,8] negate(g0)\n}\n");
}

static void loops(hsc_bytes *t, int n) {
  int count = n / 10;
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "c%d {\n  p = (s32[], f32[8]) parameter(0)\n"
                     "  i = s32[] get-tuple-element(p), index=0\n  k = s32[] constant(20)\n"
                     "  ROOT l = pred[] compare(i, k), direction=LT\n}\n"
                     "b%d {\n  p = (s32[], f32[8]) parameter(0)\n"
                     "  i = s32[] get-tuple-element(p), index=0\n  o = s32[] constant(1)\n"
                     "  j = s32[] add(i, o)\n  x = f32[8] get-tuple-element(p), index=1\n"
                     "  y = f32[8] cosine(x)\n  ROOT r = (s32[], f32[8]) tuple(j, y)\n}\n",
                     i, i);
  add(t, "ENTRY e {\n  x0 = f32[8] parameter(0)\n  z = s32[] constant(0)\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "  t%d = (s32[], f32[8]) tuple(z, x%d)\n"
                     "  w%d = (s32[], f32[8]) while(t%d), condition=c%d, body=b%d\n"
                     "  x%d = f32[8] get-tuple-element(w%d), index=1\n",
                     i, i, i, i, i, i, i + 1, i);
  hsc_bytes_printf(t, "  ROOT r = f32[8] negate(x%d)\n}\n", count);
}

static void calls(hsc_bytes *t, int n) {
  int count = n / 5;
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "f%d {\n  p = f32[32] parameter(0)\n  c = f32[] constant(%d)\n"
                     "  b = f32[32] broadcast(c), dimensions={}\n  ROOT r = f32[32] add(p, b)\n}\n",
                     i, i);
  add(t, "ENTRY e {\n  x0 = f32[32] parameter(0)\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t, "  x%d = f32[32] call(x%d), to_apply=f%d\n", i + 1, i, i);
  hsc_bytes_printf(t, "  ROOT r = f32[32] negate(x%d)\n}\n", count);
}

static void concatenate(hsc_bytes *t, int n) {
  int count = n / 2;
  hsc_bytes_printf(t, "ENTRY e {\n  x = f32[%d] parameter(0)\n", 2 * count);
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t, "  s%d = f32[1] slice(x), slice={[%d:%d]}\n  y%d = f32[1] sine(s%d)\n", i,
                     2 * i, 2 * i + 1, i, i);
  hsc_bytes_printf(t, "  ROOT r = f32[%d] concatenate(", count);
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t, "%sy%d", i ? ", " : "", i);
  add(t, "), dimensions={0}\n}\n");
}

// Rows written one after the other into one array.
static void updates(hsc_bytes *t, int n) {
  int count = n / 3;
  hsc_bytes_printf(t,
                   "ENTRY e {\n  u0 = f32[%d,8] parameter(0)\n  x = f32[1,8] parameter(1)\n  z = "
                   "s32[] constant(0)\n",
                   count);
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "  k%d = s32[] constant(%d)\n  y%d = f32[1,8] sine(x)\n"
                     "  u%d = f32[%d,8] dynamic-update-slice(u%d, y%d, k%d, z)\n",
                     i, i, i, i + 1, count, i, i, i);
  hsc_bytes_printf(t, "  ROOT r = f32[%d,8] negate(u%d)\n}\n", count, count);
}

static void reductions(hsc_bytes *t, int n) {
  int count = n / 3;
  add(t,
      "a {\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT r = f32[] add(p, q)\n}\n"
      "ENTRY e {\n  x0 = f32[8,16] parameter(0)\n  z = f32[] constant(0)\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "  s%d = f32[8] reduce(x%d, z), dimensions={1}, to_apply=a\n"
                     "  b%d = f32[8,16] broadcast(s%d), dimensions={0}\n"
                     "  x%d = f32[8,16] subtract(x%d, b%d)\n",
                     i, i, i, i, i + 1, i, i);
  root_tuple(t, "s", "f32[8]", count);
}

// One value that all read, and what they make is added in a tree.
static void fan_out(hsc_bytes *t, int n) {
  int count = 1;
  while (4 * count <= n)
    count *= 2;
  add(t, "ENTRY e {\n  x = f32[16,16] parameter(0)\n  v = f32[16,16] tanh(x)\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(
        t,
        "  c%d = f32[] constant(%d)\n  b%d = f32[16,16] broadcast(c%d), dimensions={}\n"
        "  t%d = f32[16,16] multiply(v, b%d)\n",
        count + i, i, count + i, count + i, count + i, count + i);
  for (int i = count - 1; i >= 1; i--)
    hsc_bytes_printf(t, "  t%d = f32[16,16] add(t%d, t%d)\n", i, 2 * i, 2 * i + 1);
  add(t, "  ROOT r = f32[16,16] negate(t1)\n}\n");
}

static void branches(hsc_bytes *t, int n) {
  int count = n / 8;
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "y%d {\n  p = f32[8] parameter(0)\n  ROOT r = f32[8] sine(p)\n}\n"
                     "n%d {\n  p = f32[8] parameter(0)\n  ROOT r = f32[8] cosine(p)\n}\n",
                     i, i);
  add(t, "ENTRY e {\n  x0 = f32[8] parameter(0)\n  k = f32[] constant(0.5)\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "  s%d = f32[1] slice(x%d), slice={[0:1]}\n  f%d = f32[] reshape(s%d)\n"
                     "  c%d = pred[] compare(f%d, k), direction=LT\n"
                     "  x%d = f32[8] conditional(c%d, x%d, x%d), true_computation=y%d, "
                     "false_computation=n%d\n",
                     i, i, i, i, i, i, i + 1, i, i, i, i, i);
  hsc_bytes_printf(t, "  ROOT r = f32[8] negate(x%d)\n}\n", count);
}

// x = x + f(x): each is read twice.
static void residual(hsc_bytes *t, int n) {
  int count = n / 3;
  add(t, "ENTRY e {\n  x0 = f32[32] parameter(0)\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "  a%d = f32[32] tanh(x%d)\n  b%d = f32[32] multiply(a%d, x%d)\n"
                     "  x%d = f32[32] add(b%d, x%d)\n",
                     i, i, i, i, i, i + 1, i, i);
  hsc_bytes_printf(t, "  ROOT r = f32[32] negate(x%d)\n}\n", count);
}

// One loop over thousands of arrays, as training steps under fori_loop are: a fifth is passed on,
// of which half begin as the same zeros, and each of the others is made of its neighbour.
static void loop_state(hsc_bytes *t, int n) {
  int count = n / 5;
  hsc_bytes state = {0};
  add(&state, "(s32[]");
  for (int i = 0; i < count; i++)
    add(&state, ", f32[8]");
  add(&state, ")");
  const char *type = hsc_bytes_text(&state);
  hsc_bytes_printf(t,
                   "c {\n  p = %s parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
                   "  k = s32[] constant(20)\n  ROOT l = pred[] compare(i, k), direction=LT\n}\n"
                   "b {\n  p = %s parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
                   "  o = s32[] constant(1)\n  j = s32[] add(i, o)\n",
                   type, type);
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t, "  x%d = f32[8] get-tuple-element(p), index=%d\n", i, i + 1);
  for (int i = 0; i < count; i++)
    if (i % 5)
      hsc_bytes_printf(t, "  y%d = f32[8] add(x%d, x%d)\n", i, i, (i + 1) % count);
  hsc_bytes_printf(t, "  ROOT r = %s tuple(j", type);
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t, ", %s%d", i % 5 ? "y" : "x", i);
  add(t, ")\n}\nENTRY e {\n  z = s32[] constant(0)\n  f = f32[] constant(0)\n");
  for (int i = 0; i < count; i++)
    if (i % 2)
      hsc_bytes_printf(t, "  a%d = f32[8] parameter(%d)\n", i, i / 2);
    else
      hsc_bytes_printf(t, "  a%d = f32[8] broadcast(f), dimensions={}\n", i);
  hsc_bytes_printf(t, "  t = %s tuple(z", type);
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t, ", a%d", i);
  hsc_bytes_printf(t, ")\n  w = %s while(t), condition=c, body=b\n", type);
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t, "  s%d = f32[8] get-tuple-element(w), index=%d\n", i, i + 1);
  root_tuple(t, "s", "f32[8]", count);
  hsc_bytes_deinit(&state);
}

// A loop whose body computes a long chain of what it does not change.
static void invariants(hsc_bytes *t, int n) {
  add(t,
      "c {\n  p = (s32[], f32[8], f32[8]) parameter(0)\n"
      "  i = s32[] get-tuple-element(p), index=0\n  k = s32[] constant(20)\n"
      "  ROOT l = pred[] compare(i, k), direction=LT\n}\nb {\n"
      "  p = (s32[], f32[8], f32[8]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  o = s32[] constant(1)\n  j = s32[] add(i, o)\n"
      "  x = f32[8] get-tuple-element(p), index=1\n"
      "  a0 = f32[8] get-tuple-element(p), index=2\n");
  for (int i = 1; i < n; i++)
    hsc_bytes_printf(t, "  a%d = f32[8] %s(a%d, a0)\n", i, i % 3 ? "multiply" : "add", i - 1);
  hsc_bytes_printf(t,
                   "  y = f32[8] multiply(x, a%d)\n"
                   "  ROOT r = (s32[], f32[8], f32[8]) tuple(j, y, a0)\n}\n",
                   n - 1);
  add(t,
      "ENTRY e {\n  x = f32[8] parameter(0)\n  a = f32[8] parameter(1)\n"
      "  z = s32[] constant(0)\n  t = (s32[], f32[8], f32[8]) tuple(z, x, a)\n"
      "  w = (s32[], f32[8], f32[8]) while(t), condition=c, body=b\n"
      "  ROOT r = f32[8] get-tuple-element(w), index=1\n}\n");
}

// One function that is called again and again, as a jitted function in a program is.
static void one_function(hsc_bytes *t, int n) {
  int count = n / 4;
  add(t,
      "f {\n  p = f32[32] parameter(0)\n  q = f32[32] parameter(1)\n"
      "  s = f32[32] sine(p)\n  m = f32[32] multiply(s, q)\n  ROOT r = f32[32] add(m, p)\n}\n"
      "ENTRY e {\n  x0 = f32[32] parameter(0)\n  w = f32[32] parameter(1)\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t, "  x%d = f32[32] call(x%d, w), to_apply=f\n", i + 1, i);
  hsc_bytes_printf(t, "  ROOT r = f32[32] negate(x%d)\n}\n", count);
}

// Data movement on data movement, each over the one before.
static void movement(hsc_bytes *t, int n) {
  int count = n / 4;
  add(t, "ENTRY e {\n  x0 = f32[4,6] parameter(0)\n  z = f32[] constant(0)\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(t,
                     "  t%d = f32[6,4] transpose(x%d), dimensions={1,0}\n"
                     "  r%d = f32[24] reshape(t%d)\n"
                     "  v%d = f32[24] reverse(r%d), dimensions={0}\n"
                     "  x%d = f32[4,6] reshape(v%d)\n",
                     i, i, i, i, i, i, i + 1, i);
  hsc_bytes_printf(t, "  ROOT r = f32[4,6] negate(x%d)\n}\n", count);
}

static const struct {
  const char *name;
  void (*write)(hsc_bytes *text, int n);
} shapes[] = {
    {"elementwise_chain", elementwise_chain},
    {"layers", layers},
    {"sum_of_products", sum_of_products},
    {"parameters", parameters},
    {"gradient", gradient},
    {"loops", loops},
    {"calls", calls},
    {"concatenate", concatenate},
    {"updates", updates},
    {"reductions", reductions},
    {"fan_out", fan_out},
    {"branches", branches},
    {"residual", residual},
    {"loop_state", loop_state},
    {"invariants", invariants},
    {"one_function", one_function},
    {"movement", movement},
};

// ---- measuring ----------------------------------------------------------------------------------

typedef struct part {
  char name[64];
  double cost[SIZES];
} part;

typedef struct growth {
  part parts[MAX_PARTS];
  int count;
  double instructions[SIZES];
} growth;

static void charge(growth *g, const char *name, int size, int64_t cost) {
  int p = 0;
  while (p < g->count && strcmp(g->parts[p].name, name) != 0)
    p++;
  if (p == MAX_PARTS)
    return;
  if (p == g->count)
    snprintf(g->parts[g->count++].name, sizeof g->parts[p].name, "%s", name);
  g->parts[p].cost[size] += (double)cost;
}

// Work where it is counted; else processor time in the short form.
static int64_t now(void) {
  struct timespec t;
  if (!quick)
    return hsc_now_ns();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t instructions_of(const hsc_module *module) {
  int64_t count = 0;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    count += computation->instr_count;
  return count;
}

// Formats there and back, then the compile with its phases and passes, and its bytes.
static hsc_status *measure(hsc_cpu_device *device, const hsc_bytes *text, int size, growth *g) {
  hsc_status *status = NULL;
  hsc_module *module = NULL;
  hsc_module *again = NULL;
  hsc_bytes bytes = {0};
  hsc_cpu_executable *executable = NULL;
  hsc_cpu_executable *loaded = NULL;
  hsc_pass_log log = {0};
  int64_t start = now();
#define PHASE(name, call) \
  HSC_GOTO(call); \
  charge(g, name, size, now() - start); \
  start = now()
  PHASE("hlo text", hsc_hlo_text_parse(hsc_bytes_view(text), "growth.hlo", &module));
  g->instructions[size] = (double)instructions_of(module);
  PHASE("proto writing", hsc_hlo_proto_write(module, &bytes));
  PHASE("proto reading",
        hsc_program_read_as(HSC_FORMAT_HLO_PROTO, hsc_bytes_view(&bytes), NULL, &again));
  hsc_bytes_deinit(&bytes);
  hsc_module_destroy(again);
  again = NULL;
  bytes = (hsc_bytes){0};
  start = now();
  PHASE("stablehlo writing", hsc_program_write(module, HSC_FORMAT_MLIR_TEXT, &bytes));
  PHASE("stablehlo reading", hsc_program_read(hsc_bytes_view(&bytes), NULL, &again));
  PHASE("all passes", hsc_passes_run(again, NULL, &(hsc_pass_options){.fuel = -1}, &log));
  PHASE("compile", hsc_cpu_compile(device, module, NULL, &executable));
  const hsc_cpu_stats *stats = hsc_cpu_executable_stats(executable);
  // These are of the clock, which others' work moves too.
  for (int32_t p = 0; p < stats->phase_count && !quick; p++)
    charge(g, stats->phases[p].name, size, stats->phases[p].duration_ns);
  for (int32_t r = 0; r < log.run_count && !quick; r++)
    charge(g, log.runs[r].pass, size, log.runs[r].duration_ns);
  hsc_bytes_deinit(&bytes);
  bytes = (hsc_bytes){0};
  start = now();
  PHASE("serialize", hsc_cpu_executable_serialize(executable, &bytes));
  PHASE("load", hsc_cpu_executable_deserialize(device, hsc_bytes_view(&bytes), &loaded));
done:
  hsc_pass_log_deinit(&log);
  hsc_cpu_executable_release(loaded);
  hsc_cpu_executable_release(executable);
  hsc_module_destroy(again);
  hsc_module_destroy(module);
  hsc_bytes_deinit(&bytes);
  return status;
}

static double exponent(const growth *g, const part *p) {
  return log(p->cost[SIZES - 1] / p->cost[SIZES - 2]) /
         log(g->instructions[SIZES - 1] / g->instructions[SIZES - 2]);
}

// How much grows too fast; prints lines for it, or for all.
static int judge(const char *shape, const growth *g, bool all, bool print) {
  int bad = 0;
  double whole = 1;
  for (int p = 0; p < g->count; p++)
    whole = fmax(whole, g->parts[p].cost[SIZES - 1]);
  for (int p = 0; p < g->count; p++) {
    const part *one = &g->parts[p];
    double share = one->cost[SIZES - 1] / whole;
    bool too_little = quick ? one->cost[SIZES - 1] < QUICK_LEAST_NS : share < LEAST_SHARE;
    if (too_little || one->cost[SIZES - 2] <= 0)
      continue;
    double e = exponent(g, one);
    bool above = e > (quick ? QUICK_BOUND : BOUND);
    bad += above;
    if (print && (above || all))
      printf("%s %-18s %-28s %.2f  %.3g -> %.3g\n", above ? "above" : "     ", shape, one->name, e,
             one->cost[SIZES - 2], one->cost[SIZES - 1]);
  }
  return bad;
}

static hsc_status *measure_shape(hsc_cpu_device *device, int shape, int largest, growth *g) {
  hsc_status *status = NULL;
  *g = (growth){0};
  for (int size = 0, n = largest / (STEP * STEP); size < SIZES && !status; size++, n *= STEP) {
    hsc_bytes text = {0};
    add(&text, "HloModule growth\n");
    shapes[shape].write(&text, n);
    status = text.failed ? hsc_status_out_of_memory() : measure(device, &text, size, g);
    hsc_bytes_deinit(&text);
  }
  return status ? hsc_status_note(status, "while: %s", shapes[shape].name) : NULL;
}

// The least of each cost: what others' work added to a measurement is not in both.
static void keep_least(growth *kept, const growth *g) {
  if (kept->count == 0)
    *kept = *g;
  for (int p = 0; p < kept->count && p < g->count; p++)
    for (int size = 0; size < SIZES; size++)
      kept->parts[p].cost[size] = fmin(kept->parts[p].cost[size], g->parts[p].cost[size]);
}

// In the short form another process may have had the caches: what looks bad is measured again.
static hsc_status *run_shape(hsc_cpu_device *device, int shape, int largest, bool all, int *bad) {
  static growth least;
  static growth g;
  int attempts = quick ? QUICK_ATTEMPTS : 1;
  int above = 1;
  least = (growth){0};
  for (int i = 0; i < attempts && above; i++) {
    HSC_TRY(measure_shape(device, shape, largest, &g));
    keep_least(&least, &g);
    above = judge(shapes[shape].name, &least, all, false);
  }
  *bad += judge(shapes[shape].name, &least, all, true);
  fflush(stdout);
  return NULL;
}

static bool wanted(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0)
      return true;
  return count == 0;
}

int main(int argc, char **argv) {
  int largest = LARGEST;
  int first = 1;
  bool all = false;
  for (; first < argc && argv[first][0] == '-'; first++) {
    if (strcmp(argv[first], "--largest") == 0 && first + 1 < argc)
      largest = atoi(argv[++first]);
    else if (strcmp(argv[first], "--all") == 0)
      all = true;
    else if (strcmp(argv[first], "--quick") == 0)
      quick = true;
  }
  if (quick)
    largest = QUICK_LARGEST;
  hsc_cpu_device *device = NULL;
  int bad = 0;
  hsc_status *status = hsc_cpu_device_create(&(hsc_cpu_device_options){.thread_count = 1}, &device);
  for (int s = 0; s < (int)HSC_COUNT_OF(shapes) && !status; s++)
    if (wanted(shapes[s].name, argc - first, argv + first))
      status = run_shape(device, s, largest, all, &bad);
  hsc_cpu_device_destroy(device);
  if (status) {
    fprintf(stderr, "growth: %s\n", hsc_status_message(status));
    hsc_status_free(status);
    return 2;
  }
  printf("growth: %d exponents above %.1f\n", bad, quick ? QUICK_BOUND : BOUND);
  return bad > 0;
}
