// hlo_proto_pieces.c - shardings as places: which device has which piece of an array, and copies
// between a whole array and its pieces.
//
// A sharding cuts an array in tiles and puts the tiles on devices in an order of its own. Further
// dimensions of the tile assignment are copies: {devices=[2,1,2]<=[4] last_tile_dim_replicate} cuts
// a matrix in two along its rows, each half on two devices.
// Source: xla/hlo/ir/hlo_sharding.h, xla/xla_data.proto (OpSharding).
#include "base/wire/wire.h"
#include "formats/common/formats.h"
#include "formats/hlo_proto/hlo_proto_internal.h"

enum { F_RESULT_SHARDING = 12, F_PARAMETER_SHARDINGS = 14, MOST_TILE_DIMS = 16 };

static hsc_status *wrong(hsc_view text, const char *why) {
  return HSC_ERR(INVALID_ARGUMENT, "sharding %.*s: %s", (int)text.size, text.data, why);
}

// Device numbers in the order of the tiles: 0, 1, ... in the shape of `dims`, transposed.
static bool read_iota(hsc__scan *scan, int64_t count, int64_t *out_devices) {
  int64_t dims[MOST_TILE_DIMS];
  int64_t order[MOST_TILE_DIMS];
  int64_t strides[MOST_TILE_DIMS];
  int64_t at[MOST_TILE_DIMS] = {0};
  int rank = 0;
  int order_count = 0;
  int64_t all = 1;
  if (!hsc__scan_ints(scan, '[', ']', dims, MOST_TILE_DIMS, &rank) || rank < 1)
    return false;
  for (; order_count < rank; order_count++)
    order[order_count] = order_count;
  if (hsc__scan_char(scan, 'T') &&
      (!hsc__scan_ints(scan, '(', ')', order, MOST_TILE_DIMS, &order_count) || order_count != rank))
    return false;
  for (int d = rank; d-- > 0; all *= dims[d]) {
    strides[d] = all;
    if (dims[d] < 1 || dims[d] > count)
      return false;
  }
  for (int d = 0; d < rank; d++)
    if (order[d] < 0 || order[d] >= rank)
      return false;
  if (all != count)
    return false;
  for (int64_t i = 0; i < count; i++) {
    out_devices[i] = 0;
    for (int d = 0; d < rank; d++)
      out_devices[i] += at[d] * strides[order[d]];
    for (int d = rank; d-- > 0 && ++at[d] == dims[order[d]];)
      at[d] = 0;
  }
  return true;
}

static bool read_list(hsc__scan *scan, int64_t count, int64_t *out_devices) {
  for (int64_t i = 0; i < count; i++) {
    if (!hsc__scan_int(scan, &out_devices[i]))
      return false;
    hsc__scan_char(scan, ',');
  }
  return true;
}

// "=[2,1,2]<=[4] ..." after the word devices.
static hsc_status *read_tiles(hsc_view text, hsc__scan *scan, hsc_arena *arena, hsc_pieces *p) {
  int64_t tiles[MOST_TILE_DIMS];
  int tile_rank = 0;
  int64_t all = 1;
  int64_t piece_count = 1;
  if (!hsc__scan_char(scan, '=') ||
      !hsc__scan_ints(scan, '[', ']', tiles, MOST_TILE_DIMS, &tile_rank))
    return wrong(text, "its tiles cannot be read");
  if (tile_rank < p->rank)
    return wrong(text, "it has fewer dimensions than its array");
  for (int d = 0; d < tile_rank; d++) {
    if (tiles[d] < 1 || all > p->device_count / tiles[d])
      return wrong(text, "it is for other devices than the program");
    all *= tiles[d];
    if (d < p->rank)
      piece_count *= p->counts[d] = tiles[d];
  }
  if (all != p->device_count)
    return wrong(text, "it is for other devices than the program");
  int64_t *devices = HSC_NEW_ARRAY(arena, int64_t, all + 1);
  HSC_TRY(hsc_arena_status(arena));
  bool is_iota = hsc__scan_word(scan, "<=");
  if (is_iota ? !read_iota(scan, all, devices) : !read_list(scan, all, devices))
    return wrong(text, "its devices cannot be read");
  for (int64_t i = 0; i < all; i++) {
    if (devices[i] < 0 || devices[i] >= all)
      return wrong(text, "it names a device that the program does not have");
    p->piece_of[devices[i]] = i / (all / piece_count);
  }
  return NULL;
}

hsc_status *hsc_pieces_read(
    hsc_view text, int rank, int64_t device_count, hsc_arena *arena, hsc_pieces *out_pieces) {
  hsc__scan scan = hsc__scan_of(text);
  hsc_pieces p = {.rank = rank, .device_count = device_count};
  int64_t device;
  p.piece_of = HSC_NEW_ARRAY(arena, int64_t, device_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int d = 0; d < rank; d++)
    p.counts[d] = 1;
  for (int64_t i = 0; i < device_count; i++)
    p.piece_of[i] = 0;
  if (!hsc__scan_char(&scan, '{'))
    return wrong(text, "it does not start with {");
  if (hsc__scan_word(&scan, "maximal")) {
    if (!hsc__scan_word(&scan, "device") || !hsc__scan_char(&scan, '=') ||
        !hsc__scan_int(&scan, &device) || device < 0 || device >= device_count)
      return wrong(text, "it names a device that the program does not have");
    for (int64_t i = 0; i < device_count; i++)
      p.piece_of[i] = i == device ? 0 : -1;
  } else if (hsc__scan_word(&scan, "devices")) {
    HSC_TRY(read_tiles(text, &scan, arena, &p));
  } else if (!hsc__scan_word(&scan, "replicated")) {
    return HSC_ERR(UNIMPLEMENTED, "sharding %.*s does not say how its array is cut", (int)text.size,
                   text.data);
  }
  *out_pieces = p;
  return NULL;
}

