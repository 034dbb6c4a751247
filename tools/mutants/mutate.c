// mutate.c - puts small faults into the LLVM bitcode of one source file, each behind a switch: one
// build holds them all, and the environment variable HSC_MUTANT says which one is on (runtime.c).
//
//   mutate IN.bc OUT.bc LIST FIRST LIMIT
//
// LIST gets a line for each fault: its number (from FIRST, at most LIMIT of them), the kind, the
// file, line and column, what changes, and the function, with tabs between. IN.bc is what clang
// makes before any optimisation, with debug information: its instructions are the operators of the
// source still. How to read: main() walks the instructions, mutate_instruction() knows the kinds,
// site_* write the switch.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

enum { NAME_BYTES = 512, MAX_SWAPPED_ARGUMENTS = 16 };

typedef struct {
  LLVMModuleRef module;
  LLVMContextRef context;
  LLVMBuilderRef builder;
  LLVMValueRef selected;      // int hsc_mutant
  LLVMValueRef reached;       // unsigned char *hsc_mutant_reached
  LLVMValueRef nothing;       // long hsc_mutant_nothing(void), in place of a call that is left out
  LLVMTypeRef nothing_type;   // its type
  LLVMValueRef instruction;   // where the fault is
  const char *function_name;  // in which function
  FILE *list;
  unsigned next;
  unsigned end;
  bool is_marked;  // the instruction notes already that it was reached
} mutator;

static LLVMTypeRef int_type(mutator *m, unsigned bits) {
  return LLVMIntTypeInContext(m->context, bits);
}

static void global_declare(mutator *m) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(m->context, 0);
  m->selected = LLVMAddGlobal(m->module, int_type(m, 32), "hsc_mutant");
  m->reached = LLVMAddGlobal(m->module, pointer, "hsc_mutant_reached");
  m->nothing_type = LLVMFunctionType(int_type(m, 64), NULL, 0, 0);
  m->nothing = LLVMAddFunction(m->module, "hsc_mutant_nothing", m->nothing_type);
  LLVMSetVisibility(m->selected, LLVMHiddenVisibility);
  LLVMSetVisibility(m->reached, LLVMHiddenVisibility);
  LLVMSetVisibility(m->nothing, LLVMHiddenVisibility);
}

// A number for one more fault at the instruction, listed; 0 when there are enough. The builder
// is where the switch belongs.
static unsigned site_number(mutator *m, const char *kind, const char *change) {
  if (m->next == m->end)
    return 0;
  unsigned number = m->next++;
  unsigned length;
  const char *file = LLVMGetDebugLocFilename(m->instruction, &length);
  fprintf(m->list, "%u\t%s\t%.*s\t%u\t%u\t%s\t%s\n", number, kind, (int)length, file,
          LLVMGetDebugLocLine(m->instruction), LLVMGetDebugLocColumn(m->instruction), change,
          m->function_name);
  LLVMTypeRef byte = int_type(m, 8);
  LLVMTypeRef pointer = LLVMPointerTypeInContext(m->context, 0);
  LLVMValueRef map = LLVMBuildLoad2(m->builder, pointer, m->reached, "");
  LLVMValueRef index = LLVMConstInt(int_type(m, 64), number, 0);
  LLVMValueRef at = LLVMBuildGEP2(m->builder, byte, map, &index, 1, "");
  LLVMBuildStore(m->builder, LLVMConstInt(byte, 1, 0), at);
  return number;
}

static LLVMValueRef site_is_on(mutator *m, unsigned number) {
  LLVMTypeRef type = int_type(m, 32);
  LLVMValueRef selected = LLVMBuildLoad2(m->builder, type, m->selected, "");
  return LLVMBuildICmp(m->builder, LLVMIntEQ, selected, LLVMConstInt(type, number, 0), "");
}

static void stand_before(mutator *m, LLVMValueRef instruction) {
  LLVMPositionBuilderBefore(m->builder, instruction);
  LLVMSetCurrentDebugLocation2(m->builder, LLVMInstructionGetDebugLoc(m->instruction));
}

