// hlo_proto_sharding.c - OpSharding, both ways, in XLA's text: {replicated}, {maximal device=3},
// {manual}, {unknown}, {unreduced}, {devices=[2,1]0,1}, {devices=[2,2]<=[2,2]T(1,0)
// last_tile_dim_replicate}, {devices=[2,2]<=[4] last_tile_dims={manual}}, tuples {{...}, {...}},
// named {mesh[a=2,b=4], [{a}, {b,?}], replicated={c}}.
#include "formats/hlo_proto/hlo_proto_internal.h"

#include <inttypes.h>

enum { REPLICATED, MAXIMAL, TUPLE, OTHER, MANUAL, UNKNOWN, UNREDUCED, TYPE_COUNT };
static const char *const type_words[TYPE_COUNT] = {"replicated", "maximal", "tuple",    "other",
                                                   "manual",     "unknown", "unreduced"};

// TYPE_COUNT where the word is none of them.
static int type_of(hsc_view word) {
  int type = 0;
  while (type < TYPE_COUNT && !hsc_view_equals_text(word, type_words[type]))
    type++;
  return type;
}

enum {
  F_TYPE = 1,
  F_DIMS = 3,
  F_DEVICES = 4,
  F_TUPLE = 5,
  F_REPLICATE_LAST = 6,
  F_LAST_TILE_DIMS = 8,
  F_IOTA_DIMS = 9,
  F_IOTA_PERM = 10,
  F_GROUP = 11,
  F_GROUP_ID = 12,
  F_GROUP_TYPE = 13,
  F_NAMED = 14,
};
enum { MAX_DEPTH = 16 };

static hsc_status *numbers(const hsc_wire_field *field, hsc_bytes *text) {
  hsc_wire in = hsc_wire_of(field->bytes);
  if (field->type == HSC_WIRE_VARINT) {
    hsc_bytes_printf(text, "%s%" PRId64, text->size ? "," : "", (int64_t)field->value);
    return NULL;
  }
  while (in.p < in.end) {
    uint64_t value;
    if (!hsc_wire_varint(&in, &value))
      return HSC_ERR(DATA_LOSS, "OpSharding: malformed numbers in field %u", field->number);
    hsc_bytes_printf(text, "%s%" PRId64, text->size ? "," : "", (int64_t)value);
  }
  return NULL;
}

// ---- named shardings ----------------------------------------------------------------------------

typedef struct mesh {
  hsc_view names[64];
  int64_t sizes[64];
  int count;
  const char *quote;  // around names: "" in shardings, "'" in groups of collectives
} mesh;

static void axis_text(hsc_view bytes, const mesh *m, hsc_bytes *text) {
  int64_t index = 0;
  int64_t pre = 0;
  int64_t size = 0;
  bool sub = false;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1)
      index = (int64_t)f.value;
    if (f.number != 2)
      continue;
    sub = true;
    hsc_wire info = hsc_wire_of(f.bytes);
    for (hsc_wire_field s; hsc_wire_next(&info, &s);) {
      if (s.number == 1)
        pre = (int64_t)s.value;
      else if (s.number == 2)
        size = (int64_t)s.value;
    }
  }
  if (index >= 0 && index < m->count)
    hsc_bytes_printf(text, "%s%.*s%s", m->quote, (int)m->names[index].size, m->names[index].data,
                     m->quote);
  else
    hsc_bytes_printf(text, "%" PRId64, index);
  if (sub)
    hsc_bytes_printf(text, ":(%" PRId64 ")%" PRId64, pre, size);
}

static void axes_text(hsc_view bytes, uint32_t number, const mesh *m, bool open, hsc_bytes *text) {
  bool first = true;
  hsc_bytes_append_char(text, '{');
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != number)
      continue;
    if (!first)
      hsc_bytes_append_char(text, ',');
    first = false;
    axis_text(f.bytes, m, text);
  }
  if (open)
    hsc_bytes_append_text(text, first ? "?" : ",?");
  hsc_bytes_append_char(text, '}');
}

