// formats.h - program formats in and out. One reader and one writer a format; this is the door.
#pragma once

#include "hlo/ir/hlo.h"

// FORMAT(id, text, extensions, doc) rows make the enum, the names, the detection by extension and
// the help.
typedef enum hsc_format {
#define FORMAT(id, text, extensions, doc) HSC_FORMAT_##id,
#include "formats/common/formats.def"
#undef FORMAT
  HSC_FORMAT_COUNT
} hsc_format;
const char *hsc_format_text(hsc_format format);
bool hsc_format_parse(hsc_view text, hsc_format *out_format);
// Guesses from the first bytes (magic numbers, "HloModule", "module"/"func", protobuf tags) and,
// when they do not tell, from the extension.
bool hsc_format_detect(hsc_view bytes, const char *path, hsc_format *out_format);

// A version of StableHLO, for portable artifacts.
typedef struct hsc_stablehlo_version {
  int32_t major, minor, patch;
} hsc_stablehlo_version;
#define HSC_STABLEHLO_OLDEST ((hsc_stablehlo_version){0, 9, 0})
#define HSC_STABLEHLO_NEWEST ((hsc_stablehlo_version){1, 20, 0})
// "1.9.0". INVALID_ARGUMENT for other text and for versions outside of the oldest to the newest.
HSC_MUST_USE hsc_status *hsc_stablehlo_version_parse(hsc_view text,
                                                     hsc_stablehlo_version *out_version);

typedef struct hsc_write_options {
  hsc_stablehlo_version stablehlo_version;  // of MLIR bytecode; all zero = HSC_STABLEHLO_NEWEST
  bool generic;                             // MLIR text: the generic form
  bool locations;                           // MLIR text: with locations
} hsc_write_options;

// Reads a program. `path` (may be NULL) is for messages only. gzip and zstd are unpacked first. The
// module is verified.
// Errors: INVALID_ARGUMENT pointing at path:line:column with what was expected; UNIMPLEMENTED for a
// format or op that is not built yet.
HSC_MUST_USE hsc_status *hsc_program_read(hsc_view bytes,
                                          const char *path,
                                          hsc_module **out_module);
// The same for N partitions as who compiles it says (0 = as the program says): MLIR's
// shardings are brought to one partition's program by them.
HSC_MUST_USE hsc_status *hsc_program_read_for(hsc_view bytes,
                                              const char *path,
                                              int partition_count,
                                              hsc_module **out_module);
// A size for a symbolic dimension of MLIR: by the name that JAX exported it under ("b"), or by its
// place, "0.1" for dimension 1 of argument 0.
typedef struct hsc_dim_size {
  const char *name;
  int64_t size;
} hsc_dim_size;
// Reads a program with symbolic dimensions as the static one that it is with these sizes. Errors:
// FAILED_PRECONDITION for dimensions without a size, which are named; INVALID_ARGUMENT for sizes
// that the program does not allow or does not ask for; UNIMPLEMENTED for sizes that depend on what
// is computed.
HSC_MUST_USE hsc_status *hsc_program_read_sized(hsc_view bytes,
                                                const char *path,
                                                const hsc_dim_size *sizes,
                                                int size_count,
                                                hsc_module **out_module);
HSC_MUST_USE hsc_status *hsc_program_read_as(hsc_format format,
                                             hsc_view bytes,
                                             const char *path,
                                             hsc_module **out_module);
// The first bytes of a file, before anything is done with it: errors when it cannot be opened, is a
// directory, or is something else that people have beside their programs (another packer's file, a
// script, a result), with what to do with that. NULL for pipes and devices, which can be read once.
HSC_MUST_USE hsc_status *hsc_program_look(const char *path);
// "-" reads standard input
HSC_MUST_USE hsc_status *hsc_program_read_file(const char *path, hsc_module **out_module);
HSC_MUST_USE hsc_status *hsc_program_write(const hsc_module *module,
                                           hsc_format format,
                                           hsc_bytes *out_bytes);
// The same with options (NULL = all zero). What the format has no place for and what only helps a
// compiler (layouts, control dependencies ...) is left out, and said in *notes (may be NULL), a
// line each. Errors: UNIMPLEMENTED at the instruction for what the format cannot say.
HSC_MUST_USE hsc_status *hsc_program_write_with(const hsc_module *module,
                                                hsc_format format,
                                                const hsc_write_options *options,
                                                hsc_bytes *notes,
                                                hsc_bytes *out_bytes);