// The operand is `other` when the fault is on.
static void change_operand(
    mutator *m, unsigned operand, LLVMValueRef other, const char *kind, const char *change) {
  stand_before(m, m->instruction);
  unsigned number = site_number(m, kind, change);
  if (!number)
    return;
  LLVMValueRef usual = LLVMGetOperand(m->instruction, operand);
  LLVMValueRef is_on = site_is_on(m, number);
  LLVMSetOperand(m->instruction, operand, LLVMBuildSelect(m->builder, is_on, other, usual, ""));
}

// The result is `other` (computed where the builder is now, after the instruction) when the
// fault is on. `*result` is the instruction, or the last switch on it.
static void change_result(
    mutator *m, LLVMValueRef *result, LLVMValueRef other, const char *kind, const char *change) {
  unsigned number = site_number(m, kind, change);
  if (!number)
    return;
  LLVMValueRef is_on = site_is_on(m, number);
  LLVMValueRef undefined = LLVMGetUndef(LLVMTypeOf(*result));
  LLVMValueRef chosen = LLVMBuildSelect(m->builder, is_on, other, undefined, "");
  LLVMReplaceAllUsesWith(*result, chosen);
  if (LLVMIsAInstruction(other) && LLVMGetNumOperands(other) > 0)
    for (int i = 0; i < LLVMGetNumOperands(other); i++)
      if (LLVMGetOperand(other, (unsigned)i) == chosen)
        LLVMSetOperand(other, (unsigned)i, *result);
  LLVMSetOperand(chosen, 2, *result);
  *result = chosen;
}

static const char *predicate_name(LLVMIntPredicate predicate) {
  switch (predicate) {
    case LLVMIntEQ:
      return "==";
    case LLVMIntNE:
      return "!=";
    case LLVMIntSLT:
    case LLVMIntULT:
      return "<";
    case LLVMIntSLE:
    case LLVMIntULE:
      return "<=";
    case LLVMIntSGT:
    case LLVMIntUGT:
      return ">";
    default:
      return ">=";
  }
}

static LLVMIntPredicate predicate_bound(LLVMIntPredicate predicate) {
  switch (predicate) {
    case LLVMIntSLT:
      return LLVMIntSLE;
    case LLVMIntSLE:
      return LLVMIntSLT;
    case LLVMIntSGT:
      return LLVMIntSGE;
    case LLVMIntSGE:
      return LLVMIntSGT;
    case LLVMIntULT:
      return LLVMIntULE;
    case LLVMIntULE:
      return LLVMIntULT;
    case LLVMIntUGT:
      return LLVMIntUGE;
    case LLVMIntUGE:
      return LLVMIntUGT;
    default:
      return 0;
  }
}

static LLVMIntPredicate predicate_opposite(LLVMIntPredicate predicate) {
  static const LLVMIntPredicate pairs[][2] = {
      {LLVMIntEQ, LLVMIntNE},   {LLVMIntSLT, LLVMIntSGE}, {LLVMIntSGT, LLVMIntSLE},
      {LLVMIntULT, LLVMIntUGE}, {LLVMIntUGT, LLVMIntULE},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    if (pairs[i][0] == predicate)
      return pairs[i][1];
    if (pairs[i][1] == predicate)
      return pairs[i][0];
  }
  return predicate;
}

static void mutate_compare(mutator *m, LLVMValueRef next) {
  LLVMValueRef left = LLVMGetOperand(m->instruction, 0);
  LLVMValueRef right = LLVMGetOperand(m->instruction, 1);
  LLVMValueRef result = m->instruction;
  LLVMIntPredicate predicate = LLVMGetICmpPredicate(m->instruction);
  LLVMIntPredicate others[2] = {predicate_bound(predicate), predicate_opposite(predicate)};
  for (int i = 0; i < 2; i++) {
    if (!others[i])
      continue;
    char change[NAME_BYTES];
    snprintf(change, sizeof change, "%s becomes %s", predicate_name(predicate),
             predicate_name(others[i]));
    stand_before(m, next);
    LLVMValueRef other = LLVMBuildICmp(m->builder, others[i], left, right, "");
    change_result(m, &result, other, i ? "condition" : "bound", change);
  }
}

