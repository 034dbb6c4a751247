// view_profile_ops.c - operators of a profile: HLO instructions, the framework's tree, programs.
//
// From the bottom: each view is one function that takes groups of operators (profile_internal.h)
// and fills a table; above them what a row says that the profile does not: the bound under the
// roofline, shares of a fusion's members, why two kernels stand apart.
#include <math.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "hlo/ir/not_fused.h"
#include "views/profile_internal.h"

static double ns(int64_t ps) {
  return (double)ps / 1000;
}

// ---- HLO operators ------------------------------------------------------------------------------

// The bound of the roofline that an operator is nearer to, and how near it came: its least time by
// the peaks over its time.
static const char *bound_of(const hsc__op_group *g, double *out_fraction) {
  const hsc_profile_op *op = &g->op;
  *out_fraction = NAN;
  double seconds = (double)op->self_ps * 1e-12 / (double)op->count;
  if (isnan(op->flops) || isnan(op->bytes) || isnan(g->peak_flops) || isnan(g->peak_bytes) ||
      g->peak_flops <= 0 || g->peak_bytes <= 0 || seconds <= 0)
    return NULL;
  double compute = op->flops / g->peak_flops;
  double memory = op->bytes / g->peak_bytes;
  if (compute <= 0 && memory <= 0)
    return NULL;
  *out_fraction = fmax(compute, memory) / seconds;
  return compute >= memory ? "compute" : "memory";
}

// What a member of a fusion costs by the model, as a time on a machine with these peaks; without
// peaks 10 flops weigh as much as a byte.
static double member_weight(const hsc__op_group *g, const hsc_instr *instr) {
  if (instr->op == HSC_OP_PARAMETER || instr->op == HSC_OP_CONSTANT ||
      instr->op == HSC_OP_GET_TUPLE_ELEMENT || instr->op == HSC_OP_TUPLE ||
      instr->op == HSC_OP_BITCAST)
    return 0;
  hsc_cost cost;
  hsc_instr_cost(instr, &cost);
  double flops_per_byte =
      g->peak_flops > 0 && g->peak_bytes > 0 ? g->peak_flops / g->peak_bytes : 10;
  double elements = (double)hsc_shape_elements(&instr->shape);
  // Inside of a fusion intermediate values stay in registers: what counts is arithmetic, and what
  // enters or leaves the fusion.
  double bytes = 0;
  for (int i = 0; i < instr->operand_count; i++)
    if (instr->operands[i]->op == HSC_OP_PARAMETER)
      bytes += (double)hsc_shape_bytes(&instr->operands[i]->shape);
  if (instr->parent->root == instr)
    bytes += (double)hsc_shape_bytes(&instr->shape);
  return cost.flops + 8 * cost.transcendentals + (bytes < 1e18 ? bytes : 0) * flops_per_byte +
         elements * 0.1;
}

static void member_rows(hsc__profile_view *cx,
                        const hsc__op_group *g,
                        bool tells,
                        const char *module_text,
                        double all) {
  const hsc_instr *fusion = hsc__profile_instr(cx->profile, &g->op);
  if (!fusion || fusion->op != HSC_OP_FUSION || fusion->called_count != 1)
    return;
  double sum = 0;
  HSC_FOR_EACH_INSTR_IN (fusion->called[0], instr)
    sum += member_weight(g, instr);
  HSC_FOR_EACH_INSTR_IN (fusion->called[0], instr) {
    double weight = member_weight(g, instr);
    if (weight <= 0 || !hsc__profile_room(cx))
      continue;
    double part = sum > 0 ? weight / sum : 0;
    hsc_table_row(cx->table);
    hsc_table_text(cx->table, instr->name);
    hsc_table_printf(cx->table, "%.*s", (int)g->op.name.size, g->op.name.data);
    hsc_table_text(cx->table, module_text);
    hsc_table_text(cx->table, hsc_op_text(instr->op));
    hsc_table_text(cx->table, g->devices);
    hsc_table_int(cx->table, g->op.count);
    hsc_table_missing(cx->table);
    hsc_table_double(cx->table, ns(g->op.self_ps) * part);
    hsc_table_double(cx->table, all > 0 ? (double)g->op.self_ps * part / all : NAN);
    for (int i = 0; i < 8; i++)
      hsc_table_missing(cx->table);
    hsc_table_text(cx->table, instr->metadata ? instr->metadata->op_name : NULL);
    hsc_table_missing(cx->table);
    if (tells)
      hsc_table_missing(cx->table);
    hsc_table_text(cx->table, "estimate");
  }
}