static void read_mesh_axis(hsc_view bytes, mesh *m) {
  hsc_wire axis = hsc_wire_of(bytes);
  m->names[m->count] = (hsc_view){"", 0};
  m->sizes[m->count] = 0;
  for (hsc_wire_field x; hsc_wire_next(&axis, &x);) {
    if (x.number == 1)
      m->names[m->count] = x.bytes;
    else if (x.number == 2)
      m->sizes[m->count] = (int64_t)x.value;
  }
  m->count++;
}

// MeshProto: what it has goes to *m, "mesh[a=2,b=4], device_ids=(...)" to `text`; of a mesh of one
// device without axes *out_device is its id as text.
static hsc_status *mesh_text(hsc_view bytes, mesh *m, hsc_bytes *text, hsc_bytes *out_device) {
  hsc_bytes devices = {0};
  hsc_bytes iota = {0};
  hsc_bytes permutation = {0};
  hsc_status *status = NULL;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field a; hsc_wire_next(&in, &a);) {
    if (a.number == 1 && m->count < (int)HSC_COUNT_OF(m->names)) {
      read_mesh_axis(a.bytes, m);
    } else if (a.number == 2) {
      HSC_GOTO(numbers(&a, &devices));
    } else if (a.number == 3) {
      hsc_wire transform = hsc_wire_of(a.bytes);
      for (hsc_wire_field t; hsc_wire_next(&transform, &t);)
        HSC_GOTO(numbers(&t, t.number == 1 ? &iota : &permutation));
    }
  }
  HSC_GOTO(hsc_wire_status(&in, "MeshProto"));
  if (m->count == 0 && devices.size) {
    hsc_bytes_append_text(out_device, hsc_bytes_text(&devices));
    goto done;
  }
  hsc_bytes_append_text(text, "mesh[");
  for (int i = 0; i < m->count; i++)
    hsc_bytes_printf(text, "%s%s%.*s%s=%" PRId64, i ? "," : "", m->quote, (int)m->names[i].size,
                     m->names[i].data, m->quote, m->sizes[i]);
  hsc_bytes_append_char(text, ']');
  if (iota.size)
    hsc_bytes_printf(text, ", device_ids=([%s]T(%s))", hsc_bytes_text(&iota),
                     hsc_bytes_text(&permutation));
  else if (devices.size)
    hsc_bytes_printf(text, ", device_ids=(%s)", hsc_bytes_text(&devices));
done:
  hsc_bytes_deinit(&devices);
  hsc_bytes_deinit(&iota);
  hsc_bytes_deinit(&permutation);
  return status;
}

hsc_status *hsc__proto_mesh_groups_text(hsc_view bytes, hsc_bytes *text) {
  mesh m = {.quote = "'"};
  hsc_bytes device = {0};
  hsc_status *status = NULL;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number == 1)
      HSC_GOTO(mesh_text(f.bytes, &m, text, &device));
  HSC_GOTO(hsc_wire_status(&in, "MeshAxesReplicaGroupListProto"));
  if (device.size)
    hsc_bytes_printf(text, "mesh[], device_ids=(%s)", hsc_bytes_text(&device));
  hsc_bytes_append_char(text, ' ');
  axes_text(bytes, 2, &m, false, text);
done:
  hsc_bytes_deinit(&device);
  return status;
}