static void mutate_float_compare(mutator *m, LLVMValueRef next) {
  static const struct {
    LLVMRealPredicate from, to;
    const char *change;
  } rows[] = {
      {LLVMRealOLT, LLVMRealOLE, "< becomes <="},  {LLVMRealOLE, LLVMRealOLT, "<= becomes <"},
      {LLVMRealOGT, LLVMRealOGE, "> becomes >="},  {LLVMRealOGE, LLVMRealOGT, ">= becomes >"},
      {LLVMRealOLT, LLVMRealOGE, "< becomes >="},  {LLVMRealOGT, LLVMRealOLE, "> becomes <="},
      {LLVMRealOEQ, LLVMRealUNE, "== becomes !="}, {LLVMRealUNE, LLVMRealOEQ, "!= becomes =="},
      {LLVMRealOLE, LLVMRealOGT, "<= becomes >"},  {LLVMRealOGE, LLVMRealOLT, ">= becomes <"},
  };
  LLVMValueRef left = LLVMGetOperand(m->instruction, 0);
  LLVMValueRef right = LLVMGetOperand(m->instruction, 1);
  LLVMValueRef result = m->instruction;
  LLVMRealPredicate predicate = LLVMGetFCmpPredicate(m->instruction);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].from != predicate)
      continue;
    stand_before(m, next);
    LLVMValueRef other = LLVMBuildFCmp(m->builder, rows[i].to, left, right, "");
    change_result(m, &result, other, i < 4 ? "bound" : "condition", rows[i].change);
  }
}

static void mutate_arithmetic(mutator *m, LLVMValueRef next) {
  static const struct {
    LLVMOpcode from, to;
    const char *change;
  } rows[] = {
      {LLVMAdd, LLVMSub, "+ becomes -"},    {LLVMSub, LLVMAdd, "- becomes +"},
      {LLVMMul, LLVMAdd, "* becomes +"},    {LLVMSDiv, LLVMMul, "/ becomes *"},
      {LLVMUDiv, LLVMMul, "/ becomes *"},   {LLVMAnd, LLVMOr, "& becomes |"},
      {LLVMOr, LLVMAnd, "| becomes &"},     {LLVMXor, LLVMOr, "^ becomes |"},
      {LLVMShl, LLVMLShr, "<< becomes >>"}, {LLVMLShr, LLVMShl, ">> becomes <<"},
      {LLVMFAdd, LLVMFSub, "+ becomes -"},  {LLVMFSub, LLVMFAdd, "- becomes +"},
      {LLVMFMul, LLVMFDiv, "* becomes /"},  {LLVMFDiv, LLVMFMul, "/ becomes *"},
  };
  LLVMOpcode opcode = LLVMGetInstructionOpcode(m->instruction);
  LLVMValueRef left = LLVMGetOperand(m->instruction, 0);
  LLVMValueRef right = LLVMGetOperand(m->instruction, 1);
  LLVMValueRef result = m->instruction;
  // !x of a bool
  if (opcode == LLVMXor && LLVMTypeOf(left) == int_type(m, 1)) {
    stand_before(m, next);
    change_result(m, &result, left, "condition", "! is left out");
    return;
  }
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].from != opcode)
      continue;
    stand_before(m, next);
    LLVMValueRef other = LLVMBuildBinOp(m->builder, rows[i].to, left, right, "");
    if (LLVMIsAInstruction(other))
      change_result(m, &result, other, "arithmetic", rows[i].change);
  }
}