// Why the kernel does not take in those that it reads, where the compiler recorded that:
// "exp.3: other_readers small; dot.1: reader_op". NULL = it is not recorded.
static const char *not_fused_text(hsc__profile_view *cx, const hsc_profile_op *op) {
  const hsc_instr *reader = hsc__profile_instr(cx->profile, op);
  hsc_not_fused reasons[HSC_NOT_FUSED_COUNT];
  hsc_bytes text = {0};
  for (int i = 0; reader && i < reader->operand_count; i++) {
    int count = hsc_not_fused_read(reader, i, reasons, HSC_NOT_FUSED_COUNT);
    for (int r = 0; r < count; r++)
      if (r)
        hsc_bytes_printf(&text, " %s", hsc_not_fused_text(reasons[r]));
      else
        hsc_bytes_printf(&text, "%s%s: %s", text.size ? "; " : "",
                         hsc_instr_computed(reader->operands[i])->name,
                         hsc_not_fused_text(reasons[r]));
  }
  const char *kept = text.size ? hsc_arena_strdup(cx->arena, hsc_bytes_text(&text)) : NULL;
  hsc_bytes_deinit(&text);
  return kept;
}

static void operator_columns(hsc__profile_view *cx, bool tells) {
  bool open = cx->options->open_fusions;
  hsc_table_column(cx->table, "name", "");
  if (open)
    hsc_table_column(cx->table, "fusion", "");
  hsc_table_column(cx->table, "program", "");
  hsc_table_column(cx->table, "category", "");
  hsc_table_column(cx->table, "device", "");
  hsc_table_column(cx->table, "occurrences", "count");
  hsc_table_column(cx->table, "time", "ns");
  hsc_table_column(cx->table, "self_time", "ns");
  hsc_table_column(cx->table, "share", "fraction");
  hsc_table_column(cx->table, "mean", "ns");
  hsc_table_column(cx->table, "max", "ns");
  hsc_table_column(cx->table, "flops", "flops");
  hsc_table_column(cx->table, "bytes", "bytes");
  hsc_table_column(cx->table, "flop_rate", "flop/s");
  hsc_table_column(cx->table, "byte_rate", "bytes/s");
  hsc_table_column(cx->table, "bound", "");
  hsc_table_column(cx->table, "of_roofline", "fraction");
  hsc_table_column(cx->table, "op_name", "");
  hsc_table_column(cx->table, "source", "");
  if (tells)
    hsc_table_column(cx->table, "not_fused", "");
  if (open)
    hsc_table_column(cx->table, "kind", "");
}

// "jit_f(38)", or without the number where the profile has none; NULL = no program is named.
static const char *program_text(hsc__profile_view *cx, const hsc_profile_op *op) {
  if (op->module < 0)
    return NULL;
  const hsc_profile_module *module = &cx->profile->modules.items[op->module];
  const char *name =
      hsc_arena_strndup(cx->arena, module->name.data ? module->name.data : "", module->name.size);
  return module->has_id
             ? hsc_arena_printf(cx->arena, "%s(%lld)", name, (long long)module->program_id)
             : name;
}