static hsc_status *named_text(hsc_view bytes, hsc_bytes *text) {
  mesh m = {.quote = ""};
  hsc_bytes device = {0};
  hsc_status *status = NULL;
  hsc_wire in = hsc_wire_of(bytes);
  bool has[8] = {false};
  hsc_bytes_append_char(text, '{');
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number < 8)
      has[f.number] = true;
    if (f.number == 2)
      HSC_GOTO(mesh_text(f.bytes, &m, text, &device));
  }
  HSC_GOTO(hsc_wire_status(&in, "NamedShardingProto"));
  if (device.size) {
    hsc_bytes_printf(text, "maximal_mesh[device_id=%s]}", hsc_bytes_text(&device));
    goto done;
  }
  if (!has[2])
    hsc_bytes_append_text(text, "mesh[]");
  if (!has[3] && !has[4] && !has[5] && !has[7]) {
    hsc_bytes_append_text(text, ", replicated}");
    goto done;
  }
  hsc_bytes_append_text(text, ", [");
  bool first = true;
  in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 3)
      continue;
    bool closed = false;
    hsc_wire dim = hsc_wire_of(f.bytes);
    for (hsc_wire_field d; hsc_wire_next(&dim, &d);)
      if (d.number == 2)
        closed = d.value != 0;
    if (!first)
      hsc_bytes_append_text(text, ", ");
    first = false;
    axes_text(f.bytes, 1, &m, !closed, text);
  }
  hsc_bytes_append_char(text, ']');
  static const struct {
    uint32_t number;
    const char *word;
  } lists[] = {{4, "replicated"}, {5, "unreduced"}, {7, "manual"}};
  for (size_t i = 0; i < HSC_COUNT_OF(lists); i++) {
    if (!has[lists[i].number])
      continue;
    hsc_bytes_printf(text, ", %s=", lists[i].word);
    axes_text(bytes, lists[i].number, &m, false, text);
  }
  hsc_bytes_append_char(text, '}');
done:
  hsc_bytes_deinit(&device);
  return status;
}

// The name of an axis, in quotes or not.
static hsc_view scan_name(hsc__scan *scan) {
  if (!hsc__scan_char(scan, '\''))
    return hsc__scan_ident(scan);
  const char *start = scan->p;
  while (scan->p < scan->end && *scan->p != '\'')
    scan->p++;
  hsc_view name = {start, (size_t)(scan->p - start)};
  hsc__scan_char(scan, '\'');
  return name;
}

static bool scan_axis(hsc__scan *scan, const mesh *m, hsc_bytes *out, uint32_t field) {
  hsc_view name = scan_name(scan);
  int64_t index = 0;
  int64_t pre;
  int64_t size;
  while (index < m->count && !hsc_view_equals(m->names[index], name))
    index++;
  if (index == m->count) {
    hsc__scan number = hsc__scan_of(name);
    if (!hsc__scan_int(&number, &index) || !hsc__scan_done(&number))
      return false;
  }
  size_t mark = hsc_wire_begin(out, field);
  hsc_wire_put_int(out, 1, index);
  if (hsc__scan_char(scan, ':')) {
    if (!hsc__scan_char(scan, '(') || !hsc__scan_int(scan, &pre) || !hsc__scan_char(scan, ')') ||
        !hsc__scan_int(scan, &size))
      return false;
    size_t sub = hsc_wire_begin(out, 2);
    hsc_wire_put_int(out, 1, pre);
    hsc_wire_put_int(out, 2, size);
    hsc_wire_end(out, sub);
  }
  hsc_wire_end(out, mark);
  return true;
}

static bool scan_axes(
    hsc__scan *scan, const mesh *m, hsc_bytes *out, uint32_t field, bool *out_open) {
  *out_open = false;
  if (!hsc__scan_char(scan, '{'))
    return false;
  while (!hsc__scan_char(scan, '}')) {
    if (hsc__scan_char(scan, '?'))
      *out_open = true;
    else if (!scan_axis(scan, m, out, field))
      return false;
    hsc__scan_char(scan, ',');
  }
  return true;
}