// What a program says of the devices that it is for: attributes of the module, meshes, shardings.
typedef struct hsc_program_spread {
  int64_t partition_count, replica_count;  // 1 where the program says nothing
  const char *partitions_from;  // "mhlo.num_partitions", "sdy.mesh", "a sharding"; NULL = nothing
  bool is_shardy;               // it has a mesh of Shardy's
  bool is_to_be_partitioned;    // it has shardings, or is MLIR for several partitions
  // the mesh of all partitions, the slowest axis first; names are NULL where only a sharding's
  // tiles tell of one
  int axis_count;
  const char **axis_names;
  int64_t *axis_sizes;
  const int64_t *mesh_devices;  // [partition_count] the partition at each place; NULL = in order
  // of the entry of a program in MLIR: 1 = nothing is said of how it is cut, so the compiler
  // chooses, as JAX lets it; counts are 0 where something is said of all
  const int64_t *free_parameters, *free_results;
  int free_parameter_count, free_result_count;
} hsc_program_spread;
// Everything lies in `arena`. Errors: those of reading.
HSC_MUST_USE hsc_status *hsc_program_spread_read(hsc_view bytes,
                                                 const char *path,
                                                 hsc_arena *arena,
                                                 hsc_program_spread *out_spread);

// The readers themselves.
HSC_MUST_USE hsc_status *hsc_hlo_text_parse(hsc_view text,
                                            const char *path,
                                            hsc_module **out_module);
// The shapes of "{(f32[2]{0}, s32[])->f32[]}", as in hsc_module.layout_text. They live in the
// arena.
HSC_MUST_USE hsc_status *hsc_hlo_text_parse_entry_layout(hsc_arena *arena,
                                                         hsc_view text,
                                                         int *out_count,
                                                         hsc_shape **out_parameters,
                                                         hsc_shape *out_result);
// HloModuleProto, or a HloProto, HloModuleProtoWithConfig or HloSnapshot that holds one. Errors:
// DATA_LOSS for malformed bytes, INVALID_ARGUMENT, UNIMPLEMENTED for element types and sparse
// arrays that are not built yet. Not verified.
HSC_MUST_USE hsc_status *hsc_hlo_proto_read(hsc_view bytes,
                                            const char *path,
                                            hsc_module **out_module);
// Appends a HloModuleProto (xla/service/hlo.proto). UNIMPLEMENTED for layouts and shardings that
// have no field; FAILED_PRECONDITION for constants that were read without their values.
HSC_MUST_USE hsc_status *hsc_hlo_proto_write(const hsc_module *module, hsc_bytes *out_bytes);
// Appends an OpSharding (xla/xla_data.proto) as a field of a message, from XLA's text
// ("{replicated}", "{devices=[2,1]0,1}", "{{...}, {...}}"); false when the text is none.
bool hsc_hlo_sharding_write(hsc_view text, hsc_bytes *out, uint32_t field);

// How a whole array lies in pieces on devices.
typedef struct hsc_pieces {
  int rank;
  int64_t counts[HSC_MAX_RANK];  // pieces along each dimension; 1 = not cut there
  int64_t device_count;
  int64_t *piece_of;  // [device_count] the number of a device's piece, row-major; -1 = it has none
} hsc_pieces;
// From XLA's text of one array's sharding ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}").
// piece_of lies in `arena`. Errors: INVALID_ARGUMENT for what does not fit the array or the
// devices, UNIMPLEMENTED for forms that do not say how an array is cut ({manual}).
HSC_MUST_USE hsc_status *hsc_pieces_read(
    hsc_view text, int rank, int64_t device_count, hsc_arena *arena, hsc_pieces *out_pieces);
// Copies between a whole row-major array and one piece of it, the last pieces filled up with zeros
// where the whole does not divide. `to_piece` says which way.
typedef struct hsc_piece_copy {
  const hsc_pieces *pieces;
  const int64_t *whole_dims;
  size_t element_bytes;
  int64_t piece;
  bool to_piece;
} hsc_piece_copy;
void hsc_piece_move(const hsc_piece_copy *copy, void *whole, void *piece);
int64_t hsc_piece_dim(const hsc_pieces *pieces, const int64_t *whole_dims, int dim);

// What a compiled module's proto says of how its parameters and its results are cut, as texts in
// `arena`; a result that is a tuple has one text an element. Counts are 0 where it says nothing.
typedef struct hsc_module_shardings {
  const char **parameters;
  const char **results;
  int parameter_count, result_count;
} hsc_module_shardings;
// Fills the results alone, from a text: "{{replicated}, {devices=[2]<=[2]}}".
HSC_MUST_USE hsc_status *hsc_sharding_results(const char *text,
                                              hsc_arena *arena,
                                              hsc_module_shardings *out_shardings);
HSC_MUST_USE hsc_status *hsc_hlo_proto_shardings(hsc_view bytes,
                                                 hsc_arena *arena,
                                                 hsc_module_shardings *out_shardings);
// Appends a HloModuleProtoWithConfig (xla/xla.proto) whose configuration holds the entry layout and
// the numbers of replicas and partitions: what PJRT_Executable_OptimizedProgram gives as
// "hlo_with_config".
HSC_MUST_USE hsc_status *hsc_hlo_proto_write_with_config(const hsc_module *module,
                                                         hsc_bytes *out_bytes);