// The cells of one operator, and with --open-fusions the rows of its members after it. all: self
// time of all operators, in ps.
static void operator_row(hsc__profile_view *cx, const hsc__op_group *g, bool tells, double all) {
  bool open = cx->options->open_fusions;
  const hsc_profile_op *op = &g->op;
  const char *module_text = program_text(cx, op);
  double seconds = (double)op->self_ps * 1e-12;
  double fraction;
  double times = (double)op->count;
  const char *bound = bound_of(g, &fraction);
  hsc_table_row(cx->table);
  hsc__table_view(cx->table, op->name);
  if (open)
    hsc_table_missing(cx->table);
  hsc_table_text(cx->table, module_text);
  hsc__table_view(cx->table, op->category);
  hsc_table_text(cx->table, g->devices);
  hsc_table_int(cx->table, op->count);
  hsc_table_double(cx->table, ns(op->total_ps));
  hsc_table_double(cx->table, ns(op->self_ps));
  hsc_table_double(cx->table, all > 0 ? (double)op->self_ps / all : NAN);
  hsc_table_double(cx->table, ns(op->self_ps) / times);
  hsc_table_double(cx->table, ns(op->max_ps));
  hsc_table_double(cx->table, op->flops);
  hsc_table_double(cx->table, op->bytes);
  hsc_table_double(cx->table, seconds > 0 ? op->flops * times / seconds : NAN);
  hsc_table_double(cx->table, seconds > 0 ? op->bytes * times / seconds : NAN);
  hsc_table_text(cx->table, bound);
  hsc_table_double(cx->table, fraction);
  hsc__table_view(cx->table, op->op_name);
  hsc__table_view(cx->table, op->source);
  if (tells)
    hsc_table_text(cx->table, not_fused_text(cx, op));
  if (open) {
    hsc_table_text(cx->table, "measured");
    member_rows(cx, g, tells, module_text, all);
  }
}

// Of the operators that have a row: where their flops and bytes come from.
typedef struct cost_sources {
  size_t modelled, unknown;
  double unknown_share;  // of the time of all operators, in percent
} cost_sources;

static void operator_notes(hsc__profile_view *cx, const cost_sources *costs, bool tells) {
  if (costs->modelled)
    hsc_table_note(cx->table,
                   "flops and bytes of %zu %s are hloscope's model of %s HLO, once per occurrence",
                   costs->modelled, hsc_plural((double)costs->modelled, "operator", "operators"),
                   hsc_plural((double)costs->modelled, "its", "their"));
  if (costs->unknown)
    hsc_table_note(cx->table,
                   "%zu %s no flops and bytes, and %s not on the roofline: calls of libraries of "
                   "which nothing is known, %.3g %% of the time",
                   costs->unknown,
                   hsc_plural((double)costs->unknown, "operator has", "operators have"),
                   hsc_plural((double)costs->unknown, "is", "are"), costs->unknown_share);
  if (cx->options->open_fusions)
    hsc_table_note(cx->table,
                   "rows of kind estimate: the time of a fusion shared out to its members by the "
                   "cost model, not measured");
  if (tells)
    hsc_table_note(cx->table,
                   "not_fused: kernels that an operator reads and was not fused with, and the "
                   "passes' reasons; hloscope passes why says them in words");
  if (cx->profile->peak_source)
    hsc_table_note(cx->table, "peaks of the roofline: %s", cx->profile->peak_source);
}