// ---- copies -------------------------------------------------------------------------------------

int64_t hsc_piece_dim(const hsc_pieces *pieces, const int64_t *whole_dims, int dim) {
  return (whole_dims[dim] + pieces->counts[dim] - 1) / pieces->counts[dim];
}

void hsc_piece_move(const hsc_piece_copy *copy, void *whole, void *piece) {
  const hsc_pieces *p = copy->pieces;
  int64_t first[HSC_MAX_RANK];   // of the piece, in the whole
  int64_t extent[HSC_MAX_RANK];  // of the piece, filled up
  int64_t inside[HSC_MAX_RANK];  // of it that lies in the whole
  int64_t at[HSC_MAX_RANK] = {0};
  int64_t number = copy->piece;
  size_t piece_bytes = copy->element_bytes;
  for (int d = p->rank; d-- > 0; number /= p->counts[d]) {
    extent[d] = hsc_piece_dim(p, copy->whole_dims, d);
    first[d] = number % p->counts[d] * extent[d];
    inside[d] = copy->whole_dims[d] - first[d];
    if (inside[d] > extent[d])
      inside[d] = extent[d];
    piece_bytes *= (size_t)extent[d];
    if (inside[d] < 0)
      inside[d] = 0;
  }
  if (copy->to_piece)
    memset(piece, 0, piece_bytes);
  for (int d = 0; d < p->rank; d++)
    if (inside[d] == 0)
      return;
  size_t row = copy->element_bytes * (p->rank ? (size_t)inside[p->rank - 1] : 1);
  for (;;) {
    size_t in_whole = 0;
    size_t in_piece = 0;
    for (int d = 0; d < p->rank; d++) {
      in_whole = in_whole * (size_t)copy->whole_dims[d] + (size_t)(first[d] + at[d]);
      in_piece = in_piece * (size_t)extent[d] + (size_t)at[d];
    }
    char *far = (char *)whole + in_whole * copy->element_bytes;
    char *near = (char *)piece + in_piece * copy->element_bytes;
    memcpy(copy->to_piece ? near : far, copy->to_piece ? far : near, row);
    int d = p->rank - 2;  // the last dimension is the row
    while (d >= 0 && ++at[d] == inside[d])
      at[d--] = 0;
    if (d < 0)
      return;
  }
}

// ---- a compiled module's ------------------------------------------------------------------------

static const char *text_of(hsc_view sharding, hsc_arena *arena, hsc_status **out_status) {
  hsc_bytes text = {0};
  *out_status = hsc__proto_sharding_text(sharding, 0, &text);
  const char *kept = *out_status ? NULL : hsc_arena_strndup(arena, text.data, text.size);
  hsc_bytes_deinit(&text);
  return kept;
}

hsc_status *hsc_sharding_results(const char *text, hsc_arena *arena, hsc_module_shardings *out) {
  size_t most = 1;
  for (const char *c = text; *c; c++)
    most += *c == '{';
  out->results = HSC_NEW_ARRAY(arena, const char *, most);
  HSC_TRY(hsc_arena_status(arena));
  hsc__scan scan = hsc__scan_of(hsc_view_of(text));
  hsc__scan inside = scan;
  hsc__scan_char(&inside, '{');
  if (!hsc__scan_peek(&inside, '{')) {
    out->results[out->result_count++] = text;
    return NULL;
  }
  for (hsc_view one; hsc__scan_peek(&inside, '{') && hsc__scan_braces(&inside, &one);) {
    out->results[out->result_count++] = hsc_arena_printf(arena, "%.*s", (int)one.size, one.data);
    hsc__scan_char(&inside, ',');
  }
  return hsc_arena_status(arena);
}

hsc_status *hsc_hlo_proto_shardings(hsc_view bytes,
                                    hsc_arena *arena,
                                    hsc_module_shardings *out_shardings) {
  hsc_module_shardings found = {0};
  hsc_view config = {0};
  hsc_view module = hsc__proto_unwrap(bytes, 1, &config);
  hsc_status *status = NULL;
  const char *result = NULL;
  int count = 0;
  hsc_wire in = hsc_wire_of(module);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    count += f.number == F_PARAMETER_SHARDINGS && f.type == HSC_WIRE_BYTES;
  HSC_TRY(hsc_wire_status(&in, "HloModuleProto"));
  found.parameters = HSC_NEW_ARRAY(arena, const char *, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  in = hsc_wire_of(module);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.type != HSC_WIRE_BYTES)
      continue;
    if (f.number == F_PARAMETER_SHARDINGS)
      found.parameters[found.parameter_count++] = text_of(f.bytes, arena, &status);
    else if (f.number == F_RESULT_SHARDING)
      result = text_of(f.bytes, arena, &status);
    HSC_TRY(status);
  }
  HSC_TRY(hsc_arena_status(arena));
  if (result)
    HSC_TRY(hsc_sharding_results(result, arena, &found));
  *out_shardings = found;
  return NULL;
}
