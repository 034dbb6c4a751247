// compiler_flags.c - reads the options of a compiler out of its library.
//
// A FileDescriptorProto (google/protobuf/descriptor.proto) in the data of a library begins with its
// file's name; its fields come in the order of their numbers, and after the last one is
// something else. What cannot be read as a descriptor is no description, and is passed by.
//
// Libraries are read in pieces and not mapped: an installer that cuts one short meanwhile would end
// this process by a signal.
#include "lab/devices/compiler_flags.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/wire/wire.h"

enum { MOST_NAME = 127, LAST_FIELD = 14, FIELD_MESSAGE = 4, FIELD_ENUM = 5, LABEL_REPEATED = 3 };
enum { PIECE_BYTES = 16 << 20, MOST_DESCRIPTION_BYTES = 4 << 20 };

// file: how its path ends; message: that has the options as fields
static const struct {
  const char *file, *message;
} homes[] = {{"xla/xla.proto", "DebugOptions"},
             {"tpu_compilation_environment.proto", "TpuCompilationEnvironment"}};

// ---- the descriptor -----------------------------------------------------------------------------

// The file's fields as far as they go on in order.
typedef struct file_walk {
  hsc_wire wire;
  uint32_t last;
} file_walk;

static bool next_of_file(file_walk *walk, hsc_wire_field *out) {
  if (!hsc_wire_next(&walk->wire, out) || out->number < walk->last || out->number > LAST_FIELD)
    return false;
  walk->last = out->number;
  return true;
}

static hsc_view child_of(hsc_view message, uint32_t number) {
  hsc_wire wire = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&wire, &f);)
    if (f.number == number && f.type == HSC_WIRE_BYTES)
      return f.bytes;
  return (hsc_view){0};
}

static bool is_named(hsc_view message, const char *name, size_t size) {
  hsc_view has = child_of(message, 1);
  return has.size == size && memcmp(has.data, name, size) == 0;
}

static char *copy_of(hsc_arena *arena, hsc_view text) {
  return hsc_arena_strndup(arena, text.data ? text.data : "", text.size);
}

// The enumeration's values, EnumValueDescriptorProto: name = 1, number = 2.
static void take_values(hsc_view description, hsc_arena *arena, hsc_flag *flag) {
  size_t count = 0;
  hsc_wire wire = hsc_wire_of(description);
  for (hsc_wire_field f; hsc_wire_next(&wire, &f);)
    count += f.number == 2;
  flag->names = HSC_NEW_ARRAY(arena, const char *, count + 1);
  flag->values = HSC_NEW_ARRAY(arena, int32_t, count + 1);
  if (!flag->names || !flag->values)
    return;
  wire = hsc_wire_of(description);
  for (hsc_wire_field f; hsc_wire_next(&wire, &f) && flag->value_count < count;) {
    if (f.number != 2)
      continue;
    hsc_wire value = hsc_wire_of(f.bytes);
    flag->names[flag->value_count] = copy_of(arena, child_of(f.bytes, 1));
    for (hsc_wire_field part; hsc_wire_next(&value, &part);)
      if (part.number == 2)
        flag->values[flag->value_count] = (int32_t)part.value;
    flag->value_count++;
  }
}

// An enumeration by its full name (".xla.DebugOptions.StepMarkerLocation"), which ends in its own:
// in the message, or in the file.
static hsc_view find_enum(hsc_view message, hsc_view file, hsc_view full_name) {
  size_t at = full_name.size;
  while (at > 0 && full_name.data[at - 1] != '.')
    at--;
  const char *name = full_name.data + at;
  size_t size = full_name.size - at;
  hsc_wire in_message = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&in_message, &f);)
    if (f.number == FIELD_MESSAGE && is_named(f.bytes, name, size))
      return f.bytes;
  file_walk walk = {hsc_wire_of(file), 0};
  for (hsc_wire_field f; next_of_file(&walk, &f);)
    if (f.number == FIELD_ENUM && is_named(f.bytes, name, size))
      return f.bytes;
  return (hsc_view){0};
}

static hsc_flag_type type_of(uint64_t type) {
  switch (type) {  // FieldDescriptorProto.Type
    case 1:
    case 2:
      return HSC_FLAG_REAL;
    case 8:
      return HSC_FLAG_BOOL;
    case 9:
      return HSC_FLAG_TEXT;
    case 10:
    case 11:
    case 12:
      return HSC_FLAG_MESSAGE;
    case 14:
      return HSC_FLAG_ENUM;
    default:
      return HSC_FLAG_INT;
  }
}

static hsc_flag *add_flag(hsc_flags *flags, hsc_arena *arena) {
  if (!HSC_GROW_IN(arena, flags->items, flags->count, flags->capacity))
    return NULL;
  flags->items[flags->count] = (hsc_flag){0};
  return &flags->items[flags->count++];
}