hsc_status *hsc__profile_view_hlo_operators(hsc__profile_view *cx) {
  hsc__op_group *groups = NULL;
  size_t count = 0;
  HSC_TRY(hsc__profile_groups(cx, &groups, &count));
  // A column that no row fills is left out: few compilers record why they did not fuse.
  bool tells = false;
  for (size_t i = 0; i < count && !tells; i++)
    tells = not_fused_text(cx, &groups[i].op) != NULL;
  operator_columns(cx, tells);
  double all = 0;
  double unknown_ps = 0;
  cost_sources costs = {0};
  for (size_t i = 0; i < count; i++)
    all += (double)groups[i].op.self_ps;
  for (size_t i = 0; i < count && hsc__profile_room(cx); i++) {
    const hsc_profile_op *op = &groups[i].op;
    if (!hsc__view_contains(op->name, cx->options->where) &&
        !hsc__view_contains(op->op_name, cx->options->where))
      continue;
    costs.modelled += op->cost_from_model;
    costs.unknown += op->cost_unknown;
    unknown_ps += op->cost_unknown ? (double)op->self_ps : 0;
    operator_row(cx, &groups[i], tells, all);
  }
  costs.unknown_share = all > 0 ? 100 * unknown_ps / all : 0;
  if (!count)
    hsc_table_note(cx->table,
                   "the profile holds no HLO operators; the view 'planes' shows what it holds");
  operator_notes(cx, &costs, tells);
  return NULL;
}

// ---- the framework's tree -----------------------------------------------------------------------

typedef struct node {
  struct node *first, *next;  // children; siblings
  hsc_view name;
  double self_ps;  // with its children
  int64_t count;
  int32_t child_count;
  bool is_operator;
  bool has_estimates;  // parts of fusions are in it
  hsc_view category;
  const char *devices;
} node;

// What is counted for one name of the framework: an operator, or a member of a fusion with its part
// of the fusion's time.
typedef struct named_time {
  hsc_view op_name, category, name;
  double self_ps;
  int64_t count;
  const char *devices;
  bool is_estimate;
} named_time;

static node *child_of(hsc_arena *arena, node *parent, hsc_view name) {
  for (node *n = parent->first; n; n = n->next)
    if (hsc_view_equals(n->name, name))
      return n;
  node *n = HSC_NEW(arena, node);
  if (!n)
    return NULL;
  n->name = name;
  n->next = parent->first;
  parent->first = n;
  parent->child_count++;
  return n;
}

static int compare_nodes(const void *a, const void *b) {
  const node *x = *(const node *const *)a;
  const node *y = *(const node *const *)b;
  if (x->self_ps != y->self_ps)
    return x->self_ps > y->self_ps ? -1 : 1;
  size_t size = x->name.size < y->name.size ? x->name.size : y->name.size;
  int order = size ? memcmp(x->name.data, y->name.data, size) : 0;
  if (order)
    return order;
  if (x->name.size < y->name.size)
    return -1;
  return x->name.size > y->name.size;
}

// PyTorch/XLA numbers each call of a module, "Linear[layer1].3": the module is one.
static hsc_view without_call_number(hsc_view part) {
  size_t end = part.size;
  while (end > 0 && part.data[end - 1] >= '0' && part.data[end - 1] <= '9')
    end--;
  bool is_call =
      end < part.size && end > 1 && part.data[end - 1] == '.' && part.data[end - 2] == ']';
  return is_call ? (hsc_view){part.data, end - 1} : part;
}

// The next part of "jit(f)/a/b[x/y]/dot_general": slashes inside of brackets belong to the part.
static hsc_view next_part(hsc_view *path) {
  int depth = 0;
  size_t end = 0;
  for (; end < path->size; end++) {
    char c = path->data[end];
    if (c == '(' || c == '[')
      depth++;
    if ((c == ')' || c == ']') && depth > 0)
      depth--;
    if (c == '/' && depth == 0)
      break;
  }
  hsc_view part = {path->data, end};
  size_t skip = end < path->size ? end + 1 : end;
  path->data += skip;
  path->size -= skip;
  return without_call_number(part);
}

