// recompile_options.c - compile options, compared by what they mean.
//
// CompileOptionsProto (xla/pjrt/proto/compile_options.proto) holds ExecutableBuildOptionsProto (3)
// with DebugOptions (3 of it) and the device assignment (9 of it); options by name are a map (7). A
// serialised map has its entries in any order, so bytes say nothing: maps are compared by key. What
// has no words here is compared field by field, in any order, and called "another option".
#include "views/recompile_options.h"

#include <stdlib.h>

#include "base/core/memory.h"
#include "base/text/text.h"
#include "base/wire/wire.h"

enum { MOST_ENTRIES = 512, MOST_DEVICES = 4096, MOST_DEPTH = 6 };
enum { OPTIONS_BUILD = 3, OPTIONS_OVERRIDES = 7 };
enum { BUILD_ORDINAL = 1, BUILD_DEBUG = 3, BUILD_REPLICAS = 4, BUILD_PARTITIONS = 5 };
enum { BUILD_ASSIGNMENT = 9, DEBUG_EXTRA = 500 };

typedef struct options {
  hsc_view overrides[MOST_ENTRIES], extras[MOST_ENTRIES];  // map entries
  size_t override_count, extra_count;
  int64_t ordinal, replicas, partitions;
  int64_t devices[MOST_DEVICES];
  size_t device_count;
  hsc_bytes rest, debug;  // of hsc_wire_field: what is not above
} options;

static void keep(hsc_bytes *out, const hsc_wire_field *f) {
  hsc_bytes_append(out, f, sizeof *f);
}

static int by_content(const void *a, const void *b) {
  const hsc_wire_field *x = a;
  const hsc_wire_field *y = b;
  if (x->number != y->number)
    return x->number < y->number ? -1 : 1;
  if (x->value != y->value)
    return x->value < y->value ? -1 : 1;
  if (x->bytes.size != y->bytes.size)
    return x->bytes.size < y->bytes.size ? -1 : 1;
  return x->bytes.size ? memcmp(x->bytes.data, y->bytes.data, x->bytes.size) : 0;
}

// Fields in whatever order, those inside of messages too: maps that are not known as such here
// differ in their order alone.
static bool same_message(hsc_view a, hsc_view b, int depth);

static bool same_fields(hsc_bytes *a, hsc_bytes *b, int depth) {
  hsc_wire_field *x = (hsc_wire_field *)a->data;
  hsc_wire_field *y = (hsc_wire_field *)b->data;
  size_t count = a->size / sizeof *x;
  if (a->size != b->size)
    return false;
  if (count) {
    qsort(x, count, sizeof *x, by_content);
    qsort(y, count, sizeof *y, by_content);
  }
  for (size_t i = 0; i < count; i++)
    if (x[i].number != y[i].number || x[i].value != y[i].value ||
        (by_content(&x[i], &y[i]) && !same_message(x[i].bytes, y[i].bytes, depth)))
      return false;
  return true;
}

static bool same_message(hsc_view a, hsc_view b, int depth) {
  if (depth == 0 || a.size != b.size)
    return false;
  hsc_bytes x = {0};
  hsc_bytes y = {0};
  hsc_wire in = hsc_wire_of(a);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    keep(&x, &f);
  bool whole = !in.error;
  in = hsc_wire_of(b);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    keep(&y, &f);
  bool same = whole && !in.error && same_fields(&x, &y, depth - 1);
  hsc_bytes_deinit(&x);
  hsc_bytes_deinit(&y);
  return same;
}

static void read_assignment(options *o, hsc_view bytes) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    hsc_wire devices = hsc_wire_of(f.number == 3 ? f.bytes : (hsc_view){0});
    for (hsc_wire_field d; hsc_wire_next(&devices, &d);) {
      size_t room = o->device_count < MOST_DEVICES ? MOST_DEVICES - o->device_count : 0;
      size_t count = 0;
      if (d.number == 1 && hsc_wire_ints(&d, o->devices + o->device_count, room, &count))
        o->device_count += count < room ? count : room;
    }
  }
}

