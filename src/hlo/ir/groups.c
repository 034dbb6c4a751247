// groups.c - reads the texts of groups of devices.
#include "hlo/ir/groups.h"

#include <stdlib.h>

static hsc_status *no_groups(const char *text) {
  return HSC_ERR(INVALID_ARGUMENT, "%.200s: no list of groups of devices", text);
}

static const char *skip_blanks(const char *at) {
  while (*at == ' ' || *at == '\n')
    at++;
  return at;
}

// "3,1,2" up to a character that is none of it. Returns that place; NULL where a number is missing,
// is below 0, or is one more than `most`.
static const char *read_ids(const char *at, char end, int64_t *out, int64_t *count, int64_t most) {
  at = skip_blanks(at);
  if (*at == end)
    return at;
  while (true) {
    char *after;
    if (*at < '0' || *at > '9' || *count == most)
      return NULL;
    out[(*count)++] = strtoll(at, &after, 10);
    at = skip_blanks(after);
    if (*at != ',')
      return *at == end ? at : NULL;
    at = skip_blanks(at + 1);
  }
}

// ---- [4,2]<=[2,4]T(1,0) -------------------------------------------------------------------------

typedef struct iota {
  int64_t rows, columns;
  int64_t dims[HSC_MAX_RANK], order[HSC_MAX_RANK];  // of the numbers; how they are transposed
  int64_t rank;
} iota;

// The order must name each dimension once.
static bool is_permutation(const int64_t *order, int64_t rank) {
  uint64_t seen = 0;
  for (int64_t i = 0; i < rank; i++) {
    if (order[i] >= rank)
      return false;
    seen |= (uint64_t)1 << order[i];
  }
  return seen == ((uint64_t)1 << rank) - 1;
}

// "[2,4]T(1,0)" from after the bracket. Returns the place behind it; NULL where it is not sound.
static const char *read_numbers(const char *at, iota *out, int64_t *out_total) {
  int64_t ordered = 0;
  at = read_ids(at, ']', out->dims, &out->rank, HSC_MAX_RANK);
  if (at && at[1] == 'T') {
    at = at[2] == '(' ? read_ids(at + 3, ')', out->order, &ordered, HSC_MAX_RANK) : NULL;
  } else {
    for (; ordered < out->rank; ordered++)
      out->order[ordered] = ordered;
  }
  if (!at || ordered != out->rank || !is_permutation(out->order, out->rank))
    return NULL;
  *out_total = 1;
  for (int64_t i = 0; i < out->rank; i++) {
    if (out->dims[i] < 1 || out->dims[i] > HSC_MAX_GROUP_IDS / *out_total)
      return NULL;
    *out_total *= out->dims[i];
  }
  return at + 1;
}

static bool read_iota(const char *text, iota *out) {
  int64_t shape[2];
  int64_t count = 0;
  int64_t total;
  const char *at = read_ids(text + 1, ']', shape, &count, 2);
  *out = (iota){0};
  if (!at || count != 2 || strncmp(at, "]<=[", 4) != 0)
    return false;
  at = read_numbers(at + 4, out, &total);
  if (!at || *at)
    return false;
  out->rows = shape[0];
  out->columns = shape[1];
  return shape[0] > 0 && shape[1] > 0 && shape[0] <= total && shape[0] * shape[1] == total;
}

static void put_numbers(const iota *from, int64_t total, int64_t *ids) {
  int64_t strides[HSC_MAX_RANK];
  int64_t index[HSC_MAX_RANK] = {0};
  int64_t stride = 1;
  for (int64_t i = from->rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= from->dims[i];
  }
  for (int64_t n = 0; n < total; n++) {
    ids[n] = 0;
    for (int64_t i = 0; i < from->rank; i++)
      ids[n] += index[i] * strides[from->order[i]];
    for (int64_t i = from->rank - 1; i >= 0 && ++index[i] == from->dims[from->order[i]]; i--)
      index[i] = 0;
  }
}

static hsc_status *expand_iota(hsc_arena *arena, const char *text, hsc_groups *out) {
  iota from;
  if (!read_iota(text, &from))
    return no_groups(text);
  int64_t total = from.rows * from.columns;
  int64_t *ids = HSC_NEW_ARRAY(arena, int64_t, total);
  int64_t *first = HSC_NEW_ARRAY(arena, int64_t, from.rows + 1);
  HSC_TRY(hsc_arena_status(arena));
  put_numbers(&from, total, ids);
  for (int64_t r = 0; r <= from.rows; r++)
    first[r] = r * from.columns;
  *out = (hsc_groups){.count = from.rows, .id_count = total, .ids = ids, .first = first};
  return NULL;
}

// ---- {{0,1},{2,3}} ------------------------------------------------------------------------------