// "(7,6,5,4)" or "([4,2]T(1,0))"
static bool scan_devices(hsc__scan *scan, hsc_bytes *out) {
  int64_t values[1024];
  int count;
  hsc__scan inner = *scan;
  if (!hsc__scan_char(&inner, '(') || !hsc__scan_peek(&inner, '[')) {
    if (!hsc__scan_ints(scan, '(', ')', values, 1024, &count))
      return false;
    hsc_wire_put_packed(out, 2, values, (size_t)count);
    return true;
  }
  *scan = inner;
  if (!hsc__scan_ints(scan, '[', ']', values, 64, &count))
    return false;
  size_t transform = hsc_wire_begin(out, 3);
  hsc_wire_put_packed(out, 1, values, (size_t)count);
  if (hsc__scan_char(scan, 'T') && !hsc__scan_ints(scan, '(', ')', values, 64, &count))
    return false;
  hsc_wire_put_packed(out, 2, values, (size_t)count);
  hsc_wire_end(out, transform);
  return hsc__scan_char(scan, ')');
}

// "mesh[a=2,b=4], device_ids=(...)", MeshProto as field `field`.
static bool scan_mesh(hsc__scan *scan, mesh *m, hsc_bytes *out, uint32_t field) {
  size_t mark = hsc_wire_begin(out, field);
  if (!hsc__scan_word(scan, "mesh") || !hsc__scan_char(scan, '['))
    return false;
  while (!hsc__scan_char(scan, ']')) {
    if (m->count == (int)HSC_COUNT_OF(m->names))
      return false;
    m->names[m->count] = scan_name(scan);
    if (!hsc__scan_char(scan, '=') || !hsc__scan_int(scan, &m->sizes[m->count]))
      return false;
    size_t axis = hsc_wire_begin(out, 1);
    hsc_wire_put_bytes(out, 1, m->names[m->count].data, m->names[m->count].size);
    hsc_wire_put_int(out, 2, m->sizes[m->count]);
    hsc_wire_end(out, axis);
    m->count++;
    hsc__scan_char(scan, ',');
  }
  hsc__scan_char(scan, ',');
  if (hsc__scan_word(scan, "device_ids") &&
      (!hsc__scan_char(scan, '=') || !scan_devices(scan, out)))
    return false;
  hsc__scan_char(scan, ',');
  hsc_wire_end(out, mark);
  return true;
}

bool hsc__proto_mesh_groups_write(hsc__scan *scan, hsc_bytes *out) {
  mesh m = {.count = 0};
  bool open;
  size_t mark = hsc_wire_begin(out, 93);
  if (!scan_mesh(scan, &m, out, 1) || !scan_axes(scan, &m, out, 2, &open))
    return false;
  hsc_wire_end(out, mark);
  return hsc__scan_done(scan);
}

// After the opening brace of the sharding.
static bool named_write(hsc__scan *scan, hsc_bytes *out) {
  mesh m = {.count = 0};
  int64_t device;
  bool open;
  size_t named = hsc_wire_begin(out, F_NAMED);
  if (hsc__scan_word(scan, "maximal_mesh")) {
    size_t mark = hsc_wire_begin(out, 2);
    if (!hsc__scan_char(scan, '[') || !hsc__scan_word(scan, "device_id") ||
        !hsc__scan_char(scan, '=') || !hsc__scan_int(scan, &device) || !hsc__scan_char(scan, ']'))
      return false;
    hsc_wire_put_packed(out, 2, &device, 1);
    hsc_wire_end(out, mark);
    hsc_wire_end(out, named);
    return hsc__scan_char(scan, '}');
  }
  if (!scan_mesh(scan, &m, out, 2))
    return false;
  if (hsc__scan_char(scan, '[')) {
    while (!hsc__scan_char(scan, ']')) {
      size_t dim = hsc_wire_begin(out, 3);
      if (!scan_axes(scan, &m, out, 1, &open))
        return false;
      hsc_wire_put_bool(out, 2, !open);
      hsc_wire_end(out, dim);
      hsc__scan_char(scan, ',');
    }
    while (hsc__scan_char(scan, ',')) {
      uint32_t field;
      if (hsc__scan_word(scan, "replicated"))
        field = 4;
      else if (hsc__scan_word(scan, "unreduced"))
        field = 5;
      else if (hsc__scan_word(scan, "manual"))
        field = 7;
      else
        field = 0;
      if (!field || !hsc__scan_char(scan, '=') || !scan_axes(scan, &m, out, field, &open))
        return false;
    }
  } else if (!hsc__scan_word(scan, "replicated")) {
    return false;
  }
  hsc_wire_end(out, named);
  return hsc__scan_char(scan, '}');
}