static bool add_path(hsc_arena *arena, node *root, const named_time *t) {
  hsc_view path = t->op_name;
  // "scope/name:type" of other writers: the type says nothing that the name does not.
  for (size_t i = path.size;
       i-- > 0 && path.data[i] != '/' && path.data[i] != ']' && path.data[i] != ')';)
    if (path.data[i] == ':') {
      path.size = i;
      break;
    }
  node *at = root;
  root->self_ps += t->self_ps;
  root->count += t->count;
  if (!path.size) {
    at = child_of(arena, root, HSC_VIEW("(no framework name)"));
    if (!at)
      return false;
    at->self_ps += t->self_ps;
    at->count += t->count;
    path = t->category.size ? t->category : t->name;
    at = child_of(arena, at, path);
    if (!at)
      return false;
    at->self_ps += t->self_ps;
    at->count += t->count;
  } else {
    for (int depth = 0; path.size && depth < 64; depth++) {
      hsc_view part = depth == 63 ? path : next_part(&path);
      if (!part.size)
        continue;
      at = child_of(arena, at, part);
      if (!at)
        return false;
      at->self_ps += t->self_ps;
      at->count += t->count;
      at->has_estimates |= t->is_estimate;
      if (depth == 63)
        break;
    }
  }
  at->is_operator = true;
  at->has_estimates |= t->is_estimate;
  at->category = t->category;
  at->devices = at->devices && strcmp(at->devices, t->devices) ? "several" : t->devices;
  return true;
}

// A fusion's time to the names of its members, as member_weight shares it; what has no name counts
// for the fusion's own.
static bool add_members(hsc__profile_view *cx, node *root, const hsc__op_group *g) {
  const hsc_instr *fusion = hsc__profile_instr(cx->profile, &g->op);
  named_time all = {g->op.op_name, g->op.category, g->op.name, (double)g->op.self_ps,
                    g->op.count,   g->devices,     false};
  double sum = 0;
  if (!cx->options->open_fusions || !fusion || fusion->op != HSC_OP_FUSION ||
      fusion->called_count != 1)
    return add_path(cx->arena, root, &all);
  HSC_FOR_EACH_INSTR_IN (fusion->called[0], instr)
    sum += member_weight(g, instr);
  if (!(sum > 0))
    return add_path(cx->arena, root, &all);
  HSC_FOR_EACH_INSTR_IN (fusion->called[0], instr) {
    double weight = member_weight(g, instr);
    if (weight <= 0)
      continue;
    named_time part = all;
    if (instr->metadata && instr->metadata->op_name && *instr->metadata->op_name)
      part.op_name = hsc_view_of(instr->metadata->op_name);
    part.category = hsc_view_of(hsc_op_text(instr->op));
    part.self_ps = (double)g->op.self_ps * weight / sum;
    part.is_estimate = true;
    if (!add_path(cx->arena, root, &part))
      return false;
  }
  return true;
}

static hsc_status *node_rows(
    hsc__profile_view *cx, const node *n, int depth, hsc_bytes *path, double all) {
  const node **children = HSC_NEW_ARRAY(cx->arena, const node *, n->child_count + 1);
  if (!children)
    return hsc_status_out_of_memory();
  int count = 0;
  for (const node *child = n->first; child; child = child->next)
    children[count++] = child;
  if (count)
    qsort(children, (size_t)count, sizeof *children, compare_nodes);
  for (int i = 0; i < count && hsc__profile_room(cx); i++) {
    const node *child = children[i];
    size_t length = path->size;
    if (length)
      hsc_bytes_append_char(path, '/');
    hsc_bytes_append(path, child->name.data, child->name.size);
    if (hsc__view_contains(hsc_bytes_view(path), cx->options->where)) {
      hsc_table_row(cx->table);
      hsc_table_printf(cx->table, "%*s%.*s", 2 * depth, "", (int)child->name.size,
                       child->name.data);
      const char *kind = depth == 0 ? "model" : "component";
      if (child->is_operator)
        kind = child->first ? "scope and operator" : "operator";
      hsc_table_text(cx->table, kind);
      hsc_table_int(cx->table, depth);
      hsc_table_double(cx->table, child->self_ps / 1000);
      hsc_table_double(cx->table, all > 0 ? child->self_ps / all : NAN);
      hsc_table_int(cx->table, child->count);
      hsc_table_text(cx->table, child->is_operator ? child->devices : NULL);
      hsc_table_text(cx->table, hsc_bytes_text(path));
      if (cx->options->open_fusions)
        hsc_table_text(cx->table, child->has_estimates ? "estimate" : "measured");
    }
    HSC_TRY(node_rows(cx, child, depth + 1, path, all));
    path->size = length;
    if (path->data)
      path->data[length] = 0;
  }
  return NULL;
}

