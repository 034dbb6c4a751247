// code.c - see code.h. The image is: the object's allocated sections in order, then stubs for calls
// to outside (a jump through the word after it), then the table of outside addresses. Everything
// lies in one mapping, so relative relocations reach. What a processor's stubs and relocations are
// is in relocation.c.
#include "base/core/map.h"
#include "base/core/memory.h"
#include "cpu/core/code.h"
#include "cpu/core/relocation.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct hsc_cpu_code {
  uint8_t *image;
  size_t image_bytes;
  hsc_map *functions;  // name to address
  char *names;         // copy of the string table: the map's keys
};

typedef struct linker {
  hsc_view object;
  const Elf64_Ehdr *header;
  const Elf64_Shdr *sections;
  int section_count;
  size_t *placed;  // [section_count] offset in the image, SIZE_MAX = not in it
  const Elf64_Sym *symbols;
  size_t symbol_count;
  const char *names;
  size_t names_bytes;
  size_t *stubs;  // [symbol_count] offset of the stub of an undefined symbol
  size_t image_bytes;
  uint8_t *image;
} linker;

static hsc_status *bad(const char *what) {
  return HSC_ERR(DATA_LOSS, "object code: %s", what);
}

static bool inside(const linker *l, uint64_t offset, uint64_t size) {
  return offset <= l->object.size && size <= l->object.size - offset;
}

static hsc_status *read_sections(linker *l, hsc_arena *arena) {
  if (!inside(l, 0, sizeof(Elf64_Ehdr)) || (uintptr_t)l->object.data % 8)
    return bad("too short, or not aligned");
  l->header = (const Elf64_Ehdr *)l->object.data;
  if (memcmp(l->header->e_ident, ELFMAG, SELFMAG) || l->header->e_ident[EI_CLASS] != ELFCLASS64 ||
      l->header->e_type != ET_REL)
    return bad("not a relocatable 64-bit ELF file");
  if (l->header->e_machine != hsc_cpu_machine())
    return HSC_ERR(FAILED_PRECONDITION, "object code: made for machine %d, not for %s",
                   l->header->e_machine, hsc_cpu_machine_name(hsc_cpu_machine()));
  l->section_count = l->header->e_shnum;
  if (l->header->e_shentsize != sizeof(Elf64_Shdr) || l->header->e_shoff % 8 ||
      !inside(l, l->header->e_shoff, (uint64_t)l->section_count * sizeof(Elf64_Shdr)))
    return bad("section table outside of the file");
  l->sections = (const Elf64_Shdr *)(l->object.data + l->header->e_shoff);
  l->placed = HSC_NEW_ARRAY(arena, size_t, l->section_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < l->section_count; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    l->placed[i] = SIZE_MAX;
    if (s->sh_type != SHT_NOBITS && !inside(l, s->sh_offset, s->sh_size))
      return bad("section outside of the file");
    if (s->sh_type == SHT_SYMTAB) {
      if (s->sh_entsize != sizeof(Elf64_Sym) || s->sh_offset % 8 ||
          s->sh_link >= (uint32_t)l->section_count)
        return bad("symbol table");
      const Elf64_Shdr *strings = &l->sections[s->sh_link];
      if (strings->sh_type != SHT_STRTAB || !inside(l, strings->sh_offset, strings->sh_size) ||
          strings->sh_size == 0 || l->object.data[strings->sh_offset + strings->sh_size - 1])
        return bad("string table");
      l->symbols = (const Elf64_Sym *)(l->object.data + s->sh_offset);
      l->symbol_count = s->sh_size / sizeof(Elf64_Sym);
      l->names = l->object.data + strings->sh_offset;
      l->names_bytes = strings->sh_size;
    }
  }
  return l->symbols ? NULL : bad("no symbol table");
}