// ---- positional shardings -----------------------------------------------------------------------

// An OpSharding as it was read; the lists as text, "1,2,3".
typedef struct sharding_fields {
  hsc_bytes dims, devices, iota, permutation;
  hsc_bytes last;  // types of the last tile dimensions, in words
  uint64_t type, group_type;
  int64_t group_id;
  bool replicate_last, group;
  bool trivial;    // the permutation moves nothing
  hsc_view named;  // NamedShardingProto, in place of all others
} sharding_fields;

static void append_words(const hsc_wire_field *f, hsc_bytes *out) {
  int64_t values[64];
  size_t count = 0;
  hsc_wire_ints(f, values, 64, &count);
  for (size_t i = 0; i < count && i < 64; i++)
    hsc_bytes_printf(out, "%s%s", out->size ? ", " : "",
                     values[i] >= 0 && values[i] < TYPE_COUNT ? type_words[values[i]] : "unknown");
}

static bool is_in_order(const hsc_wire_field *f) {
  int64_t values[64];
  size_t count = 0;
  bool in_order = true;
  hsc_wire_ints(f, values, 64, &count);
  for (size_t i = 0; i < count && i < 64; i++)
    in_order &= values[i] == (int64_t)i;
  return in_order;
}

static hsc_status *read_sharding_fields(hsc_view bytes, sharding_fields *s) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    switch (f.number) {
      case F_TYPE:
        s->type = f.value;
        break;
      case F_DIMS:
        HSC_TRY(numbers(&f, &s->dims));
        break;
      case F_DEVICES:
        HSC_TRY(numbers(&f, &s->devices));
        break;
      case F_REPLICATE_LAST:
        s->replicate_last = f.value != 0;
        break;
      case F_LAST_TILE_DIMS:
        append_words(&f, &s->last);
        break;
      case F_IOTA_DIMS:
        HSC_TRY(numbers(&f, &s->iota));
        break;
      case F_IOTA_PERM:
        s->trivial &= is_in_order(&f);
        HSC_TRY(numbers(&f, &s->permutation));
        break;
      case F_GROUP:
        s->group = f.value != 0;
        break;
      case F_GROUP_ID:
        s->group_id = (int64_t)f.value;
        break;
      case F_GROUP_TYPE:
        s->group_type = f.value;
        break;
      case F_NAMED:
        s->named = f.bytes;
        break;
      default:
        break;
    }
  }
  return hsc_wire_status(&in, "OpSharding");
}

static hsc_status *put_tuple_shardings(hsc_view bytes, int depth, hsc_bytes *text) {
  bool first = true;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != F_TUPLE)
      continue;
    if (!first)
      hsc_bytes_append_text(text, ", ");
    first = false;
    HSC_TRY(hsc__proto_sharding_text(f.bytes, depth + 1, text));
  }
  return NULL;
}

static void put_tiles(sharding_fields *s, hsc_bytes *text) {
  hsc_bytes_printf(text, "devices=[%s]", hsc_bytes_text(&s->dims));
  if (s->iota.size) {
    hsc_bytes_printf(text, "<=[%s]", hsc_bytes_text(&s->iota));
    if (!s->trivial)
      hsc_bytes_printf(text, "T(%s)", hsc_bytes_text(&s->permutation));
  } else {
    hsc_bytes_append_text(text, hsc_bytes_text(&s->devices));
  }
  if (s->replicate_last)
    hsc_bytes_append_text(text, " last_tile_dim_replicate");
  if (s->last.size)
    hsc_bytes_printf(text, " last_tile_dims={%s}", hsc_bytes_text(&s->last));
}