static void read_debug(options *o, hsc_view bytes) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == DEBUG_EXTRA && f.type == HSC_WIRE_BYTES && o->extra_count < MOST_ENTRIES)
      o->extras[o->extra_count++] = f.bytes;
    else
      keep(&o->debug, &f);
  }
}

static void read_build(options *o, hsc_view bytes) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    bool is_bytes = f.type == HSC_WIRE_BYTES;
    if (f.number == BUILD_ORDINAL && !is_bytes)
      o->ordinal = (int64_t)f.value;
    else if (f.number == BUILD_REPLICAS && !is_bytes)
      o->replicas = (int64_t)f.value;
    else if (f.number == BUILD_PARTITIONS && !is_bytes)
      o->partitions = (int64_t)f.value;
    else if (f.number == BUILD_DEBUG && is_bytes)
      read_debug(o, f.bytes);
    else if (f.number == BUILD_ASSIGNMENT && is_bytes)
      read_assignment(o, f.bytes);
    else
      keep(&o->rest, &f);
  }
}

static void read_options(options *o, hsc_view bytes) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == OPTIONS_BUILD && f.type == HSC_WIRE_BYTES)
      read_build(o, f.bytes);
    else if (f.number == OPTIONS_OVERRIDES && f.type == HSC_WIRE_BYTES &&
             o->override_count < MOST_ENTRIES)
      o->overrides[o->override_count++] = f.bytes;
    else
      keep(&o->rest, &f);
  }
}

// ---- what differs -------------------------------------------------------------------------------

// A map entry: its key, and its value as it is (the same value has the same bytes).
static void split(hsc_view entry, hsc_view *out_key, hsc_view *out_value) {
  hsc_wire in = hsc_wire_of(entry);
  *out_key = *out_value = (hsc_view){0};
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1)
      *out_key = f.bytes;
    else if (f.number == 2)
      *out_value = f.bytes;
  }
}

// OptionOverrideProto: one of text (1), bool (2), integer (3), double (4); of a map of texts the
// value is the text itself.
static void put_value(hsc_bytes *out, hsc_view value, bool is_message) {
  if (!is_message) {
    hsc_bytes_append(out, value.data, value.size);
    return;
  }
  hsc_wire in = hsc_wire_of(value);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    char number[32];
    if (f.number == 1)
      hsc_bytes_append(out, f.bytes.data, f.bytes.size);
    else if (f.number == 2)
      hsc_bytes_append_text(out, f.value ? "true" : "false");
    else if (f.number == 3)
      hsc_bytes_printf(out, "%lld", (long long)f.value);
    else if (f.number == 4)
      hsc_bytes_append(out, number, (size_t)hsc_format_double(hsc_wire_double(&f), number));
  }
}

bool hsc_compile_option(hsc_view bytes, size_t index, hsc_bytes *out) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != OPTIONS_OVERRIDES || f.type != HSC_WIRE_BYTES || index-- > 0)
      continue;
    hsc_view key;
    hsc_view value;
    split(f.bytes, &key, &value);
    hsc_bytes_append(out, key.data, key.size);
    hsc_bytes_append_char(out, '=');
    put_value(out, value, true);
    return true;
  }
  return false;
}

static const hsc_view *find(const hsc_view *entries, size_t count, hsc_view key) {
  for (size_t i = 0; i < count; i++) {
    hsc_view other, value;
    split(entries[i], &other, &value);
    if (hsc_view_equals(other, key))
      return &entries[i];
  }
  return NULL;
}

static void begin_difference(hsc_bytes *out, bool *any) {
  if (*any)
    hsc_bytes_append_text(out, "; ");
  *any = true;
}