// A number in the text of the source: one more. Comparisons with it have `bound` for that.
static void mutate_constant(mutator *m, unsigned operand) {
  LLVMValueRef value = LLVMGetOperand(m->instruction, operand);
  if (!LLVMIsAConstantInt(value))
    return;
  LLVMTypeRef type = LLVMTypeOf(value);
  unsigned bits = LLVMGetIntTypeWidth(type);
  if (bits > 64)
    return;
  long long old = LLVMConstIntGetSExtValue(value);
  bool is_flag = bits == 1 || bits == 8;
  long long other = is_flag && (old == 0 || old == 1) ? !old : old + 1;
  char change[NAME_BYTES];
  snprintf(change, sizeof change, "%lld becomes %lld", old, other);
  change_operand(m, operand, LLVMConstInt(type, (unsigned long long)other, 1), "number", change);
}

static bool ends_with(const char *text, const char *end) {
  size_t text_length = strlen(text);
  size_t end_length = strlen(end);
  return text_length >= end_length && strcmp(text + text_length - end_length, end) == 0;
}

static bool is_release(const char *name) {
  static const char *const ends[] = {"free",   "_destroy", "_deinit", "_release",
                                     "fclose", "close",    "munmap",  "_unlock"};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
    if (ends_with(name, ends[i]))
      return true;
  return false;
}

// What takes a number of bytes or elements and gives room for them: one more is only more room.
static bool is_allocator(const char *name) {
  static const char *const names[] = {"hsc_arena_alloc", "hsc_arena_alloc_array",
                                      "hsc_alloc",       "hsc_realloc",
                                      "hsc_alloc_pages", "malloc",
                                      "calloc",          "realloc"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(name, names[i]) == 0)
      return true;
  return false;
}

static bool is_call_of_allocator(LLVMValueRef user) {
  size_t length;
  LLVMValueRef callee = LLVMIsACallInst(user) ? LLVMGetCalledValue(user) : NULL;
  return callee && LLVMIsAFunction(callee) && is_allocator(LLVMGetValueName2(callee, &length));
}

// Whether all that becomes of a value is the size of something allocated, directly or widened.
static bool is_room(LLVMValueRef value) {
  LLVMUseRef use = LLVMGetFirstUse(value);
  if (!use)
    return false;
  for (; use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool is_widened = LLVMIsASExtInst(user) || LLVMIsAZExtInst(user);
    if (!is_call_of_allocator(user) && !(is_widened && is_room(user)))
      return false;
  }
  return true;
}

static void mutate_arguments(mutator *m, const char *callee) {
  unsigned count = LLVMGetNumArgOperands(m->instruction);
  if (count > MAX_SWAPPED_ARGUMENTS)
    return;
  for (unsigned i = 0; i + 1 < count; i++) {
    LLVMValueRef first = LLVMGetOperand(m->instruction, i);
    LLVMValueRef second = LLVMGetOperand(m->instruction, i + 1);
    if (LLVMTypeOf(first) != LLVMTypeOf(second) || first == second)
      continue;
    if (LLVMIsConstant(first) && LLVMIsConstant(second))
      continue;
    char change[NAME_BYTES];
    snprintf(change, sizeof change, "arguments %u and %u of %s are swapped", i + 1, i + 2, callee);
    stand_before(m, m->instruction);
    unsigned number = site_number(m, "arguments", change);
    if (!number)
      return;
    LLVMValueRef is_on = site_is_on(m, number);
    LLVMValueRef a = LLVMBuildSelect(m->builder, is_on, second, first, "");
    LLVMValueRef b = LLVMBuildSelect(m->builder, is_on, first, second, "");
    LLVMSetOperand(m->instruction, i, a);
    LLVMSetOperand(m->instruction, i + 1, b);
  }
  // the line of hsc_status_make is where the error was made: nothing shows it
  bool is_error = strcmp(callee, "hsc_status_make") == 0;
  for (unsigned i = 0; i < count && !is_allocator(callee); i++)
    if (!is_error || i != 2)
      mutate_constant(m, i);
}