hsc_status *hsc__proto_sharding_text(hsc_view bytes, int depth, hsc_bytes *text) {
  if (depth > MAX_DEPTH)
    return HSC_ERR(INVALID_ARGUMENT, "OpSharding: nested more than %d deep", MAX_DEPTH);
  sharding_fields s = {.type = REPLICATED, .trivial = true};
  hsc_status *status = NULL;
  HSC_GOTO(read_sharding_fields(bytes, &s));
  if (s.named.data) {
    status = named_text(s.named, text);
    goto done;
  }
  hsc_bytes_append_char(text, '{');
  if (s.type == TUPLE)
    HSC_GOTO(put_tuple_shardings(bytes, depth, text));
  else if (s.type == MAXIMAL)
    hsc_bytes_printf(text, "maximal device=%s", hsc_bytes_text(&s.devices));
  else if (s.type == OTHER)
    put_tiles(&s, text);
  else if (s.type < TYPE_COUNT)
    hsc_bytes_append_text(text, type_words[s.type]);
  else
    HSC_GOTO(HSC_ERR(UNIMPLEMENTED, "OpSharding: type %llu: not built yet: reading it",
                     (unsigned long long)s.type));
  if (s.group)
    hsc_bytes_printf(text, " %s %" PRId64, s.group_type == 0 ? "shard_as" : "shard_like",
                     s.group_id);
  hsc_bytes_append_char(text, '}');
  status = hsc_bytes_status(text);
done:
  hsc_bytes_deinit(&s.dims);
  hsc_bytes_deinit(&s.devices);
  hsc_bytes_deinit(&s.iota);
  hsc_bytes_deinit(&s.permutation);
  hsc_bytes_deinit(&s.last);
  return status;
}

static bool write_tiles(hsc__scan *scan, hsc_bytes *out) {
  int64_t values[64], permutation[64];
  int count, permutation_count;
  hsc_wire_put_int(out, F_TYPE, OTHER);
  if (!hsc__scan_char(scan, '=') || !hsc__scan_ints(scan, '[', ']', values, 64, &count))
    return false;
  hsc_wire_put_packed(out, F_DIMS, values, (size_t)count);
  if (hsc__scan_word(scan, "<=")) {
    if (!hsc__scan_ints(scan, '[', ']', values, 64, &count))
      return false;
    for (permutation_count = 0; permutation_count < count; permutation_count++)
      permutation[permutation_count] = permutation_count;
    if (hsc__scan_char(scan, 'T') &&
        !hsc__scan_ints(scan, '(', ')', permutation, 64, &permutation_count))
      return false;
    hsc_wire_put_packed(out, F_IOTA_DIMS, values, (size_t)count);
    hsc_wire_put_packed(out, F_IOTA_PERM, permutation, (size_t)permutation_count);
  } else {
    size_t mark = hsc_wire_begin(out, F_DEVICES);
    int64_t device;
    while (hsc__scan_int(scan, &device)) {
      hsc_wire_put_raw_varint(out, (uint64_t)device);
      hsc__scan_char(scan, ',');
    }
    hsc_wire_end(out, mark);
  }
  if (hsc__scan_word(scan, "last_tile_dim_replicate"))
    hsc_wire_put_bool(out, F_REPLICATE_LAST, true);
  if (hsc__scan_word(scan, "last_tile_dims")) {
    if (!hsc__scan_char(scan, '=') || !hsc__scan_char(scan, '{'))
      return false;
    for (count = 0; !hsc__scan_char(scan, '}');) {
      int type = type_of(hsc__scan_ident(scan));
      if (type == TYPE_COUNT || count == 64)
        return false;
      values[count++] = type;
      hsc__scan_char(scan, ',');
    }
    hsc_wire_put_packed(out, F_LAST_TILE_DIMS, values, (size_t)count);
  }
  return true;
}