// FieldDescriptorProto: name = 1, number = 3, label = 4, type = 5, type_name = 6, options = 8
// (deprecated = 3 in them).
static hsc_status *take_field(
    hsc_view field, hsc_view message, hsc_view file, hsc_arena *arena, hsc_flags *flags) {
  hsc_view name = child_of(field, 1);
  hsc_view type_name = child_of(field, 6);
  if (name.size == 0)
    return NULL;
  char *text = copy_of(arena, name);
  HSC_TRY(hsc_arena_status(arena));
  if (hsc_flags_find(flags, text))
    return NULL;
  hsc_flag *flag = add_flag(flags, arena);
  HSC_TRY(hsc_arena_status(arena));
  if (!flag)
    return hsc_status_out_of_memory();
  flag->name = text;
  hsc_wire wire = hsc_wire_of(field);
  for (hsc_wire_field f; hsc_wire_next(&wire, &f);) {
    if (f.number == 3)
      flag->number = (int32_t)f.value;
    else if (f.number == 4)
      flag->repeated = f.value == LABEL_REPEATED;
    else if (f.number == 5)
      flag->type = type_of(f.value);
    else if (f.number == 8) {
      hsc_wire options = hsc_wire_of(f.bytes);
      for (hsc_wire_field o; hsc_wire_next(&options, &o);)
        if (o.number == 3)
          flag->deprecated = o.value != 0;
    }
  }
  if (flag->type == HSC_FLAG_ENUM)
    take_values(find_enum(message, file, type_name), arena, flag);
  return hsc_arena_status(arena);
}

static hsc_status *take_file(
    hsc_view file, const char *message, hsc_arena *arena, hsc_flags *flags, int *out_found) {
  file_walk walk = {hsc_wire_of(file), 0};
  for (hsc_wire_field f; next_of_file(&walk, &f);) {
    if (f.number != FIELD_MESSAGE || !is_named(f.bytes, message, strlen(message)))
      continue;
    ++*out_found;
    hsc_wire fields = hsc_wire_of(f.bytes);
    for (hsc_wire_field field; hsc_wire_next(&fields, &field);)
      if (field.number == 2 && field.type == HSC_WIRE_BYTES)
        HSC_TRY(take_field(field.bytes, f.bytes, file, arena, flags));
    return NULL;
  }
  return NULL;
}

// Where a description begins whose file's name ends at `end`: a tag (field 1, bytes), the length,
// the name.
static const char *begin_of(const char *library, const char *end, size_t least) {
  for (size_t size = least; size <= MOST_NAME; size++) {
    if ((size_t)(end - library) < size + 2)
      return NULL;
    const char *at = end - size - 2;
    if (at[0] == 0x0a && at[1] == (char)size)
      return at;
  }
  return NULL;
}

// The first description of a home in these bytes that has the message and begins before `before`.
static hsc_status *scan_home(hsc_view library,
                             const char *before,
                             size_t home,
                             hsc_arena *arena,
                             hsc_flags *flags,
                             int *out_found) {
  size_t size = strlen(homes[home].file);
  const char *stop = library.data + library.size;
  const char *at = library.data;
  // most mentions are of files that import this one
  while ((at = memmem(at, (size_t)(stop - at), homes[home].file, size))) {
    int found = *out_found;
    const char *begin = begin_of(library.data, at + size, size);
    at += size;
    if (!begin || begin >= before || at == stop || *at != 0x12)  // field 2, the package
      continue;
    HSC_TRY(take_file((hsc_view){begin, (size_t)(stop - begin)}, homes[home].message, arena, flags,
                      out_found));
    if (*out_found > found)
      return NULL;
  }
  return NULL;
}

hsc_status *hsc_flags_scan(hsc_view library, hsc_arena *arena, hsc_flags *flags, int *out_found) {
  *out_found = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(homes) && library.size; i++)
    HSC_TRY(scan_home(library, library.data + library.size, i, arena, flags, out_found));
  return NULL;
}

// As many bytes as there are from here, at most `size`. What ends in the middle is shorter.
static hsc_status *read_piece(int fd, const char *path, off_t from, size_t size, hsc_bytes *piece) {
  hsc_bytes_reset(piece);
  if (!hsc_bytes_extend(piece, size))
    return hsc_status_out_of_memory();
  piece->size = 0;
  while (piece->size < size) {
    ssize_t got =
        pread(fd, piece->data + piece->size, size - piece->size, from + (off_t)piece->size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return hsc_status_errno(errno, "cannot read", path);
    if (got == 0)
      return NULL;
    piece->size += (size_t)got;
  }
  return NULL;
}

// Pieces overlap by as much as a description may be long, so that each lies in one of them whole.
static hsc_status *read_home(
    int fd, const char *path, size_t home, hsc_bytes *piece, hsc_arena *arena, hsc_flags *flags) {
  int found = 0;
  for (off_t from = 0; found == 0; from += PIECE_BYTES - MOST_DESCRIPTION_BYTES) {
    HSC_TRY(read_piece(fd, path, from, PIECE_BYTES, piece));
    bool is_last = piece->size < PIECE_BYTES;
    size_t before = is_last ? piece->size : PIECE_BYTES - MOST_DESCRIPTION_BYTES;
    if (piece->size)
      HSC_TRY(scan_home(hsc_bytes_view(piece), piece->data + before, home, arena, flags, &found));
    if (is_last)
      return NULL;
  }
  return NULL;
}

hsc_status *hsc_flags_read(const char *path, hsc_arena *arena, hsc_flags *flags) {
  hsc_bytes piece = {0};
  hsc_status *status = NULL;
  struct stat about;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &about) || about.st_size <= 0) {
    if (fd >= 0)
      close(fd);
    return HSC_ERR(NOT_FOUND, "cannot read %s", path);
  }
  for (size_t i = 0; i < HSC_COUNT_OF(homes) && !status; i++)
    status = read_home(fd, path, i, &piece, arena, flags);
  close(fd);
  hsc_bytes_deinit(&piece);
  return status;
}