static hsc_status *lay_out(linker *l, hsc_arena *arena) {
  size_t at = 0;
  for (int i = 0; i < l->section_count; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    if (!(s->sh_flags & SHF_ALLOC) || s->sh_size == 0)
      continue;
    if (s->sh_flags & SHF_WRITE)
      return bad("writable data");
    size_t align = s->sh_addralign ? s->sh_addralign : 1;
    if (align > 4096 || (align & (align - 1)))
      return bad("section alignment");
    at = (at + align - 1) / align * align;
    l->placed[i] = at;
    at += s->sh_size;
  }
  l->stubs = HSC_NEW_ARRAY(arena, size_t, l->symbol_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  at = (at + 15) / 16 * 16;
  for (size_t i = 1; i < l->symbol_count; i++) {
    if (l->symbols[i].st_name >= l->names_bytes)
      return bad("symbol name");
    if (l->symbols[i].st_shndx != SHN_UNDEF)
      continue;
    l->stubs[i] = at;
    at += HSC_CPU_STUB_BYTES;
  }
  l->image_bytes = at ? at : 1;
  return NULL;
}

static hsc_status *fill(linker *l, const hsc_cpu_symbol *symbols, size_t symbol_count) {
  for (int i = 0; i < l->section_count; i++)
    if (l->placed[i] != SIZE_MAX && l->sections[i].sh_type != SHT_NOBITS)
      memcpy(l->image + l->placed[i], l->object.data + l->sections[i].sh_offset,
             l->sections[i].sh_size);
  for (size_t i = 1; i < l->symbol_count; i++) {
    if (l->symbols[i].st_shndx != SHN_UNDEF)
      continue;
    const char *name = l->names + l->symbols[i].st_name;
    size_t found = 0;
    while (found < symbol_count && strcmp(symbols[found].name, name))
      found++;
    if (found == symbol_count || !symbols[found].address)
      return HSC_ERR(NOT_FOUND, "object code: refers to '%s', which is not there", name);
    hsc_cpu_write_stub(hsc_cpu_machine(), l->image + l->stubs[i], symbols[found].address);
  }
  return NULL;
}

static hsc_status *relocate_one(linker *l, const Elf64_Rela *r, int target) {
  size_t number = ELF64_R_SYM(r->r_info);
  if (number >= l->symbol_count)
    return bad("relocation of an unknown symbol");
  if (r->r_offset > l->sections[target].sh_size)
    return bad("relocation outside of its section");
  const Elf64_Sym *symbol = &l->symbols[number];
  bool outside = symbol->st_shndx == SHN_UNDEF;
  size_t symbol_at;
  if (outside) {
    symbol_at = l->stubs[number];
  } else {
    if (symbol->st_shndx >= l->section_count || l->placed[symbol->st_shndx] == SIZE_MAX ||
        symbol->st_value > l->sections[symbol->st_shndx].sh_size)
      return bad("symbol outside of its section");
    symbol_at = l->placed[symbol->st_shndx] + symbol->st_value;
  }
  return hsc_cpu_relocate(
      hsc_cpu_machine(),
      &(hsc_cpu_relocation){.type = (uint32_t)ELF64_R_TYPE(r->r_info),
                            .image = l->image,
                            .place = l->placed[target] + r->r_offset,
                            .place_bytes = l->sections[target].sh_size - r->r_offset,
                            .symbol = symbol_at,
                            .outside = outside,
                            .addend = r->r_addend});
}

static hsc_status *relocate(linker *l) {
  for (int i = 0; i < l->section_count; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    if (s->sh_type != SHT_RELA || s->sh_info >= (uint32_t)l->section_count ||
        l->placed[s->sh_info] == SIZE_MAX)
      continue;
    if (s->sh_entsize != sizeof(Elf64_Rela) || s->sh_offset % 8)
      return bad("relocation table");
    const Elf64_Rela *relocations = (const Elf64_Rela *)(l->object.data + s->sh_offset);
    for (size_t r = 0; r < s->sh_size / sizeof(Elf64_Rela); r++)
      HSC_TRY(relocate_one(l, &relocations[r], (int)s->sh_info));
  }
  return NULL;
}

static hsc_status *name_functions(const linker *l, hsc_cpu_code *code) {
  code->names = hsc_alloc(l->names_bytes);
  if (!code->names)
    return hsc_status_out_of_memory();
  memcpy(code->names, l->names, l->names_bytes);
  HSC_TRY(hsc_map_create(&code->functions));
  for (size_t i = 1; i < l->symbol_count; i++) {
    const Elf64_Sym *symbol = &l->symbols[i];
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || ELF64_ST_BIND(symbol->st_info) != STB_GLOBAL)
      continue;
    if (symbol->st_shndx >= l->section_count || l->placed[symbol->st_shndx] == SIZE_MAX ||
        symbol->st_value > l->sections[symbol->st_shndx].sh_size)
      return bad("function outside of its section");
    HSC_TRY(hsc_map_put(code->functions, hsc_view_of(code->names + symbol->st_name),
                        code->image + l->placed[symbol->st_shndx] + symbol->st_value));
  }
  return NULL;
}

hsc_status *hsc_cpu_code_link(hsc_view object,
                              const hsc_cpu_symbol *symbols,
                              size_t symbol_count,
                              hsc_cpu_code **out_code) {
  *out_code = NULL;
  hsc_status *status = NULL;
  hsc_arena *arena = NULL;
  linker l = {.object = object};
  hsc_cpu_code *code = hsc_alloc(sizeof *code);
  if (!code)
    return hsc_status_out_of_memory();
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(read_sections(&l, arena));
  HSC_GOTO(lay_out(&l, arena));
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  code->image_bytes = (l.image_bytes + page - 1) / page * page;
  void *image =
      mmap(NULL, code->image_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (image == MAP_FAILED)
    HSC_GOTO(
        HSC_ERR(RESOURCE_EXHAUSTED, "cannot map %zu bytes for machine code", code->image_bytes));
  l.image = code->image = image;
  HSC_GOTO(fill(&l, symbols, symbol_count));
  HSC_GOTO(relocate(&l));
  HSC_GOTO(name_functions(&l, code));
  // AArch64 keeps instructions in a cache of their own
  __builtin___clear_cache((char *)code->image, (char *)code->image + code->image_bytes);
  if (mprotect(code->image, code->image_bytes, PROT_READ | PROT_EXEC))
    HSC_GOTO(
        HSC_ERR(PERMISSION_DENIED, "the system does not let this process make code executable"));
  *out_code = code;
  code = NULL;
done:
  hsc_arena_destroy(arena);
  hsc_cpu_code_destroy(code);
  return status;
}

void hsc_cpu_code_destroy(hsc_cpu_code *code) {
  if (!code)
    return;
  if (code->image)
    munmap(code->image, code->image_bytes);
  hsc_map_destroy(code->functions);
  hsc_free(code->names);
  hsc_free(code);
}

void *hsc_cpu_code_find(const hsc_cpu_code *code, const char *name) {
  return hsc_map_get(code->functions, hsc_view_of(name));
}
int64_t hsc_cpu_code_bytes(const hsc_cpu_code *code) {
  return (int64_t)code->image_bytes;
}
bool hsc_cpu_code_holds(const hsc_cpu_code *code, const void *address) {
  return (uintptr_t)address - (uintptr_t)code->image < code->image_bytes;
}