static bool has_struct_argument(LLVMValueRef call) {
  unsigned kinds[2] = {LLVMGetEnumAttributeKindForName("byval", 5),
                       LLVMGetEnumAttributeKindForName("sret", 4)};
  unsigned count = LLVMGetNumArgOperands(call);
  for (unsigned i = 0; i < count; i++)
    for (int k = 0; k < 2; k++)
      if (LLVMGetCallSiteEnumAttribute(call, i + 1, kinds[k]))
        return true;
  return false;
}

static void mutate_call(mutator *m) {
  size_t length;
  LLVMValueRef callee = LLVMGetCalledValue(m->instruction);
  if (LLVMIsAInlineAsm(callee))
    return;
  const char *name = LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &length) : "a function";
  if (strncmp(name, "llvm.", 5) == 0 || strncmp(name, "__", 2) == 0 || strstr(name, "hsc_log"))
    return;
  LLVMTypeKind returned = LLVMGetTypeKind(LLVMTypeOf(m->instruction));
  bool is_plain = returned == LLVMVoidTypeKind || returned == LLVMPointerTypeKind ||
                  returned == LLVMIntegerTypeKind;
  bool is_simple = !has_struct_argument(m->instruction);
  mutate_arguments(m, name);
  if (!is_plain || !is_simple || strcmp(name, "exit") == 0)
    return;
  char change[NAME_BYTES];
  snprintf(change, sizeof change, "the call of %s is left out%s", name,
           returned == LLVMVoidTypeKind ? "" : ", its result is 0");
  unsigned operand = (unsigned)LLVMGetNumOperands(m->instruction) - 1;
  change_operand(m, operand, m->nothing, is_release(name) ? "release" : "call", change);
}

static bool starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static void mutate_branch(mutator *m) {
  if (!LLVMIsConditional(m->instruction))
    return;
  const char *block = LLVMGetBasicBlockName(LLVMGetInstructionParent(m->instruction));
  bool is_loop = starts_with(block, "for.cond") || starts_with(block, "while.cond") ||
                 starts_with(block, "do.");
  for (int truth = 0; truth < 2; truth++) {
    if (truth && is_loop)
      continue;  // it would not end
    stand_before(m, m->instruction);
    unsigned number = site_number(m, "guard", truth ? "taken as true" : "taken as false");
    if (!number)
      return;
    LLVMValueRef is_on = site_is_on(m, number);
    LLVMValueRef constant = LLVMConstInt(int_type(m, 1), (unsigned)truth, 0);
    LLVMValueRef usual = LLVMGetCondition(m->instruction);
    LLVMSetCondition(m->instruction, LLVMBuildSelect(m->builder, is_on, constant, usual, ""));
  }
}

static void mutate_switch(mutator *m) {
  LLVMValueRef usual = LLVMGetOperand(m->instruction, 0);
  LLVMTypeRef type = LLVMTypeOf(usual);
  LLVMValueRef nowhere = LLVMConstInt(type, 0x7ffffff3, 0);
  unsigned cases = LLVMGetNumSuccessors(m->instruction);
  for (unsigned i = 1; i < cases; i++) {
    char change[NAME_BYTES];
    LLVMValueRef value = LLVMGetOperand(m->instruction, 2 * i);
    snprintf(change, sizeof change, "case %lld is left out", LLVMConstIntGetSExtValue(value));
    stand_before(m, m->instruction);
    LLVMValueRef now = LLVMGetOperand(m->instruction, 0);
    unsigned number = site_number(m, "case", change);
    if (!number)
      return;
    LLVMValueRef is_case = LLVMBuildICmp(m->builder, LLVMIntEQ, usual, value, "");
    LLVMValueRef is_on = LLVMBuildAnd(m->builder, site_is_on(m, number), is_case, "");
    LLVMSetOperand(m->instruction, 0, LLVMBuildSelect(m->builder, is_on, nowhere, now, ""));
  }
}

