// relocation.c - see relocation.h.
#include "cpu/core/relocation.h"

#include <elf.h>

enum { STUB_ADDRESS = 8, PAGE_SHIFT = 12 };  // pages are those of ADRP, whatever the system's are

uint16_t hsc_cpu_machine(void) {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_NONE;
#endif
}

const char *hsc_cpu_machine_name(uint16_t machine) {
  if (machine == EM_X86_64)
    return "x86-64";
  return machine == EM_AARCH64 ? "AArch64" : "another processor";
}

void hsc_cpu_write_stub(uint16_t machine, uint8_t stub[HSC_CPU_STUB_BYTES], const void *address) {
  // jmp *[rip+2], 2 bytes of padding; ldr x16, .+8 and br x16
  static const uint8_t x86_64[STUB_ADDRESS] = {0xff, 0x25, 0x02, 0, 0, 0, 0x66, 0x90};
  static const uint8_t aarch64[STUB_ADDRESS] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6};
  memcpy(stub, machine == EM_AARCH64 ? aarch64 : x86_64, STUB_ADDRESS);
  memcpy(stub + STUB_ADDRESS, &address, sizeof address);
}

static hsc_status *bad(const char *what) {
  return HSC_ERR(DATA_LOSS, "object code: %s", what);
}

static hsc_status *unknown(uint32_t type) {
  return HSC_ERR(UNIMPLEMENTED, "object code: relocation type %u", type);
}

static hsc_status *put_relative_32(const hsc_cpu_relocation *r, size_t symbol) {
  int64_t value = (int64_t)symbol + r->addend - (int64_t)r->place;
  if (value < INT32_MIN || value > INT32_MAX)
    return bad("relocation out of reach");
  int32_t narrow = (int32_t)value;
  memcpy(r->image + r->place, &narrow, 4);
  return NULL;
}

static hsc_status *put_address(const hsc_cpu_relocation *r) {
  if (r->outside)  // would be the stub's address, which is no address of a function
    return unknown(r->type);
  uint64_t value = (uint64_t)(uintptr_t)(r->image + r->symbol) + (uint64_t)r->addend;
  memcpy(r->image + r->place, &value, 8);
  return NULL;
}

static hsc_status *relocate_x86_64(const hsc_cpu_relocation *r) {
  switch (r->type) {
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      return put_relative_32(r, r->symbol);
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      // inside would need an entry of its own; the code generator does not ask for one
      return r->outside ? put_relative_32(r, r->symbol + STUB_ADDRESS) : unknown(r->type);
    case R_X86_64_64:
      return put_address(r);
    default:
      return unknown(r->type);
  }
}

// Puts `bits` of value into the instruction, from bit `at` on.
static void put_field(const hsc_cpu_relocation *r, uint64_t value, int bits, int at) {
  uint32_t mask = ((1u << bits) - 1) << at;
  uint32_t word;
  memcpy(&word, r->image + r->place, 4);
  word = (word & ~mask) | ((uint32_t)(value << at) & mask);
  memcpy(r->image + r->place, &word, 4);
}

// The distance of a branch, in instructions.
static hsc_status *put_branch(const hsc_cpu_relocation *r) {
  int64_t distance = (int64_t)r->symbol + r->addend - (int64_t)r->place;
  if (distance % 4 || distance < -(1 << 27) || distance >= 1 << 27)
    return bad("branch out of reach, or not aligned");
  put_field(r, (uint64_t)distance >> 2, 26, 0);
  return NULL;
}

// ADR and ADRP hold the two lowest bits of their 21 apart.
static hsc_status *put_adr(const hsc_cpu_relocation *r, int64_t value) {
  if (value < -(1 << 20) || value >= 1 << 20)
    return bad("relocation out of reach");
  put_field(r, (uint64_t)value, 2, 29);
  put_field(r, (uint64_t)value >> 2, 19, 5);
  return NULL;
}

// Pages between place and symbol: the image starts at one, so offsets in it do.
static hsc_status *put_pages(const hsc_cpu_relocation *r, size_t symbol) {
  int64_t target = (int64_t)symbol + r->addend;
  return put_adr(r, (target >> PAGE_SHIFT) - ((int64_t)r->place >> PAGE_SHIFT));
}

// The offset in its page, as a multiple of what is loaded or stored.
static hsc_status *put_page_offset(const hsc_cpu_relocation *r, size_t symbol, int shift) {
  uint64_t offset = ((uint64_t)symbol + (uint64_t)r->addend) & ((1u << PAGE_SHIFT) - 1);
  if (offset & ((1u << shift) - 1))
    return bad("offset not aligned for its load");
  put_field(r, offset >> shift, 12, 10);
  return NULL;
}

static hsc_status *relocate_aarch64(const hsc_cpu_relocation *r) {
  switch (r->type) {
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
      return put_branch(r);
    case R_AARCH64_ADR_PREL_LO21:
      return put_adr(r, (int64_t)r->symbol + r->addend - (int64_t)r->place);
    case R_AARCH64_ADR_PREL_PG_HI21:
      return put_pages(r, r->symbol);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
      return put_page_offset(r, r->symbol, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC:
      return put_page_offset(r, r->symbol, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC:
      return put_page_offset(r, r->symbol, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC:
      return put_page_offset(r, r->symbol, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC:
      return put_page_offset(r, r->symbol, 4);
    case R_AARCH64_ADR_GOT_PAGE:
      return r->outside ? put_pages(r, r->symbol + STUB_ADDRESS) : unknown(r->type);
    case R_AARCH64_LD64_GOT_LO12_NC:
      return r->outside ? put_page_offset(r, r->symbol + STUB_ADDRESS, 3) : unknown(r->type);
    case R_AARCH64_PREL32:
      return put_relative_32(r, r->symbol);
    case R_AARCH64_ABS64:
      return put_address(r);
    default:
      return unknown(r->type);
  }
}

hsc_status *hsc_cpu_relocate(uint16_t machine, const hsc_cpu_relocation *r) {
  size_t width = r->type == (machine == EM_AARCH64 ? R_AARCH64_ABS64 : R_X86_64_64) ? 8 : 4;
  if (r->place_bytes < width)
    return bad("relocation outside of its section");
  return machine == EM_AARCH64 ? relocate_aarch64(r) : relocate_x86_64(r);
}
