// print.c - computations and instructions as XLA prints them (xla/hlo/ir/hlo_instruction.cc,
// hlo_computation.cc of the XLA in jaxlib 0.10).
#include "hlo/print/print_internal.h"

static const hsc_print_options all_false;

static void put_text_field(hsc_bytes *out, const char *key, const char *value, bool *first) {
  if (!value || !*value)
    return;
  if (!*first)
    hsc_bytes_append_char(out, ' ');
  *first = false;
  hsc_bytes_append_text(out, key);
  PUT(out, "=\"");
  hsc_text_escape(hsc_view_of(value), out);
  hsc_bytes_append_char(out, '"');
}

static void put_int_field(hsc_bytes *out, const char *key, int64_t value, bool *first) {
  if (value == 0)
    return;
  if (!*first)
    hsc_bytes_append_char(out, ' ');
  *first = false;
  hsc_bytes_append_text(out, key);
  hsc_bytes_append_char(out, '=');
  hsc__put_int(out, value);
}

static void print_metadata(const hsc_metadata *metadata, hsc_bytes *out) {
  bool first = true;
  size_t start = out->size;
  PUT(out, ", metadata={");
  put_text_field(out, "op_type", metadata->op_type, &first);
  put_text_field(out, "op_name", metadata->op_name, &first);
  put_text_field(out, "source_file", metadata->source_file, &first);
  put_int_field(out, "source_line", metadata->source_line, &first);
  put_int_field(out, "source_end_line", metadata->source_end_line, &first);
  put_int_field(out, "source_column", metadata->source_column, &first);
  put_int_field(out, "source_end_column", metadata->source_end_column, &first);
  if (metadata->extra && *metadata->extra) {
    if (!first)
      hsc_bytes_append_char(out, ' ');
    first = false;
    hsc_bytes_append_text(out, metadata->extra);
  }
  put_int_field(out, "stack_frame_id", metadata->stack_frame_id, &first);
  if (first && !out->failed)
    out->size = start;  // nothing in it
  else
    hsc_bytes_append_char(out, '}');
}

static void print_operands(const hsc_instr *instr,
                           const hsc_print_options *options,
                           hsc_bytes *out) {
  if (instr->op == HSC_OP_PARAMETER) {
    hsc__put_int(out, instr->attr.index.value);
    return;
  }
  if (instr->op == HSC_OP_CONSTANT) {
    const hsc_literal *literal = instr->attr.literal.value;
    bool elide = options->elide_large_constants && hsc_shape_is_array(&instr->shape) &&
                 hsc_shape_elements(&instr->shape) > 10;
    if (!literal || literal->elided || elide)
      PUT(out, "{...}");
    else
      hsc_literal_print(literal, out);
    return;
  }
  for (int i = 0; i < instr->operand_count; i++) {
    if (i > 0) {
      PUT(out, ", ");
      hsc__print_tuple_index(i, out);
    }
    const hsc_instr *operand = instr->operands[i];
    if (options->operand_shapes) {
      hsc_shape_print(&operand->shape, !options->no_layouts, out);
      hsc_bytes_append_char(out, ' ');
    }
    hsc__put_name(out, operand->name, options);
  }
}

static void print_op(const hsc_instr *instr, hsc_bytes *out) {
  const hsc_instr *wrapped = hsc__async_wrapped(instr);
  hsc_bytes_append_text(out, hsc_op_text(wrapped ? wrapped->op : instr->op));
  if (!wrapped)
    return;
  if (instr->op == HSC_OP_ASYNC_START)
    PUT(out, "-start");
  else if (instr->op == HSC_OP_ASYNC_UPDATE)
    PUT(out, "-update");
  else
    PUT(out, "-done");
}

static void print_instr(const hsc_instr *instr, const hsc_print_options *options, hsc_bytes *out) {
  hsc__put_name(out, instr->name, options);
  PUT(out, " = ");
  hsc_shape_print(&instr->shape, !options->no_layouts, out);
  hsc_bytes_append_char(out, ' ');
  print_op(instr, out);
  hsc_bytes_append_char(out, '(');
  print_operands(instr, options, out);
  hsc_bytes_append_char(out, ')');
  hsc__print_attributes(instr, options, out);
  if (!options->no_metadata && instr->metadata)
    print_metadata(instr->metadata, out);
  if (!options->no_backend_config && instr->backend_config) {
    PUT(out, ", backend_config=");
    hsc_bytes_append_text(out, instr->backend_config);
  }
}

void hsc_instr_print(const hsc_instr *instr, const hsc_print_options *options, hsc_bytes *out) {
  print_instr(instr, options ? options : &all_false, out);
}

void hsc_computation_print(const hsc_computation *computation,
                           const hsc_print_options *options,
                           hsc_bytes *out) {
  if (!options)
    options = &all_false;
  hsc__put_name(out, computation->name, options);
  PUT(out, " (");
  for (int i = 0; i < computation->parameter_count; i++) {
    const hsc_instr *parameter = computation->parameters[i];
    if (i > 0)
      PUT(out, ", ");
    if (!parameter)
      continue;
    hsc_bytes_append_text(out, parameter->name);
    PUT(out, ": ");
    hsc_shape_print(&parameter->shape, false, out);
  }
  PUT(out, ") -> ");
  if (computation->root)
    hsc_shape_print(&computation->root->shape, false, out);
  PUT(out, " {\n");
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next) {
    if (instr == computation->root)
      PUT(out, "  ROOT ");
    else
      PUT(out, "  ");
    print_instr(instr, options, out);
    hsc_bytes_append_char(out, '\n');
  }
  hsc_bytes_append_char(out, '}');
  if (computation->execution_thread) {
    PUT(out, ", execution_thread=\"");
    hsc_bytes_append_text(out, computation->execution_thread);
    hsc_bytes_append_char(out, '"');
  }
}