// i++ of a loop: every fault in it hangs or crashes, which says nothing about the tests.
static bool is_step(LLVMValueRef instruction) {
  const char *block = LLVMGetBasicBlockName(LLVMGetInstructionParent(instruction));
  return starts_with(block, "for.inc");
}

// Where the compiler keeps which way out of a block is taken: no number of the source.
static bool is_bookkeeping(LLVMValueRef place) {
  size_t length;
  return starts_with(LLVMGetValueName2(place, &length), "cleanup.dest");
}

static void mutate_instruction(mutator *m, LLVMValueRef instruction, LLVMValueRef next) {
  m->instruction = instruction;
  switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMICmp:
      mutate_compare(m, next);
      break;
    case LLVMFCmp:
      mutate_float_compare(m, next);
      break;
    case LLVMAdd:
    case LLVMSub:
      if (is_step(instruction))
        break;
      if (!is_room(instruction))
        mutate_constant(m, 1);
      mutate_arithmetic(m, next);
      break;
    case LLVMMul:
    case LLVMSDiv:
    case LLVMUDiv:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMShl:
    case LLVMLShr:
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
      mutate_arithmetic(m, next);
      break;
    case LLVMStore:
      if (!is_bookkeeping(LLVMGetOperand(instruction, 1)))
        mutate_constant(m, 0);
      break;
    case LLVMBr:
      mutate_branch(m);
      break;
    case LLVMSwitch:
      mutate_switch(m);
      break;
    case LLVMCall:
      mutate_call(m);
      break;
    default:
      break;
  }
}

// In a file of the source, not in a header that every file has.
static bool is_of_source(LLVMValueRef instruction) {
  unsigned length = 0;
  const char *file = LLVMGetDebugLocFilename(instruction, &length);
  if (!file || !LLVMInstructionGetDebugLoc(instruction) || !LLVMGetDebugLocLine(instruction))
    return false;
  return !(length > 2 && file[length - 1] == 'h' && file[length - 2] == '.');
}

static void mutate_function(mutator *m, LLVMValueRef function) {
  size_t length;
  m->function_name = LLVMGetValueName2(function, &length);
  LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function);
  for (; block; block = LLVMGetNextBasicBlock(block)) {
    LLVMValueRef instruction = LLVMGetFirstInstruction(block);
    while (instruction) {
      LLVMValueRef next = LLVMGetNextInstruction(instruction);
      if (!LLVMIsAPHINode(instruction) && is_of_source(instruction))
        mutate_instruction(m, instruction, next);
      instruction = next;
    }
  }
}

static bool read_module(mutator *m, const char *path) {
  LLVMMemoryBufferRef buffer;
  char *message = NULL;
  if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message) != 0) {
    fprintf(stderr, "mutate: %s: %s\n", path, message);
    return false;
  }
  if (LLVMParseBitcodeInContext2(m->context, buffer, &m->module) != 0) {
    fprintf(stderr, "mutate: %s is no bitcode\n", path);
    return false;
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: %s IN.bc OUT.bc LIST FIRST LIMIT\n", argv[0]);
    return 2;
  }
  mutator m = {.context = LLVMContextCreate()};
  m.next = (unsigned)strtoul(argv[4], NULL, 10);
  m.end = m.next + (unsigned)strtoul(argv[5], NULL, 10);
  m.builder = LLVMCreateBuilderInContext(m.context);
  m.list = fopen(argv[3], "w");
  if (!m.list || !read_module(&m, argv[1]))
    return 1;
  LLVMValueRef function = LLVMGetFirstFunction(m.module);
  global_declare(&m);
  for (; function; function = LLVMGetNextFunction(function))
    if (!LLVMIsDeclaration(function) && LLVMGetSubprogram(function))
      mutate_function(&m, function);
  if (fclose(m.list) != 0 || LLVMWriteBitcodeToFile(m.module, argv[2]) != 0) {
    fprintf(stderr, "mutate: %s cannot be written\n", argv[2]);
    return 1;
  }
  return 0;
}