static hsc_status *read_list(hsc_arena *arena, const char *text, hsc_groups *out) {
  // Each id takes a character, and so does each group.
  size_t size = strlen(text);
  int64_t *ids = HSC_NEW_ARRAY(arena, int64_t, size);
  int64_t *first = HSC_NEW_ARRAY(arena, int64_t, size + 1);
  HSC_TRY(hsc_arena_status(arena));
  int64_t most = (int64_t)size < HSC_MAX_GROUP_IDS ? (int64_t)size : HSC_MAX_GROUP_IDS;
  int64_t id_count = 0;
  int64_t count = 0;
  const char *at = skip_blanks(text + 1);
  while (*at == '{') {
    first[count++] = id_count;
    at = read_ids(at + 1, '}', ids, &id_count, most);
    if (!at)
      return no_groups(text);
    at = skip_blanks(at + 1);
    if (*at == ',')
      at = skip_blanks(at + 1);
    else if (*at != '}')
      return no_groups(text);
  }
  if (*at != '}' || at[1])
    return no_groups(text);
  first[count] = id_count;
  *out = (hsc_groups){.count = count, .id_count = id_count, .ids = ids, .first = first};
  return NULL;
}

// ---- mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'y','x':(1)2} ---------------------------------

// An axis that a group goes along: of a place in the mesh, place / stride % size.
typedef struct factor {
  int64_t size, stride;
} factor;

typedef struct mesh {
  int64_t axis_count, device_count;
  hsc_view names[HSC_MAX_RANK];
  int64_t sizes[HSC_MAX_RANK];
  const char *list;  // of device ids, after its bracket; NULL = none
  iota numbers;      // the ids in the other form; rank 0 = none
  factor factors[HSC_MAX_RANK];
  int64_t factor_count, group_size;
} mesh;

// A number of at least 1 and at most the devices that groups may have; NULL where there is none.
static const char *read_size(const char *at, int64_t *out) {
  char *after;
  if (*at < '1' || *at > '9')
    return NULL;
  *out = strtoll(at, &after, 10);
  return *out <= HSC_MAX_GROUP_IDS ? after : NULL;
}

// 'x' or "x"
static const char *read_name(const char *at, hsc_view *out) {
  const char *end = *at == '\'' || *at == '"' ? strchr(at + 1, *at) : NULL;
  if (!end)
    return NULL;
  *out = (hsc_view){at + 1, (size_t)(end - at - 1)};
  return end + 1;
}

static int64_t axis_of(const mesh *m, hsc_view name) {
  for (int64_t a = 0; a < m->axis_count; a++)
    if (hsc_view_equals(m->names[a], name))
      return a;
  return -1;
}

// 'x'=2,'y'=4] from after the bracket
static const char *read_axes(const char *at, mesh *out) {
  out->device_count = 1;
  for (at = skip_blanks(at); *at != ']'; at = skip_blanks(at + (*at == ','))) {
    int64_t a = out->axis_count;
    if (a == HSC_MAX_RANK || !(at = read_name(at, &out->names[a])) || *at != '=' ||
        !(at = read_size(at + 1, &out->sizes[a])) || axis_of(out, out->names[a]) >= 0 ||
        out->sizes[a] > HSC_MAX_GROUP_IDS / out->device_count)
      return NULL;
    out->device_count *= out->sizes[a];
    out->axis_count++;
    if (*(at = skip_blanks(at)) != ',' && *at != ']')
      return NULL;
  }
  return at + 1;
}

// (7,6,5,4) or ([4,2]T(1,0)) from after the bracket; a list is read when it is needed
static const char *read_device_ids(const char *at, mesh *out) {
  int64_t total = 0;
  if (*at != '[') {
    out->list = at;
    at = strchr(at, ')');
  } else {
    at = read_numbers(at + 1, &out->numbers, &total);
    if (at && total != out->device_count)
      return NULL;
  }
  return at && *at == ')' ? at + 1 : NULL;
}

// 'x' or 'x':(2)4, the part of size 4 of the axis that has 2 before it
static const char *read_factor(const char *at, mesh *out) {
  hsc_view name;
  int64_t before = 1;
  at = read_name(at, &name);
  int64_t axis = at ? axis_of(out, name) : -1;
  if (axis < 0 || out->factor_count == HSC_MAX_RANK)
    return NULL;
  factor f = {.size = out->sizes[axis], .stride = 1};
  for (int64_t a = axis + 1; a < out->axis_count; a++)
    f.stride *= out->sizes[a];
  if (*at == ':') {
    int64_t whole = f.size;
    if (at[1] != '(' || !(at = read_size(at + 2, &before)) || *at != ')' ||
        !(at = read_size(at + 1, &f.size)) || whole % before != 0 || whole / before % f.size != 0)
      return NULL;
    f.stride *= whole / before / f.size;
  }
  // axes that are named twice may make more than there is
  if (out->group_size > out->device_count / f.size)
    return NULL;
  out->group_size *= f.size;
  out->factors[out->factor_count++] = f;
  return at;
}

