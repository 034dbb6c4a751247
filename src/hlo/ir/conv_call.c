// conv_call.c - see conv_call.h.
#include "hlo/ir/conv_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hsc_raw_attribute(const hsc_instr *instr, const char *name, char out[512]) {
  const char *found = instr->extra_attributes ? strstr(instr->extra_attributes, name) : NULL;
  size_t size = 0;
  if (!found)
    return false;
  for (int depth = 0; found[size] && (depth > 0 || found[size] != ','); size++) {
    depth += found[size] == '{';
    depth -= found[size] == '}';
  }
  if (size >= 512)
    return false;
  memcpy(out, found, size);
  out[size] = 0;
  return true;
}

// "2x3" or "1_2x3_4" of a field into one or two lists; what is not written keeps its value.
static void window_field(const char *window, const char *field, int64_t *first, int64_t *second) {
  const char *at = strstr(window, field);
  if (!at || (at > window && at[-1] != '{' && at[-1] != ' '))
    return;
  at += strlen(field);
  for (int i = 0; i < HSC_CONV_CALL_DIMS; i++) {
    char *end = NULL;
    first[i] = strtoll(at, &end, 10);
    if (second && *end == '_')
      second[i] = strtoll(end + 1, &end, 10);
    if (*end != 'x')
      return;
    at = end + 1;
  }
}

static int64_t group_count(const hsc_instr *call, const char *name) {
  char text[512];
  if (!hsc_raw_attribute(call, name, text))
    return 1;
  long long count = strtoll(text + strlen(name), NULL, 10);
  return count > 0 ? count : 1;
}

bool hsc_conv_call_read(const hsc_instr *call, hsc_conv_call *out) {
  char window[512] = "";
  char labels[512];
  hsc_conv_call w = {0};
  if (call->operand_count < 2 || !hsc_raw_attribute(call, "dim_labels=", labels) ||
      sscanf(labels, "dim_labels=%15[^_]_%15[^-]->%15s", w.input, w.kernel, w.output) != 3)
    return false;
  w.rank = (int)strlen(w.input) - 2;
  if (w.rank < 0 || w.rank > HSC_CONV_CALL_DIMS || strlen(w.kernel) != strlen(w.input) ||
      strlen(w.output) != strlen(w.input))
    return false;
  for (int i = 0; i < HSC_CONV_CALL_DIMS; i++)
    w.size[i] = w.stride[i] = w.base[i] = w.dilate[i] = 1;
  hsc_raw_attribute(call, "window=", window);
  window_field(window, "size=", w.size, NULL);
  window_field(window, "stride=", w.stride, NULL);
  window_field(window, "pad=", w.low, w.high);
  window_field(window, "lhs_dilate=", w.base, NULL);
  window_field(window, "rhs_dilate=", w.dilate, NULL);
  window_field(window, "rhs_reversal=", w.reversed, NULL);
  w.feature_groups = group_count(call, "feature_group_count=");
  w.batch_groups = group_count(call, "batch_group_count=");
  *out = w;
  return true;
}

int hsc_conv_call_dim(const char *labels, char label) {
  const char *at = strchr(labels, label);
  return at ? (int)(at - labels) : -1;
}

int64_t hsc_conv_call_extent(const hsc_shape *shape, const char *labels, char label) {
  int dim = hsc_conv_call_dim(labels, label);
  return dim >= 0 && dim < shape->rank ? shape->dims[dim] : 0;
}