// Shardings that name the axes of a mesh: "mesh[...]", "maximal_mesh[...]".
static bool at_mesh(const hsc__scan *scan) {
  int64_t left = scan->end - scan->p;
  return left > 4 && (memcmp(scan->p, "mesh", 4) == 0 ||
                      memcmp(scan->p, "maximal_mesh", left < 12 ? 4 : 12) == 0);
}

static bool write_one(hsc__scan *scan, hsc_bytes *out, uint32_t field, int depth);

static bool write_tuple(hsc__scan *scan, hsc_bytes *out, int depth) {
  hsc_wire_put_int(out, F_TYPE, TUPLE);
  while (!hsc__scan_char(scan, '}')) {
    if (!write_one(scan, out, F_TUPLE, depth + 1))
      return false;
    hsc__scan_char(scan, ',');
  }
  return true;
}

// One device has all of it.
static bool write_maximal(hsc__scan *scan, hsc_bytes *out) {
  int64_t device;
  if (!hsc__scan_word(scan, "device") || !hsc__scan_char(scan, '=') ||
      !hsc__scan_int(scan, &device))
    return false;
  hsc_wire_put_int(out, F_TYPE, MAXIMAL);
  hsc_wire_put_packed(out, F_DIMS, (int64_t[]){1}, 1);
  hsc_wire_put_packed(out, F_DEVICES, &device, 1);
  return true;
}

// A kind that is one word: replicated, manual, ...
static bool write_kind(hsc__scan *scan, hsc_bytes *out) {
  int type = type_of(hsc__scan_ident(scan));
  if (type == TYPE_COUNT || type == TUPLE || type == OTHER)
    return false;
  hsc_wire_put_int(out, F_TYPE, type);
  return true;
}

// Values that must get the same sharding, whichever it is, are of one group.
static bool write_group(hsc__scan *scan, hsc_bytes *out) {
  int64_t number;
  bool as = hsc__scan_word(scan, "shard_as");
  if (!as && !hsc__scan_word(scan, "shard_like"))
    return true;
  if (!hsc__scan_int(scan, &number))
    return false;
  hsc_wire_put_bool(out, F_GROUP, true);
  hsc_wire_put_int(out, F_GROUP_ID, number);
  hsc_wire_put_bool(out, F_GROUP_TYPE, !as);
  return true;
}

// A sharding in braces as a message in `field`. False: not one; what was appended is then void.
static bool write_one(hsc__scan *scan, hsc_bytes *out, uint32_t field, int depth) {
  if (depth > MAX_DEPTH || !hsc__scan_char(scan, '{'))
    return false;
  size_t mark = hsc_wire_begin(out, field);
  bool good;
  if (hsc__scan_peek(scan, '{') || hsc__scan_peek(scan, '}')) {
    good = write_tuple(scan, out, depth);  // takes its closing brace
  } else if (at_mesh(scan)) {
    good = named_write(scan, out);  // so does this one
  } else {
    if (hsc__scan_word(scan, "maximal"))
      good = write_maximal(scan, out);
    else if (hsc__scan_word(scan, "devices"))
      good = write_tiles(scan, out);
    else
      good = write_kind(scan, out);
    good = good && write_group(scan, out) && hsc__scan_char(scan, '}');
  }
  if (good)
    hsc_wire_end(out, mark);
  return good;
}

bool hsc__proto_sharding_write(hsc_view text, hsc_bytes *out, uint32_t field) {
  hsc__scan scan = hsc__scan_of(text);
  return write_one(&scan, out, field, 0) && hsc__scan_done(&scan);
}

bool hsc_hlo_sharding_write(hsc_view text, hsc_bytes *out, uint32_t field) {
  return hsc__proto_sharding_write(text, out, field);
}