static bool read_mesh(const char *text, mesh *out) {
  *out = (mesh){.group_size = 1};
  const char *at = strncmp(text, "mesh[", 5) == 0 ? read_axes(text + 5, out) : NULL;
  if (!at)
    return false;
  at = skip_blanks(at);
  if (*at == ',') {
    static const char ids[] = "device_ids=(";
    at = skip_blanks(at + 1);
    at = strncmp(at, ids, sizeof ids - 1) == 0 ? read_device_ids(at + sizeof ids - 1, out) : NULL;
    if (!at)
      return false;
    at = skip_blanks(at);
  }
  if (*at++ != '{')
    return false;
  for (at = skip_blanks(at); *at != '}'; at = skip_blanks(at + (*at == ',')))
    if (!(at = read_factor(at, out)) || (*at != ',' && *at != '}'))
      return false;
  return !at[1];
}

// Which device is at each place of the mesh; every one once.
static bool put_devices(const mesh *m, int64_t *ids) {
  int64_t count = 0;
  if (m->numbers.rank) {
    put_numbers(&m->numbers, m->device_count, ids);
    return true;
  }
  for (int64_t i = 0; i < m->device_count && !m->list; i++)
    ids[i] = i;
  return !m->list ||
         (read_ids(m->list, ')', ids, &count, m->device_count) != NULL && count == m->device_count);
}

static bool leads(const mesh *m, int64_t place) {
  for (int64_t k = 0; k < m->factor_count; k++)
    if (place / m->factors[k].stride % m->factors[k].size)
      return false;
  return true;
}

// The place of member `number` of the group that `first` leads: the last axis is the fastest.
static int64_t place_of(const mesh *m, int64_t first, int64_t number) {
  for (int64_t k = m->factor_count - 1; k >= 0; k--) {
    first += number % m->factors[k].size * m->factors[k].stride;
    number /= m->factors[k].size;
  }
  return first;
}

static hsc_status *expand_mesh(hsc_arena *arena, const char *text, hsc_groups *out) {
  mesh m;
  if (!read_mesh(text, &m))
    return no_groups(text);
  int64_t rows = m.device_count / m.group_size;
  int64_t *devices = HSC_NEW_ARRAY(arena, int64_t, m.device_count);
  int64_t *ids = HSC_NEW_ARRAY(arena, int64_t, m.device_count);
  int64_t *first = HSC_NEW_ARRAY(arena, int64_t, rows + 1);
  bool *seen = HSC_NEW_ARRAY(arena, bool, m.device_count);
  HSC_TRY(hsc_arena_status(arena));
  if (!put_devices(&m, devices))
    return no_groups(text);
  int64_t count = 0;
  int64_t row = 0;
  for (int64_t place = 0; place < m.device_count; place++) {
    if (!leads(&m, place))
      continue;
    // parts of one axis that overlap lead to a place twice, and leave fewer leaders or more
    if (row == rows)
      return no_groups(text);
    first[row++] = count;
    for (int64_t i = 0; i < m.group_size; i++) {
      int64_t at = place_of(&m, place, i);
      if (at >= m.device_count || seen[at] || devices[at] >= m.device_count)
        return no_groups(text);
      seen[at] = true;
      ids[count++] = devices[at];
    }
  }
  first[row] = count;
  if (count != m.device_count)
    return no_groups(text);
  *out = (hsc_groups){.count = row, .id_count = count, .ids = ids, .first = first};
  return NULL;
}

hsc_status *hsc_groups_parse(hsc_arena *arena, const char *text, hsc_groups *out) {
  *out = (hsc_groups){0};
  if (!text || !*text)
    return NULL;
  if (*text == '[')
    return expand_iota(arena, text, out);
  if (*text == 'm')
    return expand_mesh(arena, text, out);
  return *text == '{' ? read_list(arena, text, out) : no_groups(text);
}

bool hsc_pairs_keep(const char *text, int64_t device) {
  for (const char *at = text ? text : ""; (at = strchr(at, '{')) != NULL;) {
    int64_t pair[2];
    int64_t count = 0;
    at++;
    if (read_ids(at, '}', pair, &count, 2) && count == 2 && pair[0] == device && pair[1] == device)
      return true;
  }
  return false;
}

// Needs no memory: a passes' question, asked of every collective.
int64_t hsc_groups_largest(const char *text) {
  iota rows;
  mesh axes;
  int64_t largest = 0;
  if (!text)
    return 0;
  if (*text == '[')
    return read_iota(text, &rows) ? rows.columns : 0;
  if (*text == 'm')
    return read_mesh(text, &axes) ? axes.group_size : 0;
  for (const char *at = *text ? strchr(text + 1, '{') : NULL; at; at = strchr(at + 1, '{')) {
    int64_t size = at[1] == '}' ? 0 : 1;
    for (const char *p = at + 1; *p && *p != '}'; p++)
      size += *p == ',';
    if (size > largest)
      largest = size;
  }
  return largest;
}