// Entries of `now` that `before` has otherwise or not at all; the other way round only those that
// are gone.
static void compare_maps(const hsc_view *before,
                         size_t before_count,
                         const hsc_view *now,
                         size_t now_count,
                         bool is_message,
                         hsc_bytes *out,
                         bool *any) {
  for (size_t i = 0; i < now_count; i++) {
    hsc_view key, value, old_key, old_value = {0};
    split(now[i], &key, &value);
    const hsc_view *old = find(before, before_count, key);
    if (old)
      split(*old, &old_key, &old_value);
    if (old && hsc_view_equals(value, old_value))
      continue;
    begin_difference(out, any);
    hsc_bytes_printf(out, "option %.*s was ", (int)key.size, key.data);
    if (old)
      put_value(out, old_value, is_message);
    else
      hsc_bytes_append_text(out, "not set");
    hsc_bytes_append_text(out, ", now ");
    put_value(out, value, is_message);
  }
  for (size_t i = 0; i < before_count; i++) {
    hsc_view key, value;
    split(before[i], &key, &value);
    if (find(now, now_count, key))
      continue;
    begin_difference(out, any);
    hsc_bytes_printf(out, "option %.*s was ", (int)key.size, key.data);
    put_value(out, value, is_message);
    hsc_bytes_append_text(out, ", now not set");
  }
}

static void put_devices(hsc_bytes *out, const options *o) {
  hsc_bytes_append_text(out, o->device_count == 1 ? "device " : "devices ");
  for (size_t i = 0; i < o->device_count && i < 16; i++)
    hsc_bytes_printf(out, "%s%lld", i ? "," : "", (long long)o->devices[i]);
  if (o->device_count > 16)
    hsc_bytes_printf(out, " and %zu more", o->device_count - 16);
  if (!o->device_count)
    hsc_bytes_append_text(out, "of the runtime's choice");
}

static void compare(options *a, options *b, hsc_bytes *out, bool *any) {
  if (a->device_count != b->device_count ||
      memcmp(a->devices, b->devices, a->device_count * sizeof *a->devices)) {
    begin_difference(out, any);
    hsc_bytes_append_text(out, "it was for ");
    put_devices(out, a);
    hsc_bytes_append_text(out, ", now for ");
    put_devices(out, b);
  } else if (a->ordinal != b->ordinal) {
    begin_difference(out, any);
    hsc_bytes_printf(out, "it was for device %lld, now for device %lld", (long long)a->ordinal,
                     (long long)b->ordinal);
  }
  if (a->replicas != b->replicas) {
    begin_difference(out, any);
    hsc_bytes_printf(out, "%lld replicas, now %lld", (long long)a->replicas,
                     (long long)b->replicas);
  }
  if (a->partitions != b->partitions) {
    begin_difference(out, any);
    hsc_bytes_printf(out, "%lld partitions, now %lld", (long long)a->partitions,
                     (long long)b->partitions);
  }
  compare_maps(a->overrides, a->override_count, b->overrides, b->override_count, true, out, any);
  compare_maps(a->extras, a->extra_count, b->extras, b->extra_count, false, out, any);
  if (!same_fields(&a->debug, &b->debug, MOST_DEPTH)) {
    begin_difference(out, any);
    hsc_bytes_append_text(out, "an XLA flag differs");
  }
  if (!same_fields(&a->rest, &b->rest, MOST_DEPTH)) {
    begin_difference(out, any);
    hsc_bytes_append_text(out, "another compile option differs");
  }
}

bool hsc__recompile_options(hsc_view before, hsc_view now, hsc_bytes *out) {
  bool any = false;
  hsc_bytes unused = {0};
  options *both = hsc_alloc(2 * sizeof *both);
  if (!both)
    return before.size != now.size || (before.size && memcmp(before.data, now.data, before.size));
  read_options(&both[0], before);
  read_options(&both[1], now);
  compare(&both[0], &both[1], out ? out : &unused, &any);
  for (int i = 0; i < 2; i++) {
    hsc_bytes_deinit(&both[i].rest);
    hsc_bytes_deinit(&both[i].debug);
  }
  hsc_bytes_deinit(&unused);
  hsc_free(both);
  return any;
}
