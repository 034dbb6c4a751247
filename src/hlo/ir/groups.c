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

static bool read_iota(const char *text, iota *out) {
  int64_t shape[2];
  int64_t count = 0;
  int64_t ordered = 0;
  const char *at = read_ids(text + 1, ']', shape, &count, 2);
  *out = (iota){0};
  if (!at || count != 2 || strncmp(at, "]<=[", 4) != 0)
    return false;
  at = read_ids(at + 4, ']', out->dims, &out->rank, HSC_MAX_RANK);
  if (at && at[1] == 'T') {
    at = at[2] == '(' ? read_ids(at + 3, ')', out->order, &ordered, HSC_MAX_RANK) : NULL;
  } else {
    for (; ordered < out->rank; ordered++)
      out->order[ordered] = ordered;
  }
  if (!at || at[1] || ordered != out->rank || !is_permutation(out->order, out->rank))
    return false;
  int64_t total = 1;
  for (int64_t i = 0; i < out->rank; i++) {
    if (out->dims[i] < 1 || out->dims[i] > HSC_MAX_GROUP_IDS / total)
      return false;
    total *= out->dims[i];
  }
  out->rows = shape[0];
  out->columns = shape[1];
  return shape[0] > 0 && shape[1] > 0 && shape[0] <= total && shape[0] * shape[1] == total;
}

static hsc_status *expand_iota(hsc_arena *arena, const char *text, hsc_groups *out) {
  iota from;
  if (!read_iota(text, &from))
    return no_groups(text);
  int64_t total = from.rows * from.columns;
  int64_t *ids = HSC_NEW_ARRAY(arena, int64_t, total);
  int64_t *first = HSC_NEW_ARRAY(arena, int64_t, from.rows + 1);
  HSC_TRY(hsc_arena_status(arena));
  int64_t strides[HSC_MAX_RANK];
  int64_t index[HSC_MAX_RANK] = {0};
  int64_t stride = 1;
  for (int64_t i = from.rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= from.dims[i];
  }
  for (int64_t n = 0; n < total; n++) {
    ids[n] = 0;
    for (int64_t i = 0; i < from.rank; i++)
      ids[n] += index[i] * strides[from.order[i]];
    for (int64_t i = from.rank - 1; i >= 0 && ++index[i] == from.dims[from.order[i]]; i--)
      index[i] = 0;
  }
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

hsc_status *hsc_groups_parse(hsc_arena *arena, const char *text, hsc_groups *out) {
  *out = (hsc_groups){0};
  if (!text || !*text)
    return NULL;
  if (*text == '[')
    return expand_iota(arena, text, out);
  return *text == '{' ? read_list(arena, text, out) : no_groups(text);
}

// Needs no memory: a passes' question, asked of every collective.
int64_t hsc_groups_largest(const char *text) {
  iota rows;
  int64_t largest = 0;
  if (!text)
    return 0;
  if (*text == '[')
    return read_iota(text, &rows) ? rows.columns : 0;
  for (const char *at = *text ? strchr(text + 1, '{') : NULL; at; at = strchr(at + 1, '{')) {
    int64_t size = at[1] == '}' ? 0 : 1;
    for (const char *p = at + 1; *p && *p != '}'; p++)
      size += *p == ',';
    if (size > largest)
      largest = size;
  }
  return largest;
}
