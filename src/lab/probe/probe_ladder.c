// probe_ladder.c - the built-in ladder: nested vmap over patches and images, small to full.
//
// One patch x of `patch` numbers goes through a layer to `hidden` numbers, tanh and layer
// normalisation, `layers` times, and back; the result is added to x. vmap over the patches of an
// image, then over images, makes the rung. (The model of the experience report that staged tests
// come from.)
#include "formats/common/formats.h"
#include "lab/probe/probe_internal.h"
#include "transform/transform.h"

const hsc__probe_rung hsc__probe_ladder[HSC__PROBE_RUNGS] = {
    {"small", 16, 32, 1, 4, 2},
    {"medium", 64, 128, 2, 16, 8},
    {"large", 128, 256, 4, 64, 16},
    {"full", 256, 512, 6, 64, 32},
};

static void layer_text(hsc_bytes *out, int64_t i, const char *in, int64_t from, int64_t to) {
  long long n = (long long)i;
  long long f = (long long)from;
  long long t = (long long)to;
  hsc_bytes_printf(out, "  w%lld = f32[%lld,%lld] parameter(%lld)\n", n, f, t, n);
  hsc_bytes_printf(
      out,
      "  d%lld = f32[%lld] dot(%s, w%lld), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n", n,
      t, in, n);
  hsc_bytes_printf(out, "  a%lld = f32[%lld] tanh(d%lld)\n", n, t, n);
  hsc_bytes_printf(out, "  s%lld = f32[] reduce(a%lld, zero), dimensions={0}, to_apply=sum\n", n,
                   n);
  hsc_bytes_printf(out, "  n%lld = f32[] constant(%lld)\n  m%lld = f32[] divide(s%lld, n%lld)\n", n,
                   t, n, n, n);
  hsc_bytes_printf(out,
                   "  b%lld = f32[%lld] broadcast(m%lld), dimensions={}\n  c%lld = f32[%lld] "
                   "subtract(a%lld, b%lld)\n",
                   n, t, n, n, t, n, n);
  hsc_bytes_printf(out,
                   "  q%lld = f32[%lld] multiply(c%lld, c%lld)\n  v%lld = f32[] reduce(q%lld, "
                   "zero), dimensions={0}, to_apply=sum\n",
                   n, t, n, n, n, n);
  hsc_bytes_printf(out,
                   "  u%lld = f32[] divide(v%lld, n%lld)\n  e%lld = f32[] add(u%lld, small)\n  "
                   "r%lld = f32[] rsqrt(e%lld)\n",
                   n, n, n, n, n, n, n);
  hsc_bytes_printf(out,
                   "  g%lld = f32[%lld] broadcast(r%lld), dimensions={}\n  y%lld = f32[%lld] "
                   "multiply(c%lld, g%lld)\n",
                   n, t, n, n, t, n, n);
}

static void patch_text(const hsc__probe_rung *rung, hsc_bytes *out) {
  hsc_bytes_printf(out,
                   "HloModule patch_%s\n\nsum {\n  p = f32[] parameter(0)\n  q = f32[] "
                   "parameter(1)\n  ROOT s = f32[] add(p, q)\n}\n\nENTRY main {\n",
                   rung->name);
  hsc_bytes_printf(out,
                   "  zero = f32[] constant(0)\n  small = f32[] constant(1e-05)\n  x = f32[%lld] "
                   "parameter(%lld)\n",
                   (long long)rung->patch, (long long)rung->layers + 1);
  char in[32] = "x";
  for (int64_t i = 0; i <= rung->layers; i++) {
    layer_text(out, i, in, i ? rung->hidden : rung->patch,
               i == rung->layers ? rung->patch : rung->hidden);
    snprintf(in, sizeof in, "y%lld", (long long)i);
  }
  hsc_bytes_printf(out, "  ROOT out = f32[%lld] add(x, %s)\n}\n", (long long)rung->patch, in);
}

hsc_status *hsc__probe_patch_model(const hsc__probe_rung *rung, hsc_module **out_module) {
  hsc_bytes text = {0};
  hsc_module *one = NULL;
  hsc_module *image = NULL;
  hsc_transform_options options = hsc_transform_options_default();
  patch_text(rung, &text);
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    status = hsc_hlo_text_parse(hsc_bytes_view(&text), NULL, &one);
  if (!status)
    status = hsc_transform_vmap(one, rung->patches, &options, &image);
  if (!status)
    status = hsc_transform_vmap(image, rung->batch, &options, out_module);
  hsc_module_destroy(one);
  hsc_module_destroy(image);
  hsc_bytes_deinit(&text);
  return status;
}