hsc_status *hsc__profile_view_framework_operators(hsc__profile_view *cx) {
  hsc__op_group *groups = NULL;
  size_t count = 0;
  HSC_TRY(hsc__profile_groups(cx, &groups, &count));
  node root = {0};
  for (size_t i = 0; i < count; i++)
    if (!add_members(cx, &root, &groups[i]))
      return hsc_status_out_of_memory();
  hsc_table_column(cx->table, "name", "");
  hsc_table_column(cx->table, "level", "");
  hsc_table_column(cx->table, "depth", "");
  hsc_table_column(cx->table, "time", "ns");
  hsc_table_column(cx->table, "share", "fraction");
  hsc_table_column(cx->table, "occurrences", "count");
  hsc_table_column(cx->table, "device", "");
  hsc_table_column(cx->table, "path", "");
  if (cx->options->open_fusions)
    hsc_table_column(cx->table, "kind", "");
  hsc_bytes path = {0};
  hsc_status *status = node_rows(cx, &root, 0, &path, root.self_ps);
  hsc_bytes_deinit(&path);
  if (!count)
    hsc_table_note(cx->table,
                   "the profile holds no operators; the view 'planes' shows what it holds");
  else if (cx->options->open_fusions)
    hsc_table_note(cx->table,
                   "rows of kind estimate hold parts of fusions: their time is shared out to their "
                   "members by the cost model, not measured");
  else
    hsc_table_note(cx->table,
                   "time is self time of the operators on the device; a fusion counts for the name "
                   "that the compiler gave it (--open-fusions shares it out)");
  return status;
}

// ---- programs -----------------------------------------------------------------------------------

hsc_status *hsc__profile_view_programs(hsc__profile_view *cx) {
  hsc_profile *profile = cx->profile;
  HSC_TRY(hsc__profile_join(profile));
  hsc_table_column(cx->table, "program", "");
  hsc_table_column(cx->table, "id", "");
  hsc_table_column(cx->table, "runs", "count");
  hsc_table_column(cx->table, "operators", "count");
  hsc_table_column(cx->table, "occurrences", "count");
  hsc_table_column(cx->table, "self_time", "ns");
  hsc_table_column(cx->table, "hlo", "bytes");
  for (size_t m = 0; m < profile->modules.count && hsc__profile_room(cx); m++) {
    const hsc_profile_module *module = &profile->modules.items[m];
    if (!hsc__view_contains(module->name, cx->options->where))
      continue;
    int64_t ops = 0;
    int64_t occurrences = 0;
    int64_t runs = 0;
    double self = 0;
    for (size_t i = 0; i < profile->ops.count; i++) {
      if (profile->ops.items[i].module != (int32_t)m)
        continue;
      ops++;
      occurrences += profile->ops.items[i].count;
      self += ns(profile->ops.items[i].self_ps);
    }
    for (size_t i = 0; i < profile->runs.count; i++)
      runs += profile->runs.items[i].module == (int32_t)m;
    hsc_table_row(cx->table);
    hsc__table_view(cx->table, module->name);
    if (module->has_id)
      hsc_table_int(cx->table, module->program_id);
    else
      hsc_table_missing(cx->table);
    hsc_table_int(cx->table, runs);
    hsc_table_int(cx->table, ops);
    hsc_table_int(cx->table, occurrences);
    hsc_table_double(cx->table, self);
    if (module->hlo.size)
      hsc_table_int(cx->table, (int64_t)module->hlo.size);
    else
      hsc_table_missing(cx->table);
  }
  return NULL;
}