hsc_flag *hsc_flags_find(const hsc_flags *flags, const char *name) {
  for (size_t i = 0; i < flags->count; i++)
    if (!strcmp(flags->items[i].name, name))
      return &flags->items[i];
  return NULL;
}

// ---- what they are set to -----------------------------------------------------------------------

static const char *joined(hsc_arena *arena, const hsc_flag *flag, const char *value) {
  if (!flag->repeated || !flag->preset || !*flag->preset)
    return hsc_arena_strdup(arena, value);
  return hsc_arena_printf(arena, "%s,%s", flag->preset, value);
}

hsc_status *hsc_flags_take_text(hsc_flags *flags, hsc_view text, hsc_arena *arena) {
  const char *end = text.data + text.size;
  for (const char *line = text.data; line && line < end;) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    size_t size = (size_t)((stop ? stop : end) - line);
    char *copy = hsc_arena_strndup(arena, line, size);
    HSC_TRY(hsc_arena_status(arena));
    char *name = copy + strspn(copy, " \t");
    char *colon = strstr(name, ": ");
    line = stop ? stop + 1 : end;
    if (!colon)
      continue;
    *colon = 0;
    char *value = colon + 2;
    size_t length = strlen(value);
    if (length >= 2 && value[0] == '"' && value[length - 1] == '"') {
      value[length - 1] = 0;
      value++;
    }
    hsc_flag *flag = hsc_flags_find(flags, name);
    if (flag)
      flag->preset = joined(arena, flag, value);
  }
  return hsc_arena_status(arena);
}

// What a message that does not hold the field says: its type's zero.
static const char *zero_of(const hsc_flag *flag) {
  if (flag->repeated || flag->type == HSC_FLAG_TEXT)
    return "";
  if (flag->type == HSC_FLAG_BOOL)
    return "false";
  for (size_t k = 0; k < flag->value_count; k++)
    if (flag->values[k] == 0)
      return flag->names[k];
  return "0";
}

void hsc_flags_rest_is_zero(hsc_flags *flags) {
  for (size_t i = 0; i < flags->count; i++)
    if (!flags->items[i].preset && flags->items[i].type != HSC_FLAG_MESSAGE)
      flags->items[i].preset = zero_of(&flags->items[i]);
}

static const char *text_of_value(const hsc_flag *flag, const hsc_wire_field *f, hsc_arena *arena) {
  if (flag->type == HSC_FLAG_BOOL)
    return f->value ? "true" : "false";
  if (flag->type == HSC_FLAG_TEXT)
    return copy_of(arena, f->bytes);
  if (flag->type == HSC_FLAG_REAL)
    return hsc_arena_printf(
        arena, "%g", f->type == HSC_WIRE_FIXED32 ? (double)hsc_wire_float(f) : hsc_wire_double(f));
  for (size_t i = 0; i < flag->value_count; i++)
    if (flag->values[i] == (int32_t)f->value)
      return flag->names[i];
  return hsc_arena_printf(arena, "%lld", (long long)f->value);
}

// Numbers of a list in one field.
static void take_packed(hsc_flag *flag, const hsc_wire_field *f, hsc_arena *arena) {
  int64_t numbers[64];
  size_t count = 0;
  if (!hsc_wire_ints(f, numbers, HSC_COUNT_OF(numbers), &count))
    return;
  for (size_t i = 0; i < count && i < HSC_COUNT_OF(numbers); i++) {
    hsc_wire_field one = {.type = HSC_WIRE_VARINT, .value = (uint64_t)numbers[i]};
    flag->preset = joined(arena, flag, text_of_value(flag, &one, arena));
  }
}

hsc_status *hsc_flags_take_wire(hsc_flags *flags, hsc_view message, hsc_arena *arena) {
  hsc_wire wire = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&wire, &f);)
    for (size_t i = 0; i < flags->count; i++) {
      hsc_flag *flag = &flags->items[i];
      if (flag->number != (int32_t)f.number || flag->type == HSC_FLAG_MESSAGE)
        continue;
      if (flag->repeated && flag->type != HSC_FLAG_TEXT && f.type == HSC_WIRE_BYTES)
        take_packed(flag, &f, arena);
      else
        flag->preset = joined(arena, flag, text_of_value(flag, &f, arena));
    }
  hsc_flags_rest_is_zero(flags);
  HSC_TRY(hsc_arena_status(arena));
  return hsc_wire_status(&wire, "DebugOptions");
}
